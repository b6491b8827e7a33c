# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs bench-library on a private bus of each kind and prints a table: what a lock costs through
the library, next to the same calls said to sd-bus by hand.

    WEBLOCKSD=... WEBLOCKS_BENCH_LIBRARY=... WEBLOCKS_BROKER_LAUNCHER=... bench_library.py
"""

from bench_bus import all_measurements, print_table, show


COLUMNS = {
    'by hand us': ('raw-sync', 1),
    'library us': ('library-sync', 1),
    'ratio': ('library-sync/raw-sync', 3),
    'by hand in a main loop us': ('raw-in-loop', 1),
    'library async us': ('library-async', 1),
    'ratio async': ('library-async/raw-in-loop', 3),
    'loop/no loop': ('raw-in-loop/raw-sync', 3),
}


def main():
    table = [('bus', 'cores', *COLUMNS)]
    for kind, label, figures in all_measurements('WEBLOCKS_BENCH_LIBRARY'):
        table.append((kind, label, *(show(figures[name], digits=digits)
                                     for name, digits in COLUMNS.values())))
    print('Request and Release of a lock, every call awaited; median [quartiles] of 41 rounds\n')
    print_table(table)


if __name__ == '__main__':
    main()
