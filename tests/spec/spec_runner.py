# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs a case on a driver, and reports the line with the first difference.

A driver has the methods join, die, request, release, abort, downgrade, break_locks, query, watch, settle,
await_ and take_event, and raises DBusError for an error of a call. It takes labels of agents,
and ids as returned by its requests.
"""

import collections
import dataclasses
import itertools
import time

from calls import DBusError

# `kind` is granted, released, waiting or downgraded, which has only the id; `detail` the token or the reason;
# `at` the monotonic time.
SpecEvent = collections.namedtuple('SpecEvent', 'kind id bucket name mode agent detail at')


def downgraded(wanted):
    return dataclasses.replace(wanted, options={
        **{key: value for key, value in wanted.options.items() if key != 'slots'}, 'mode': 'shared'})


class Late(Exception):
    """A difference, but perhaps only because the machine was too slow for a time-out."""


class Labelled:
    """A request of the case."""

    def __init__(self, agent, wanted, id_, token, begun):
        self.agent, self.wanted, self.id, self.token, self.begun = agent, wanted, id_, token, begun
        # Doesn't wait any longer according to the case, so a time-out doesn't matter.
        self.has_ended = token != 0

    @property
    def due(self):
        return self.begun + self.wanted.options.get('timeout', 0) / 1000

    def is_late(self):
        """Should wait according to the case, but may have timed out."""
        return not self.has_ended and self.due > self.begun and time.monotonic() >= self.due


class Run:
    def __init__(self, driver, case):
        self.driver, self.case = driver, case
        self.step = None
        self.connected, self.watching = set(), set()
        self.labelled = {}

    def run(self):
        for self.step in self.case.steps:
            self._run_step()
        self._check_no_events()

    def differ(self, what):
        text = f'line {self.step.line}: {self.step.text}: {what}'
        if not self.step.is_awaited and any(one.is_late() for one in self.labelled.values()):
            raise Late(text)
        raise AssertionError(text)

    def _check(self, holds, what):
        if not holds:
            self.differ(what)

    def _check_no_events(self):
        """Before each call, and at the end, every event that has arrived must have been expected."""
        self.driver.settle()
        for agent in sorted(self.connected):
            event = self.driver.take_event(agent)
            self._check(event is None, f'before this line, {agent} was notified: {event}')

    def _run_step(self):
        step = self.step
        if step.verb == 'tokens':
            tokens = [self.labelled[label].token for label in step.outcome if label != '<']
            self._check(tokens[0] > 0 and all(a < b for a, b in itertools.pairwise(tokens)), tokens)
            return
        self._check(step.verb != 'back' or step.agent not in self.connected, 'still connected')
        if step.agent not in self.connected:
            self.driver.join(step.agent)
            self.connected.add(step.agent)
        if step.verb in ('granted', 'released', 'waiting', 'downgraded'):
            self._run_event()
            return
        self._check_no_events()
        if step.verb != 'back':
            getattr(self, f'_run_{"request" if step.wanted else step.verb}')()

    # ---- calls

    def _call(self, function, *arguments):
        """Returns the result; None if there is an error, which must be the expected one."""
        expected = self.step.outcome[1:] if self.step.outcome[:1] == ['error'] else None
        try:
            result = function(self.step.agent, *arguments)
        except DBusError as error:
            self._check(expected and expected[0] == error.short, f'error {error}')
            self._check(all(word in error.message for word in expected[1:]), f'error {error}')
            return None
        self._check(expected is None, f'no error, but {result}')
        return result

    def _run_request(self):
        step, begun = self.step, time.monotonic()
        answer = self._call(self.driver.request, step.wanted, step.verb == 'steal')
        if answer is None:
            return
        id_, token = answer
        kind = step.outcome[0]
        if kind == 'same':
            other = self.labelled[step.outcome[1]]
            self._check(answer == (other.id, other.token), f'{answer} is not {other.id, other.token}')
        elif kind == 'unavailable':
            self._check(answer == (0, 0), answer)
        else:
            self._check(kind in ('held', 'waits') and id_ and (token != 0) == (kind == 'held'), answer)
            self._check(step.label, 'it needs a label')
            self.labelled[step.label] = Labelled(step.agent, step.wanted, id_, token, begun)

    def _find(self):
        """The id and bucket of the label; the bucket of a plain number is the default one."""
        one = self.labelled.get(self.step.label)
        id_ = one.id if one else int(self.step.label)
        return id_, self.step.bucket or (one.wanted.bucket if one else 'default')

    def _run_release(self):
        self._call(self.driver.release, *self._find())

    def _run_abort(self):
        id_, bucket = self._find()
        aborted = self._call(self.driver.abort, id_, bucket)
        if aborted is None:
            return
        self._check(self.step.outcome == [str(aborted).lower()], aborted)
        if aborted:
            self._end(lambda one: one.id == id_)

    def _run_downgrade(self):
        """Afterwards it is a shared lock, in events too."""
        self._call(self.driver.downgrade, *self._find())
        if not self.step.outcome:
            one = self.labelled[self.step.label]
            one.wanted = downgraded(one.wanted)

    def _run_break(self):
        count = self._call(self.driver.break_locks, self.step.bucket or 'default', self.step.label)
        self._check(count is None or self.step.outcome == [str(count)], count)

    def _run_query(self):
        """Held locks are in any order, waiting requests in order for each name."""
        expected = self.step.text.partition('-> held ')[2].split('; pending ')
        self._check(len(expected) == 2, '-> held ...; pending ...')
        actual = self.driver.query(self.step.agent, self.step.bucket or 'default')
        for what, rows, text in zip(('held', 'pending'), actual, expected):
            lines = [f'{name} {mode} {agent}' for name, mode, agent in rows]
            lists = [lines, [] if text == '-' else text.split(', ')]
            for entries in lists:
                entries.sort(key=None if what == 'held' else lambda entry: entry.partition(' ')[0])
            self._check(lists[0] == lists[1], f'{what}: {lines}')

    def _run_watch(self):
        self.driver.watch(self.step.agent, self.step.bucket or 'default')
        self.watching.add(self.step.agent)

    def _run_die(self):
        agent = self.step.agent
        self.driver.die(agent)
        self.watching.discard(agent)
        self.connected.discard(agent)
        self._end(lambda one: one.agent == agent)

    def _end(self, concerns):
        for one in self.labelled.values():
            one.has_ended = one.has_ended or concerns(one)

    # ---- events

    def _run_event(self):
        step, one = self.step, self.labelled[self.step.label]
        self._check(one.agent == step.agent or step.agent in self.watching, 'not its request')
        self.driver.settle()
        if step.is_awaited:
            self.driver.await_(step.agent)
        event = self.driver.take_event(step.agent)
        self._check(event is not None, 'no event')
        if step.verb == 'downgraded':
            self._check(event[:3] == (step.verb, one.id, one.wanted.bucket), event)
            return
        self._check(event[:6] == (step.verb, one.id, one.wanted.bucket, one.wanted.name,
                                  one.wanted.mode, one.agent), event)
        if step.verb == 'waiting':
            return
        one.has_ended = True
        if step.verb == 'granted':
            self._check(event.detail and one.token in (0, event.detail), event)
            one.token = event.detail
        else:
            self._check([event.detail] == step.outcome, event)
            early = one.due - event.at
            self._check(event.detail != 'timeout' or early <= 0, f'{early} s too early')
