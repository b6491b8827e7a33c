# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A host that holds many names."""

from clustergateway import boottime
from clusterhosts import BUCKET
from harness import wait_for
from rawbus import RawClient
from sockets import SocketClient

# How long the servers of a busy machine may take to make the names.
PATIENCE = 600
# When a lease was certainly renewed.
RENEWED = 5


def seconds():
    return boottime() / 1e6


def lease_end(client):
    """When the lease of a host ends, in seconds of CLOCK_BOOTTIME."""
    return seconds() + client.get_property('Cluster')['leaseLeft'] / 1e3


class Names:
    """Clients of a host that request locks with different names, each as many as one client may have."""

    def __init__(self, host, prefix, n_clients, n_names, uid=None):
        self.host = host
        self.client = host.client()
        self.count = n_clients * n_names
        for number in range(n_clients):
            holder = SocketClient(RawClient(host.bus.address, uid=uid, descriptors=True))
            host.clients.append(holder)
            holder.socket.request_all([f'{prefix} {number} {i}' for i in range(n_names)], BUCKET)

    def n_held(self):
        """Of the own user."""
        return len(self.client.query(BUCKET)[0])

    def wait_held(self):
        # While weblocksd lists very many, it acknowledges no lease.
        wait_for(lambda: self.n_held() == self.count, PATIENCE, 'the locks', every=max(0.02, self.count / 4000))

    def wait_confirmed(self):
        """All that is held was confirmed by the gateway: until then, a lease that is renewed every two seconds is
        not longer before the one of before is over."""
        begin = before = 0
        while before == 0 or seconds() > begin + RENEWED:
            begin, before = seconds(), lease_end(self.client)
            wait_for(lambda end=before: lease_end(self.client) > end + 0.5, 2 * self.host.timeout, 'a later lease')
