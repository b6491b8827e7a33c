# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Whether the memory orders of common/lock-cell.c suffice, and each is needed.

The steps of lock-cell.c are repeated here with their orders, and run in every order on a memory in which a load may
return an older value: a write is a message with the view of its thread, an acquire load takes over the view of a
release, and a read-modify-write reads the last message. That is C11's release/acquire and relaxed, without loads that
are delayed after later stores of the same thread, which arm64 has too."""

import unittest


OPEN, HELD = 1, 2


class Memory:
    def __init__(self, values):
        self.messages = {place: [(value, {})] for place, value in values.items()}


class Thread:
    """A program is a generator that yields (operation, place, argument, is ordered) and is sent the result."""

    def __init__(self, program):
        self.program, self.view, self.result, self.is_over = program, {}, None, False
        self.next = next(program)

    def choices(self, memory):
        operation, place, *_ = self.next
        if operation == 'load':
            return range(self.view.get(place, 0), len(memory.messages[place]))
        return [len(memory.messages[place]) - 1]

    def read(self, memory, place, at, acquires):
        value, view = memory.messages[place][at]
        self.view[place] = max(self.view.get(place, 0), at)
        if acquires:
            for other, time in view.items():
                self.view[other] = max(self.view.get(other, 0), time)
        return value

    def write(self, memory, place, value, releases, before):
        """`before`: the view of the message that a read-modify-write has read, whose release it continues."""
        self.view[place] = len(memory.messages[place])
        view = dict(before)
        if releases:
            for other, time in self.view.items():
                view[other] = max(view.get(other, 0), time)
        memory.messages[place].append((value, view))

    def step(self, memory, at):
        operation, place, argument, order = self.next
        result = None
        if operation == 'load':
            result = self.read(memory, place, at, 'a' in order)
        elif operation == 'store':
            self.write(memory, place, argument, 'r' in order, {})
        else: # a read-modify-write: None if it stores nothing
            before = memory.messages[place][at][1]
            result = self.read(memory, place, at, 'a' in order)
            if argument(result) is not None:
                self.write(memory, place, argument(result), 'r' in order, before)
        try:
            self.next = self.program.send(result)
        except StopIteration:
            self.is_over = True


def explore(values, programs):
    """Runs the programs in every order; returns (runs, the first assertion that has failed or None)."""
    path, n_runs = [], 0
    while True:
        memory, threads, taken = Memory(values), [Thread(program()) for program in programs], []
        try:
            while any(not thread.is_over for thread in threads):
                moves = [(thread, at) for thread in threads if not thread.is_over for at in thread.choices(memory)]
                chosen = path[len(taken)][0] if len(taken) < len(path) else 0
                taken.append((chosen, len(moves)))
                moves[chosen][0].step(memory, moves[chosen][1])
        except AssertionError as error:
            return n_runs + 1, str(error)
        n_runs += 1
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if not taken:
            return n_runs, None
        path = taken[:-1] + [(taken[-1][0] + 1, taken[-1][1])]


def check(value, expected, what):
    assert value == expected, f'{what} is {value}, not {expected}'


# The orders in lock-cell.c, by what they are of: a = acquire, r = release.
ORDERS = {'open': 'r', 'close': 'ar', 'find': 'a', 'enter': 'a', 'leave': 'r', 'store since_token': 'r',
          'load since_token': 'a'}


def swap(expected, value):
    return lambda word: value if word == expected else None


def opened(orders):
    """The client that finds an open cell finds its key and last token; also if it is opened again."""
    def service():
        for token, key in ((1, 7), (2, 8)):
            yield 'store', 'key', key, ''
            yield 'store', 'last', key + 10, ''
            yield 'store', 'word', token << 2 | OPEN, orders['open']
            yield 'change', 'word', lambda word: word & ~OPEN, orders['close']

    def client():
        word = yield 'load', 'word', None, orders['find']
        if not word & OPEN:
            return
        key = yield 'load', 'key', None, ''
        last = yield 'load', 'last', None, ''
        found = yield 'change', 'word', swap(word, word + 4 | HELD), orders['enter']
        if found == word:
            check((key, last), ((7, 17), (8, 18))[(word >> 2) - 1], 'key and last')

    return {'word': 0, 'key': 0, 'last': 0}, (service, client)


def handed_over(orders):
    """What was written inside is seen by the next holder, to whom the service sends a packet."""
    def leaver():
        yield 'store', 'data', 1, ''
        yield 'change', 'word', swap(4 | HELD | OPEN, 4 | OPEN), orders['leave']

    def service():
        word = yield 'change', 'word', lambda word: word & ~OPEN, orders['close']
        if not word & HELD:
            yield 'store', 'packet', 1, 'r' # of the kernel, as is its load

    def waiter():
        if (yield 'load', 'packet', None, 'a'):
            check((yield 'load', 'data', None, ''), 1, 'data')

    return {'word': 4 | HELD | OPEN, 'data': 0, 'packet': 0}, (leaver, service, waiter)


def entered_by_a_thread(orders):
    """Likewise by another thread of the process, which enters the parked cell."""
    def leaver():
        yield 'store', 'data', 1, ''
        yield 'change', 'word', swap(4 | HELD | OPEN, 4 | OPEN), orders['leave']

    def enterer():
        word = yield 'load', 'word', None, ''
        found = yield 'change', 'word', swap(4 | OPEN, 8 | HELD | OPEN), orders['enter']
        if word == found == 4 | OPEN:
            check((yield 'load', 'data', None, ''), 1, 'data')

    return {'word': 4 | HELD | OPEN, 'data': 0}, (leaver, enterer)


def timed(orders):
    """The time belongs to the token."""
    def client():
        yield 'change', 'word', swap(4 | OPEN, 8 | HELD | OPEN), orders['enter']
        yield 'store', 'since', 100, ''
        yield 'store', 'since_token', 2, orders['store since_token']

    def service():
        word = yield 'change', 'word', lambda word: word & ~OPEN, orders['close']
        token = yield 'load', 'since_token', None, orders['load since_token']
        if token == word >> 2 == 2:
            check((yield 'load', 'since', None, ''), 100, 'since')

    return {'word': 4 | OPEN, 'since': 0, 'since_token': 0}, (client, service)


# With the orders that each needs.
PROGRAMS = {opened: ('open', 'find'), handed_over: ('leave', 'close'), entered_by_a_thread: ('leave', 'enter'),
            timed: ('store since_token', 'load since_token')}


class MemoryOrders(unittest.TestCase):
    def test_they_suffice(self):
        for program in PROGRAMS:
            n_runs, error = explore(*program(ORDERS))
            self.assertIsNone(error, program.__name__)
            print(f'# {program.__name__}: {n_runs} runs')

    def test_each_is_needed(self):
        for program, names in PROGRAMS.items():
            for name in names:
                with self.subTest(program.__name__, order=name):
                    _, error = explore(*program({**ORDERS, name: ''}))
                    self.assertIsNotNone(error)
                    print(f'# {program.__name__} without that of {name}: {error}')
