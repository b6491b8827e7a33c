# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The latency of a client beside others that request as many locks as they can."""

from figures import Table
from stage import Scene, Way, cores, measure_in_turns, run

IN_FLIGHT = 64
LOCK, SYNC, ECHO = 'lock', 'SYNC', 'echo'
FLOOD, SAME = 'that flood', 'that flood the same echo'


def neighbours(settings):
    return (2,) if settings.quick else (4, 8)


def alone(what, count, percentile='median', neighbour=''):
    return f'{what}, alone, {percentile} ({count}{neighbour and " " + neighbour})'


def beside(what, count, neighbour=FLOOD):
    return f'{what}, beside {count} {neighbour}, 99th percentile'


def calm_way(settings, scene, count):
    # The figures alone are measured again each time, since they have to be of the same moment.
    rows = {'alone-p50': alone(LOCK, count), 'alone-p99': alone(LOCK, count, '99th percentile'),
            'beside-p99': beside(LOCK, count), 'echo-alone-p50': alone(ECHO, count),
            'echo-beside-p99': beside(ECHO, count)}

    def ask():
        answers = run(settings, 'calm', scene.address, 'locks', count, settings.count(1000, 50))
        return {row: answers[key] for key, row in rows.items()}
    return Way(list(rows.values()), ask)


def sockets(settings):
    return 4 if settings.quick else 64


def flooded(what, settings):
    return f'{what}, beside {sockets(settings)} flooding sockets, 99th percentile'


def before_flood(what, settings):
    return alone(what, f'{sockets(settings)} flooding sockets')


def flood_way(settings, scene):
    rows = {'alone-p50': before_flood(SYNC, settings), 'beside-p99': flooded(SYNC, settings),
            'echo-alone-p50': before_flood(ECHO, settings), 'echo-beside-p99': flooded(ECHO, settings)}

    def ask():
        answers = run(settings, 'calm', scene.address, 'flood', sockets(settings),
                      settings.count(1000, 50))
        return {row: answers[key] for key, row in rows.items()}
    return Way(list(rows.values()), ask)


def echo_way(settings, count):
    rows = {'alone-p50': alone(ECHO, count, neighbour=SAME), 'beside-p99': beside(ECHO, count, SAME)}

    def ask():
        answers = run(settings, 'calm', '-', 'echo', count, settings.count(1000, 50))
        return {row: answers[key] for key, row in rows.items()}
    return Way(list(rows.values()), ask)


def declare(settings):
    table = Table('calm', 'Latency beside other clients',
                  f'A client that requests a lock now and then, on {settings.best_kind}, with '
                  f'synchronous calls: alone, and beside processes that each have {IN_FLIGHT} '
                  'requests and releases in flight at any time. Alternating with the locks, '
                  'two bytes are sent to an echo process and back: the latency that the kernel '
                  'alone causes beside the same processes. The ratio is to the same median '
                  'alone. The last rows are the same echo beside clients with as many bytes in flight '
                  'to the echo process itself. SYNC is one message on a '
                  'lock socket and its answer, beside a process that fills other sockets, with send buffers '
                  'of 4 MiB, again and again with messages without an answer. In a turn with '
                  'several clients the service serves at most 16 calls, of 6,200 instructions '
                  'each by callgrind, so a call waits for about 100,000 instructions of others. '
                  'The rest is the wait of the service for the core: beside 8 that flood, on one core, it had '
                  '18,396 involuntary and 49 voluntary context switches in a second, in which '
                  'it ran for 395 ms and was ready to run, but did not, for 605 ms. The echo '
                  'process, which runs for 10 ms a second, had 53 and 1,600: it sleeps, and '
                  'the kernel runs it soon after it wakes.',
                  'us', 'to alone')
    for what in (LOCK, ECHO):
        for count in neighbours(settings):
            table.row(alone(what, count))
            if what == LOCK:
                table.row(alone(what, count, '99th percentile'), ('self', alone(what, count)))
            table.row(beside(what, count), ('self', alone(what, count)))
    for what in (SYNC, ECHO):
        table.row(before_flood(what, settings))
        table.row(flooded(what, settings), ('self', before_flood(what, settings)))
    for count in neighbours(settings):
        table.row(alone(ECHO, count, neighbour=SAME))
        table.row(beside(ECHO, count, SAME), ('self', alone(ECHO, count, neighbour=SAME)))
    return table


def measure(settings, table):
    for which in settings.cores:
        with cores(which), Scene(settings, settings.best_kind) as scene:
            ways = [calm_way(settings, scene, count) for count in neighbours(settings)]
            ways.append(flood_way(settings, scene))
            ways += [echo_way(settings, count) for count in neighbours(settings)]
            measure_in_turns(settings, table, which, ways, settings.few_repetitions)
