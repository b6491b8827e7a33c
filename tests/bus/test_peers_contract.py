# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A private socket has the same rules as the bus: the cases of other files, over sockets.

All clients in them have a private socket each; GDBus is at its end, or bare hands.
"""

import test_bad_input
import test_contract
import test_inspect
import test_limits
import test_signals
from harness import PeerClient, PrivateSocket, RawClient, main


class LikeAClient(PrivateSocket):
    """A private socket that takes its client with it."""

    def __init__(self, client, service):
        self.sender = service
        super().__init__(client)
        self.client = client

    def close(self):
        super().close()
        self.client.close()


class BySocket:
    """For the place before the class whose cases these are."""

    def client(self):
        return self._adopt(PeerClient(self.bus.address))

    def raw_client(self, **kw):
        client = RawClient(self.bus.address, descriptors=True, **kw)
        return self._adopt(LikeAClient(client, self.daemon.name))


class Introspection(BySocket, test_contract.Introspection):
    pass


class Properties(BySocket, test_contract.Properties):
    pass


class Paths(BySocket, test_contract.Paths):
    pass


class BadInput(BySocket, test_bad_input.BadInput):
    def try_all(self, rows):
        super().try_all([row for row in rows if row[3] is None or row[3].get_size() < 1 << 16])

    # A message of more than 64 KiB ends the socket instead: see test_peers_bounds.py.
    test_name_of_32_mib = None
    test_name_of_32_mib_in_the_first_call = None
    test_why_of_32_mib = None
    test_long_option_key_is_not_echoed_whole = None
    # So do descriptors.
    test_descriptors_nobody_wants_are_closed = None


class Lengths(BySocket, test_limits.Lengths):
    pass


class PerClient(BySocket, test_limits.PerClient):
    pass


class PerUid(BySocket, test_limits.PerUid):
    pass


class Watches(BySocket, test_limits.Watches):
    pass


class Entries(BySocket, test_inspect.Entries):
    pass


class Owners(BySocket, test_signals.Owners):
    pass


class Watchers(BySocket, test_signals.Watchers):
    pass


class Bursts(BySocket, test_signals.Bursts):
    pass


class SlowWatchers(BySocket, test_signals.SlowWatchers):
    pass


class OtherUsers(BySocket, test_signals.OtherUsers):
    pass


if __name__ == '__main__':
    main()
