# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""As blocking.c, with libdbus's blocking calls: python3-dbus without a main loop.

    blocking_libdbus.py pairs|queries ADDRESS COUNT"""

import sys
import time

import dbus
import dbus.bus

NAME = 'org.w3.WebLocks'
BUCKET = '/org/w3/WebLocks/bucket/blocking'
SOME = 500


def main():
    what, address, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    bus = dbus.bus.BusConnection(address)

    def call(method, signature, *arguments):
        return bus.call_blocking(NAME, BUCKET, NAME, method, signature, arguments)

    def pair():
        id_, _ = call('Request', 'sa{sv}', 'x', {})
        call('Release', 't', id_)

    def query():
        call('Query', '')

    one = pair if what == 'pairs' else query
    first = last = total = longest = 0
    for number in range(count):
        started = time.monotonic()
        one()
        took = time.monotonic() - started
        first += took if number < SOME else 0
        last += took if number + SOME >= count else 0
        total += took
        longest = max(longest, took)
    print(f'{first / SOME * 1e6:.1f} {last / SOME * 1e6:.1f} {total / count * 1e6:.1f} '
          f'{longest * 1e6:.0f}')


if __name__ == '__main__':
    main()
