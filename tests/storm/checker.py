# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Checks a story for violations. It only uses what is certain, so a reported violation is one: an operation
without a reply may or may not have happened. README.md has the list of the checks.

    checker.py DIRECTORY [--patience MS] [--activatable] [--cluster]
"""

import argparse
import bisect
import collections
import sys

from checks_queries import check_queries, check_strangers
from history import FLAG_KILL, FLAG_QUIET, Fault, Kind, Left, Outcome, text_of
from story import MS, NEVER, Spans, Story, by_seen, read_directory

# In the order of the report.
CHECKS = ('exclusion', 'margin', 'tokens', 'fifo', 'once', 'not-lost', 'not-risen', 'no-ghost', 'progress',
          'isolation', 'fence', 'oracle', 'answered', 'final-steal', 'alive')
# What is counted. A storm without these events has tested nothing.
POWER = {
    'n_clients': 'clients',
    'n_requests': 'requests',
    'n_grants': 'grants',
    'n_queries': 'queries',
    'n_steals': 'steals',
    'service_kills': 'service kills',
    'service_kills_at_call': 'of these at a system call',
    'service_kills_before_send': 'of these before a message was sent',
    'service_kills_with_held': 'while a lock was held',
    'service_kills_with_waiting': 'while somebody waited',
    'service_kills_unanswered': 'while a call was not answered',
    'held_over_kills': 'locks held over a service kill',
    'granted_after_kills': 'locks waited for over a service kill',
    'client_kills': 'client kills',
    'client_kills_inside': 'of these inside a lock',
    'client_kills_waiting': 'while waiting',
    'client_kills_unanswered': 'while a release was not answered',
    'stops': 'stops',
    'quiet_points': 'quiet points',
    'unreachable': 'calls refused because there was no service',
    'refused': 'requests refused for lack of space',
    'final_steals': 'final steals',
    'faults': 'faults of a cluster',
    'partitions': 'of these partitions',
    'kills': 'of these kills',
    'losses': 'locks lost by them',
    'hand_overs': 'grants to another host than the last',
    'margins': 'locks lost by a host that was cut off until the grant to another',
}
LEFT = {
    Left.ROWS: 'locks and requests of nobody',
    Left.STATE: 'locks and requests of nobody in the state file',
    Left.DESCRIPTORS: 'open descriptors of the service',
    Left.MEMORY: 'KiB of memory of the service',
}
# The number of records around a violation that are printed.
LINES_MAX = 40
# How often the kernel's lock is tried again.
ORACLE_RETRY = 10 * MS
# Holders are notified this long before another host is granted their locks (docs/cluster.md).
MARGIN = 2000 * MS
# How long after a fault a host may notice that its session has ended meanwhile.
AFTER_LOSS = 30_000 * MS
# The time limit for recovery after a fault: sessions end, servers elect a leader.
AFTER_FAULT = 20_000 * MS

# The violations of one check: how many, and the one in the shortest window.
Violation = collections.namedtuple('Violation', 'n begin end text requests')


class Checker:
    """`violations` by check, and `power`, the numbers of events. `margins` are pairs: the time-out of a session, and
    how long before the grant to another host a lock of it was lost, in seconds."""

    def __init__(self, story):
        self.story = story
        self.violations = {}
        self.power = collections.Counter(dict.fromkeys(POWER, 0))
        self.margins = []
        excuses = [(fault.time, end + AFTER_FAULT) for fault, end in story.faults]
        for lock in story.locks.values():
            self._check_grants(lock)
            if story.is_cluster:
                self._check_margins(lock)
                self._check_progress_of_cluster(excuses, lock)
            else:
                self._check_turns(lock)
                check_queries(self, lock)
                self._check_progress(lock)
        for client in story.clients:
            for record in client.refusals:
                self._check_refusal(client.requests[record.request], record)
            for request in client.requests.values():
                self._check_outcomes(request)
        if not story.is_cluster:
            check_strangers(self)
            self._check_failed_queries()
            self._check_supervisor()
        self._count()

    def report(self, check, begin, end, text, *requests):
        old = self.violations.get(check)
        end = max(begin, end)
        if old is None or end - begin < old.end - old.begin:
            old = Violation(old.n if old else 0, begin, end, text, requests)
        self.violations[check] = old._replace(n=old.n + 1)

    # ---- the requests of one name: exclusion, tokens, first come first served

    def _check_grants(self, lock):
        """If two grants exclude each other, the order in which they entered is also the order of the grants, if
        the first was inside for certain when the second entered or before."""
        holds = sorted((request for request in lock.requests if request.enter != NEVER),
                       key=lambda request: request.enter)
        last = last_exclusive = highest = highest_exclusive = None
        for request in holds:
            is_certain = request.inside_end > request.enter
            blocker = last_exclusive if request.mode else last
            if blocker is not None and min(blocker.inside_end, request.inside_end) > request.enter:
                self.report('exclusion', request.enter, min(blocker.inside_end, request.inside_end),
                            'both are inside', blocker, request)
            before = highest_exclusive if request.mode else highest
            if is_certain and before is not None and before.token > request.token:
                self.report('tokens', before.enter, request.enter,
                            'the second was inside later, and its token is smaller', before, request)
            last = later(last, request, 'inside_end')
            highest = later(highest, request, 'token') if is_certain else highest
            if not request.mode:
                last_exclusive = later(last_exclusive, request, 'inside_end')
                highest_exclusive = later(highest_exclusive, request, 'token') if is_certain \
                    else highest_exclusive
        self.power['hand_overs'] += sum(a.client.header.bus != b.client.header.bus
                                        for a, b in zip(holds, holds[1:]))
        holds.sort(key=lambda request: request.token)
        for a, b in zip(holds, holds[1:]):
            if a.token == b.token:
                self.report('tokens', min(a.enter, b.enter), max(a.enter, b.enter),
                            'both have the same token', a, b)

    def _check_turns(self, lock):
        """The order is only guaranteed on each host. No request queues behind one that ends immediately."""
        seen = sorted((request for request in lock.requests if request.seen != NEVER), key=by_seen)
        highest = last = last_exclusive = None
        n = 0
        for request in lock.requests:
            if request.enter == NEVER:
                continue
            while n < len(seen) and seen[n].seen < request.call:
                if seen[n].token != 0:
                    highest = later(highest, seen[n], 'token')
                last = later(last, seen[n], 'live_end')
                if not seen[n].mode:
                    last_exclusive = later(last_exclusive, seen[n], 'live_end')
                n += 1
            if request.steal:
                continue
            if highest is not None and highest.token > request.token:
                self.report('fifo', request.call, request.enter,
                            'the first was there when the second asked, and was granted later',
                            highest, request)
            blocker = last_exclusive if request.mode else last
            if blocker is not None and blocker.live_end > request.enter:
                self.report('fifo', request.call, request.enter,
                            'the first was there when the second asked, and still when it entered',
                            blocker, request)

    # ---- hosts that are cut off: how long before another host is granted their locks they are lost

    def _check_margins(self, lock):
        for request in lock.requests:
            fault, end = self._find_cut(request) if request.lost != NEVER else (None, 0)
            if fault is None:
                continue
            entered = min((other.enter for other in lock.requests
                           if other.client.header.bus != request.client.header.bus
                           and other.enter > request.enter and not (other.mode and request.mode)),
                          default=NEVER)
            if entered > end:
                continue
            margin = entered - request.lost
            self.power['margins'] += 1
            self.margins.append((fault.detail, margin / 1e9))
            late = self.story.late((request.lost - MARGIN) / 1e9, request.lost / 1e9)
            if margin < MARGIN - late * 1e9:
                self.report('margin', request.lost, entered,
                            f'it was lost {margin / 1e9:.3f} s before the grant to another host', request)

    def _find_cut(self, request):
        """The fault by which the host of a lock was cut off when it was lost, if its client could be notified in
        time."""
        faults = [(fault, end) for fault, end in self.story.faults
                  if fault.subject in (0, request.client.header.bus)]
        lost = request.lost
        if not any(fault.time < lost and end > lost - MARGIN for fault, end in faults
                   if fault.name in (Fault.STALL, Fault.KILL, Fault.STOP_SERVICE)):
            for fault, end in faults:
                if fault.name == Fault.CUT_OFF and fault.time <= lost <= end:
                    return fault, end
        return None, 0

    # ---- a lock that is requested and not held

    def _check_progress(self, lock):
        """Not counting the times in which a request need not be granted: there is no service, or a client is
        inside, or is dead and not reaped yet, or can't record its exit because it is stopped."""
        spans = list(self.story.down)
        for request in lock.requests:
            client = request.client
            end = min(self.story.end, request.possible_end, client.reaped)
            spans.append((request.enter, end))
            spans.append((max(client.killed, request.call), end))
            spans += [(max(begin, request.call), min(until, end)) for begin, until in client.stops]
        excuses = Spans(spans)
        for request in lock.requests:
            end = min(self.story.end, request.live_end, request.enter)
            self._check_gap(excuses, request, request.seen, end,
                            f'it waits for lock {lock.name}, and nobody is inside')

    def _check_progress_of_cluster(self, faults, lock):
        excuses = Spans([*faults, *((request.enter, request.inside_end) for request in lock.requests)])
        for request in lock.requests:
            end = min(self.story.end, request.client.killed, request.enter, request.end, request.abort)
            self._check_gap(excuses, request, request.call, end,
                            f'it waits for lock {lock.name}, nobody is inside, and there is no fault')

    def _check_gap(self, excuses, request, begin, end, text):
        if begin < end:
            gap = excuses.longest_gap(begin, end)
            if gap[1] - gap[0] > self.story.patience:
                self.report('progress', *gap, text, request)

    # ---- replies that are missing or invalid

    def _check_due(self, request, call, answered, what):
        """Within the patience, not counting time in which there is no service or the client is stopped."""
        end = min(answered, request.client.killed, self.story.end)
        if call < end and request.client.away.after(call, self.story.patience) < end:
            self.report('answered', call, end, f'{what} is not answered', request)

    def may_be_unreachable(self, begin, end):
        """Without a service, and without somebody to start it, new calls may fail; also until a client has been
        notified of its return."""
        return not self.story.is_activatable and self.story.down.touch(begin - self.story.patience, end)

    def _check_outcomes(self, request):
        if request.n_ends > 1:
            self.report('once', request.call, max(request.call, request.end),
                        f'it ended {request.n_ends} times', request)
        self._check_end(request)
        self._check_release(request)
        self._check_loss(request)
        if self.story.is_cluster:
            return
        ended = min(request.enter, request.end)
        self._check_due(request, request.leave, min(request.release, request.lost), 'a release')
        self._check_due(request, request.abort, ended, 'an abort')
        if request.if_available or request.steal:
            self._check_due(request, request.call, ended, "a request that doesn't wait")
        elif request.timeout != 0:
            self._check_due(request, request.call + request.timeout, ended, 'a time-out')

    def _check_end(self, request):
        outcome, is_cluster = request.end_outcome, self.story.is_cluster
        if outcome == Outcome.FAILED or (
                outcome == Outcome.UNREACHABLE and not is_cluster
                and not self.may_be_unreachable(request.call, request.end)):
            text = 'a request failed'
        elif is_cluster:
            return
        elif outcome == Outcome.STOLEN and request.stolen > request.end:
            text = 'the client was notified of a steal, and there was none'
        elif outcome == Outcome.TIMEOUT and (request.timeout == 0 or
                                             request.end + MS < request.call + request.timeout):
            text = 'it timed out before its time'
        elif outcome == Outcome.UNAVAILABLE and not request.if_available:
            text = 'the reply was that the lock is not available, and ifAvailable was not requested'
        else:
            return
        self.report('answered', request.call, request.end, text, request)

    def _check_release(self, request):
        """If only a killed service notified the holder of a steal, no other client may have got a message about
        it."""
        outcome = request.release_outcome
        is_loss = outcome in (Outcome.STOLEN, Outcome.UNREACHABLE) and request.stolen <= request.release
        if outcome == Outcome.FAILED or (not self.story.is_cluster and outcome not in (None, Outcome.OK)
                                         and not is_loss):
            self.report('answered', request.leave, request.release, 'a release failed', request)

    def _check_loss(self, request):
        """A host that has been killed since a steal finds that its permit has ended, but not why."""
        self.power['losses'] += self.story.is_cluster and request.lost_outcome == Outcome.GONE
        if request.lost == NEVER or request.stolen <= request.lost:
            return
        if not self.story.is_cluster or request.lost_outcome != Outcome.GONE \
                or not self._has_reason(request):
            self.report('not-lost', request.enter, request.lost,
                        'its client was notified that it is lost, without a reason', request)

    def _has_reason(self, request):
        """Whether a fault explains that the lock was lost."""
        return any(fault.time <= request.lost <= end + AFTER_LOSS and fault.flags & FLAG_KILL
                   and fault.subject in (0, request.client.header.bus)
                   for fault, end in self.story.faults)

    def _check_failed_queries(self):
        """The supervisor queries without the library; it expects that its own kills interrupt them."""
        for query in self.story.failed_queries:
            if query.client is not None and (query.outcome != Outcome.UNREACHABLE or
                                             not self.may_be_unreachable(query.call, query.end)):
                self.report('answered', query.call, query.end,
                            f'a query of client {query.client.header.client} failed')

    # ---- the resource and the kernel

    def _check_refusal(self, request, record):
        if record.kind == Kind.FENCE and not request.mode and request.inside_end > record.time:
            self.report('fence', request.enter, record.time,
                        'it is inside alone, and the resource has seen the higher token '
                        f'{record.detail}', request)
        if record.kind == Kind.ORACLE and not self._may_hold_file(request, record.time):
            self.report('oracle', request.enter, record.time, 'the kernel has another holder of it',
                        request)

    def _may_hold_file(self, asker, time):
        """Whether a process that had the kernel's lock has not ended completely, or can't be notified and may
        still assume that it has the lock."""
        for request in self.story.locks[asker.client.header.principal, asker.name].requests:
            client = request.client
            is_dying = (client.was_killed and client.killed <= time <= client.reaped + ORACLE_RETRY
                        and request.enter != NEVER and request.release == NEVER)
            if is_dying or request.unnoticed[0] < time < request.unnoticed[1] + ORACLE_RETRY:
                return True
        return False

    # ---- the supervisor's part

    def _check_supervisor(self):
        is_killed, ready = False, self.story.start
        for record in self.story.supervisor:
            if record.kind == Kind.SERVICE_KILL:
                is_killed = True
            elif record.kind == Kind.SERVICE_DEAD:
                if not is_killed:
                    self.report('alive', ready, record.time,
                                f'the service ended by itself (status {record.detail})')
                is_killed = False
            elif record.kind == Kind.SERVICE_READY:
                ready = record.time
            elif record.kind == Kind.UNSETTLED:
                self.report('progress', record.detail, record.time,
                            f'client {record.subject} has a request that is neither granted nor shown as '
                            'waiting, or a call that is not answered')
            elif record.kind == Kind.LEFT and record.detail > record.token:
                self.report('no-ghost', record.time, record.time,
                            f'at the end there are {record.detail} {LEFT[record.name]}, not '
                            f'{record.token}')

    # ---- power

    def _count(self):
        power, story = self.power, self.story
        for record in story.supervisor:
            self._count_record(record)
        services = {0}
        for client in story.clients:
            self._count_client(client)
            if story.is_cluster:
                services.add(client.header.bus)
        requests = [request for client in story.clients for request in client.requests.values()]
        power['n_clients'] = len(story.clients)
        power['n_requests'] = len(requests)
        power['n_grants'] = sum(request.enter != NEVER for request in requests)
        power['n_queries'] = len(story.queries)
        power['n_steals'] = sum(request.steal for request in requests)
        power['unreachable'] = sum(request.end_outcome == Outcome.UNREACHABLE for request in requests)
        power['refused'] = sum(request.end_outcome == Outcome.REFUSED for request in requests)
        power['final_steals'] = sum(request.is_sent for request in requests)
        for service in services:
            self._count_kills(service, [request for request in requests if not story.is_cluster
                                        or request.client.header.bus == service])

    def _count_record(self, record):
        power = self.power
        power['stops'] += record.kind == Kind.STOP
        power['quiet_points'] += record.kind == Kind.QUERY and bool(record.flags & FLAG_QUIET)
        if record.kind == Kind.SERVICE_KILL:
            power['service_kills'] += 1
            power['service_kills_at_call'] += bool(record.flags & FLAG_KILL)
            power['service_kills_before_send'] += record.position != 0
        elif record.kind == Kind.FAULT and record.name not in (Fault.STALL, Fault.CUT_OFF):
            power['faults'] += 1
            power['partitions'] += record.name == Fault.PARTITION
            power['kills'] += record.name == Fault.KILL

    def _count_client(self, client):
        if not client.was_killed:
            return
        power, killed, requests = self.power, client.killed, client.requests.values()
        power['client_kills'] += 1
        power['client_kills_inside'] += any(request.enter <= killed < request.leave
                                            for request in requests)
        power['client_kills_waiting'] += any(min(request.enter, request.end) > killed
                                             for request in requests)
        power['client_kills_unanswered'] += any(request.leave <= killed < request.release
                                                for request in requests)

    def _count_kills(self, service, requests):
        """What was in progress when this service was killed: in a cluster each bus has one."""
        kills = [record.time for record in self.story.supervisor
                 if record.kind == Kind.SERVICE_KILL and record.subject == service]
        held, waiting, unanswered = set(), set(), set()

        def mark(marks, begin, end):
            between = range(bisect.bisect_left(kills, begin), bisect.bisect_left(kills, end))
            marks.update(between)
            return len(between) > 0
        for request in requests:
            answer = min(request.enter, request.end, request.client.killed, request.abort)
            self.power['held_over_kills'] += mark(held, request.enter, request.inside_end)
            if request.if_available or request.steal:
                mark(unanswered, request.call, answer)
            elif mark(waiting, request.call, answer) and request.enter != NEVER:
                self.power['granted_after_kills'] += 1
            mark(unanswered, request.leave, min(request.release, request.client.killed))
        for query in self.story.queries:
            mark(unanswered, query.call, query.end)
        self.power['service_kills_with_held'] += len(held)
        self.power['service_kills_with_waiting'] += len(waiting)
        self.power['service_kills_unanswered'] += len(unanswered)

    # ---- the verdict and the report

    def judge(self, least):
        """'violation', 'void' or 'pass', and the events of which there were fewer than `least`."""
        missing = [f'{POWER.get(name, name)}: {self.power[name]}, and at least {number} are needed'
                   for name, number in least.items() if self.power[name] < number]
        return 'violation' if self.violations else 'void' if missing else 'pass', missing

    def __str__(self):
        lines = []
        for check in CHECKS:
            violation = self.violations.get(check)
            if violation is None:
                continue
            lines += [f'VIOLATION of {check}, {violation.n} times; the shortest takes '
                      f'{(violation.end - violation.begin) / 1e9:.6f} s:', f'  {violation.text}']
            lines += [self._describe(request) for request in violation.requests]
            lines += ['    noted from 5 ms before:', *self._records_around(violation), '']
        lines += [f'{name} = {self.power[name]} ({meaning})' for name, meaning in POWER.items()]
        return '\n'.join(lines)

    def _time(self, time):
        return 'never' if time == NEVER else f'{(time - self.story.start) / 1e9:.6f}'

    def _describe(self, request):
        client = request.client
        times = [(what, getattr(request, what))
                 for what in ('call', 'enter', 'end', 'abort', 'leave', 'release', 'lost')]
        times += [('client killed', client.killed), ('reaped', client.reaped)]
        return (f'    client {client.header.client} (:1.{client.header.unique}, pid {client.header.pid}) '
                f'request {request.number} of lock {request.name}, '
                f'{"shared" if request.mode else "exclusive"}'
                f'{", ifAvailable" * request.if_available}{", steal" * request.steal}'
                f'{f", token {request.token}" if request.token else ""}\n      noted: '
                + ', '.join(f'{what} {self._time(time)}' for what, time in times if time != NEVER)
                + f'\n      live for certain {self._time(request.seen)} .. {self._time(request.live_end)}, '
                f'inside {self._time(request.enter)} .. {self._time(request.inside_end)}')

    def _records_around(self, violation):
        """The records about the same lock."""
        names = {request.name for request in violation.requests}
        principals = {request.client.header.principal for request in violation.requests}
        logs = [self.story.supervisor] + [client.records for client in self.story.clients
                                          if not names or client.header.principal in principals]

        def matters(record):
            if not violation.begin - 5 * MS <= record.time <= violation.end + MS:
                return False
            if record.kind == Kind.QUERY:
                return not names or any(record.detail >> name & 1 for name in names)
            return not names or record.kind >= Kind.QUIET or record.name in names
        found = sorted((record for log in logs for record in log if matters(record)),
                       key=lambda record: record.time)
        lines = [f'    {text_of(record, self.story.start)}' for record in found]
        # The beginning and the end matter most.
        if len(lines) > LINES_MAX:
            lines[LINES_MAX // 2:-LINES_MAX // 2] = [f'      ... {len(lines) - LINES_MAX} more ...']
        return lines


def later(a, b, field):
    """The one of two requests, the first of which may be None, of which it is higher."""
    return b if a is None or getattr(b, field) > getattr(a, field) else a


def check_directory(directory, patience, is_activatable, is_cluster, late=None):
    """The checker of a storm with these files; `patience` in seconds."""
    return Checker(Story(read_directory(directory), int(patience * 1e9), is_activatable, is_cluster, late))


def main():
    parser = argparse.ArgumentParser(description='Checks a storm with these files. Exits with 1 if there is a '
                                                 'violation.')
    parser.add_argument('directory')
    parser.add_argument('--patience', type=int, default=3000, metavar='MS', help='of the service')
    parser.add_argument('--activatable', action='store_true', help='the bus starts the service')
    parser.add_argument('--cluster', action='store_true', help='each bus is another host')
    options = parser.parse_args()
    checker = check_directory(options.directory, options.patience / 1000, options.activatable,
                              options.cluster)
    verdict, _ = checker.judge({})
    print(f'{checker}\nverdict: {verdict}')
    return int(verdict == 'violation')


if __name__ == '__main__':
    sys.exit(main())
