# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Locks of several hosts, narrated.

    cluster.py BUILD_DIR

Starts three ZooKeeper servers and three hosts, each with a bus, a service and a gateway, in networks of
their own; then hosts are cut off and a server is killed. Every line that it prints is what a process
received, and every duration was measured on the machine's monotonic clock.
"""

import contextlib
import os
import subprocess
import sys
import time

from clusterhosts import BUCKET, Host
from ensemble import Ensemble, Network, why_no_networks, why_no_servers
from harness import wait_for

HOSTS = ('alpha', 'beta', 'gamma')
LOCK = 'render'
# A session of a host that is cut off ends after some seconds.
PATIENCE = 60


def headline(text):
    print(f'\n  {text}\n', flush=True)


def line(text):
    print(f'     {text}', flush=True)


class Demo:
    """Three hosts, and a client on each."""

    def __init__(self, build_dir, stack):
        self.weblocks = os.path.join(build_dir, 'cli', 'weblocks')
        self.network = stack.enter_context(Network())
        self.ensemble = stack.enter_context(Ensemble(3, self.network))
        self.hosts, self.clients = {}, {}
        for name in HOSTS:
            host = Host(name, self.network.add(), self.ensemble.addresses)
            stack.callback(host.stop)
            self.hosts[name] = host.start()
            self.clients[name] = host.client()

    def request(self, name):
        """Requests the lock. Returns (id, token)."""
        return self.clients[name].request(LOCK, BUCKET)

    def wait_granted(self, name, request):
        """Returns (token, time)."""
        client = self.clients[name]
        client.wait_for(lambda: client.granted(request), PATIENCE)
        event = client.wait_granted(request)
        return event.args[4], event.at

    def hold(self, name):
        request, token = self.request(name)
        if not token:
            token, _ = self.wait_granted(name, request)
        return request, token

    def request_behind(self, holder, name):
        """Requests the lock, and waits until the host of its holder has seen that: between hosts there is no other
        order."""
        request, _ = self.request(name)
        wait_for(lambda: name in [entry.get('host') for entry in self.clients[holder].inspect(BUCKET, name=LOCK)[0]],
                 what=f'request of {name} on {holder}')
        return request

    def show(self, name, *arguments):
        """The output of the command on that host."""
        address = self.hosts[name].bus.address
        environment = {**os.environ, 'DBUS_SESSION_BUS_ADDRESS': address,
                       'DBUS_SYSTEM_BUS_ADDRESS': address}
        print(f'\n     {name}$ weblocks {" ".join(arguments)}')
        shown = subprocess.run([self.weblocks, *arguments], env=environment, check=True, text=True,
                               stdout=subprocess.PIPE).stdout
        for text in shown.splitlines():
            line(text.expandtabs(12).rstrip())

    def show_hand_over(self):
        headline(f'1. One lock on three hosts: "{LOCK}" in the bucket {BUCKET}')
        held, token = self.hold('alpha')
        line(f'alpha requests it: granted, fencing token {token}')
        waiting = {name: self.request_behind('alpha', name) for name in ('beta', 'gamma')}
        line('beta and gamma request it: pending')
        self.show('gamma', 'list', '--bucket', BUCKET, LOCK)
        released = time.monotonic()
        self.clients['alpha'].release(held, BUCKET)
        token, at = self.wait_granted('beta', waiting['beta'])
        line('')
        line(f'alpha releases it; beta gets it {1000 * (at - released):.0f} ms later, token {token}')
        return waiting

    def show_partition(self, waiting):
        headline('2. The host of the holder is cut off from the network')
        cut = time.monotonic()
        self.network.cut_off(self.hosts['beta'].place)
        line('beta is cut off while it holds the lock')
        token, at = self.wait_granted('gamma', waiting['gamma'])
        lost = self.clients['beta'].wait_released(waiting['beta'], 'lost')
        line(f'after {lost.at - cut:.1f} s beta is notified that its lock is lost')
        line(f'after {at - cut:.1f} s gamma gets it, token {token}: '
             f'{at - lost.at:.1f} s later')
        if lost.at > at:
            raise SystemExit('beta was notified too late')

    def show_election(self, waiting):
        headline('3. The leader of the servers is killed')
        self.ensemble.leader().kill()
        killed = time.monotonic()
        following, _ = self.request('alpha')
        self.clients['gamma'].release(waiting['gamma'], BUCKET)
        token, at = self.wait_granted('alpha', following)
        if self.clients['gamma'].signals('Released', id=waiting['gamma'], reason='lost'):
            raise SystemExit('gamma has lost its lock')
        line(f'gamma has kept its lock, and releases it; alpha gets it {at - killed:.1f} s after the '
             f'kill, token {token}')
        return following

    def show_return(self, held):
        headline('4. The network is restored, and the server is back')
        self.network.restore()
        self.ensemble.restore()
        request, _ = self.request('beta')
        self.clients['alpha'].release(held, BUCKET)
        token, _ = self.wait_granted('beta', request)
        line(f'beta requests the lock again, and gets it after alpha, token {token}')
        self.show('beta', 'cluster', 'status')


def main(arguments):
    why = why_no_servers() or why_no_networks()
    if why:
        raise SystemExit(f'demo: {why}')
    [build_dir] = arguments
    os.environ.update(WEBLOCKSD=os.path.join(build_dir, 'service', 'weblocksd'),
                      WEBLOCKS_CLUSTERD=os.path.join(build_dir, 'cluster', 'weblocks-clusterd'))
    os.environ.setdefault('WEBLOCKS_TEST_BUS', 'dbus-daemon')
    with contextlib.ExitStack() as stack:
        demo = Demo(os.path.abspath(build_dir), stack)
        waiting = demo.show_hand_over()
        demo.show_partition(waiting)
        demo.show_return(demo.show_election(waiting))
    headline('The end: all processes have ended.')


if __name__ == '__main__':
    main(sys.argv[1:])
