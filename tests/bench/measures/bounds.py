# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The lower bounds of the figures of one client, and of many: the processor time of a pair, on one
core, by its parts."""

import contextlib
import os
import subprocess

from figures import Table
from peers import available
from stage import Scene, Way, cores, die_with_parent, measure_in_turns

TRIPS = 'two round trips over a socketpair'
REDIS = 'Redis, SET NX PX and DEL'
NAME = 'name on {}, client bare socket'
WAYS = {'packets': 'lock by hand, bare packets', 'sync': 'lock, sync calls',
        'async': 'lock, asynchronous calls', 'unref': 'lock, release by last unref'}
SCENES = {'stored': [], '--no-state': ['--no-state']}
MANY_NAMES = f'{{}} clients: {NAME}'
MANY = {'echo': 'two round trips with one process that echoes', 'packets': 'lock by hand, bare packets',
        'sync': 'lock, sync calls', 'async': 'lock, asynchronous calls'}


def row_of(way, scene):
    return f'{WAYS[way]}, {"state stored" if scene == "stored" else scene}'


def many(settings):
    return settings.count(64, 4)


def row_of_many(settings, way):
    return f'{many(settings)} clients: {MANY[way]}'


def declare(settings):
    table = Table('bounds', 'What bounds these figures',
                  'The processor time of a request and its release in all processes together: '
                  'the client, the service or the bus, and the kernel for them. It is the '
                  'difference of two runs, divided by their pairs, so that starting and '
                  "stopping don't count; other programs hardly affect it. The round trips are "
                  'the cost of two processes that exchange four messages of a byte. For a pair '
                  'of synchronous calls the client makes six system calls (send, poll and '
                  'receive, twice), the service eight (wait, receive, receive until there is '
                  f'nothing, and send, twice). The rows of {many(settings)} clients, each a '
                  'process, show the bound of the throughput of many: their ratio is to the '
                  'names. Most of what asynchronous calls add to bare packets is GObject and '
                  'the main loop: callgrind counts 19,700 instructions for a pair in a client, '
                  '3,500 of them in libweblocks itself, and 1,700 in a client that sends bare '
                  'packets. In the service, a pair of 64 clients takes 13,900 '
                  'instructions, and 22,700 with one client, which has a turn and a commit for '
                  'each call. With 64 clients a pair takes 4.2 system calls in the service, '
                  'counted by strace, where four is the least for two packets and their '
                  'replies, and in the client six with asynchronous calls and four with bare '
                  "packets. So the difference to bare packets is in the clients' processes.",
                  'us', 'to Redis, or to names')
    table.row(TRIPS, ('self', REDIS))
    table.row(REDIS)
    table.row(NAME.format(settings.best_kind), ('self', REDIS))
    for way in WAYS:
        for scene in reversed(SCENES):
            table.row(row_of(way, scene), ('self', REDIS))
    names = MANY_NAMES.format(many(settings), settings.best_kind)
    table.row(names)
    for way in MANY:
        table.row(row_of_many(settings, way), ('self', names))
    return table


def rate_of_many(settings, table):
    """Locks by bare packets compared with names, of many clients: the ratio of the rates."""
    return table.ratio(MANY_NAMES.format(many(settings), 'dbus-broker'),
                       row_of_many(settings, 'packets'), 'one')


def time_of_process(pid):
    """The processor time of a running process in microseconds."""
    with open(f'/proc/{pid}/schedstat', encoding='ascii') as file:
        return int(file.read().split()[0]) / 1000


def time_of_run(settings, name, arguments, server):
    """The same for a run of a measuring program, with its children and its server."""
    before = time_of_process(server) if server else 0
    with subprocess.Popen([settings.program(name), *map(str, arguments)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          preexec_fn=die_with_parent) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f'{name} ended with {process.returncode}')
    after = time_of_process(server) if server else 0
    return (usage.ru_utime + usage.ru_stime) * 1e6 + after - before


def time_way(row, settings, command, server, count=6000):
    name, *arguments = command
    count = settings.count(count, 400)

    def ask():
        short, whole = (time_of_run(settings, name, [*arguments, n], server)
                        for n in (count // 10, count))
        return {row: (whole - short) / (count - count // 10)}
    return Way(row, ask)


def ways_of_many(settings, scene):
    clients = many(settings)

    def way(row, server, *command):
        return time_way(row, settings, command, server, count=300 * clients)
    yield way(MANY_NAMES.format(clients, scene.kind), scene.bus.pid,
              'pairs', scene.address, 'name', clients, 1)
    for how in MANY:
        yield way(row_of_many(settings, how), scene.pid, 'pairs', scene.address, how, clients, 1)


def measure(settings, table):
    with cores('one'), contextlib.ExitStack() as stack:
        ways = [time_way(TRIPS, settings, ['pairs', '-', 'echo', 1, 1], None)]
        redis = available(settings, stack, 'redis')
        if redis:
            ways.append(time_way(REDIS, settings, ['redis', redis.socket, 'del', 1, 1],
                                 redis.process.pid))
        for key, arguments in SCENES.items():
            scene = stack.enter_context(Scene(settings, settings.best_kind, arguments=arguments))
            for way in WAYS:
                ways.append(time_way(row_of(way, key), settings, ['pairs', scene.address, way, 1, 1], scene.pid))
            if key == 'stored':
                ways += ways_of_many(settings, scene)
        ways.append(time_way(NAME.format(scene.kind), settings,
                             ['pairs', scene.address, 'name', 1, 1], scene.bus.pid))
        measure_in_turns(settings, table, 'one', ways, settings.repetitions)
