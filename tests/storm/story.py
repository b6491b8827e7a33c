# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The records of a storm as requests, queries and clients, each with what is certain of it.

A request is *certainly* live from the first reply that showed it until the first event that may end it, and
*possibly* live from its call until a reply showed that it has ended. A client is certainly inside from `enter`
until it records that it leaves, or a record says that it is about to be killed or stolen from. Times are those
of the records, in ns; NEVER is that of an event without a record.
"""

import bisect
import collections
import itertools
import math
import operator
import os

from history import (FLAG_HELD, FLAG_IF_AVAILABLE, FLAG_KILL, FLAG_STEAL, N_NAMES, Fault, Kind, Outcome,
                     read_file)

NEVER = math.inf
MS = 1_000_000
# When the library repeats a request, it sends the remaining time-out.
TIMEOUT_SLACK = 5 * MS
# How long after its time-out the library ends a request if the service has not.
OWN_TIMEOUT_GRACE = 250 * MS
# The maximum time from a steal until another host is notified.
STEAL_NOTICE = 20_000 * MS

by_call = operator.attrgetter('call')
by_seen = operator.attrgetter('seen')


class Spans:
    """Spans of time in order, without overlap, from (begin, end) in any order."""

    def __init__(self, spans):
        self.spans = []
        for begin, end in sorted(spans):
            if end <= begin:
                continue
            if self.spans and begin <= self.spans[-1][1]:
                self.spans[-1] = self.spans[-1][0], max(self.spans[-1][1], end)
            else:
                self.spans.append((begin, end))
        self._ends = [end for _, end in self.spans]

    def __iter__(self):
        return iter(self.spans)

    def _from(self, time):
        """Those that end after `time`."""
        for i in range(bisect.bisect_right(self._ends, time), len(self.spans)):
            yield self.spans[i]

    def touch(self, begin, end):
        """Whether they cover a part of it."""
        return next(self._from(begin), (end, end))[0] < end

    def longest_gap(self, begin, end):
        """The longest part of it that they don't cover."""
        longest, at = (begin, begin), begin
        for span in itertools.chain(self._from(begin), [(end, end)]):
            until = min(span[0], end)
            if until - at > longest[1] - longest[0]:
                longest = at, until
            at = max(at, span[1])
            if at >= end:
                break
        return longest

    def after(self, time, amount):
        """When so much time has passed that they don't cover."""
        for begin, end in self._from(time):
            if begin - time >= amount:
                break
            amount -= max(0, begin - time)
            time = end
        return time + amount


def spans_between(records, off, on, begin, end):
    """The times from a record of a kind of `off` until one of `on`; the first from `begin`, if that is a time."""
    spans = []
    for record in records:
        if record.kind in off and begin is None:
            begin = record.time
        elif record.kind == on and begin is not None:
            spans.append((begin, record.time))
            begin = None
    return spans if begin is None else [*spans, (begin, end)]


class Client:
    """A client process."""

    def __init__(self, header, records):
        self.header = header
        self.records = records
        self.killed = self.reaped = NEVER  # killed: or disconnected
        self.gone = NEVER  # the service has certainly noticed its disconnect by then
        self.was_killed = False
        self.stops = self.away = None  # Spans; away: service down, or client stopped
        self.requests = {}
        self.by_name = [[] for _ in range(N_NAMES)]
        self.latest = []  # for each of these, the latest possible end up to there
        self.refusals = []  # records of the resource and the kernel's lock that refused it


class Request:
    """A request and what came of it."""

    def __init__(self, client, record):
        self.client = client
        self.number, self.name, self.mode = record.request, record.name, record.mode
        self.if_available = bool(record.flags & FLAG_IF_AVAILABLE)
        self.steal = bool(record.flags & FLAG_STEAL)
        self.timeout = record.detail * MS
        self.token = 0
        # Recorded times.
        self.call = record.time
        self.enter = self.end = self.abort = self.leave = self.release = self.lost = NEVER
        self.end_outcome = self.release_outcome = self.lost_outcome = None
        self.is_sent = False  # certainly, even if the client was killed
        self.n_ends = 0  # ends and enters: more than one is a violation
        # Conclusions.
        self.seen = NEVER  # certainly live from then on
        self.live_end = 0  # until then
        self.inside_end = 0  # certainly inside from `enter` until then
        self.possible_end = NEVER  # possibly live until then
        self.stolen = NEVER  # possibly stolen from then on
        self.unnoticed = 0, 0  # possibly lost, while its client could not be notified
        # It may have been granted and stolen, or have timed out, and its client was not notified since the
        # service died: then it was requested again, and what is shown of it before `enter` may be the first
        # request.
        self.is_anew = False

    def note(self, record):
        kind = record.kind
        if kind == Kind.ENTER:
            self.n_ends += 1
            self.enter, self.token = min(self.enter, record.time), record.token
        elif kind == Kind.END:
            self.n_ends += 1
            self.end, self.end_outcome = min(self.end, record.time), record.outcome
        elif kind == Kind.ABORT:
            self.abort = record.time
        elif kind == Kind.LEAVE:
            self.leave = record.time
        elif kind == Kind.RELEASE:
            self.release, self.release_outcome = record.time, record.outcome
        elif kind == Kind.LOST:
            self.lost, self.lost_outcome = min(self.lost, record.time), record.outcome
        elif kind == Kind.SENT:
            self.is_sent = True
        elif record.outcome != Outcome.OK:
            self.client.refusals.append(record)

    def may_have_timed_out_itself(self):
        """Whether the library may have ended it, without the service."""
        return (self.timeout != 0 and self.end_outcome == Outcome.TIMEOUT
                and self.end >= self.call + self.timeout + OWN_TIMEOUT_GRACE)

    def may_have_been_held_unnoticed(self):
        """Granted without its client being notified. The lock was stolen before: the client is notified of that,
        or has repeated the request, which then timed out. Or the client's own time-out expired before it was
        notified; how late that may be is a question of progress."""
        return self.may_have_timed_out_itself() or (
            self.stolen < self.end and (self.end_outcome == Outcome.STOLEN or (
                self.is_anew and self.end_outcome == Outcome.TIMEOUT)))

    def conclude(self, story):
        self.possible_end = self._find_possible_end(story.patience)
        deadline = self.call + self.timeout - min(self.timeout, TIMEOUT_SLACK)
        self.is_anew = (self.timeout != 0 and min(self.enter, self.end) > deadline
                        and story.has_kill_while_waiting(self))
        end = min(self.client.killed, self.lost)
        if self.enter != NEVER:
            self.inside_end = self.live_end = max(self.enter, min(end, self.leave))
            self.seen = self.enter
        else:
            self.live_end = min(end, self.abort, self.end, deadline if self.timeout else NEVER)

    def _find_possible_end(self, patience):
        ends = [self.client.gone]
        if self.release_outcome != Outcome.FAILED:
            ends.append(self.release)
        if self.lost_outcome == Outcome.STOLEN:
            ends.append(self.lost)
        if (self.end_outcome in (Outcome.CANCELLED, Outcome.UNREACHABLE)
                or self.may_have_timed_out_itself()):
            # The application gets its result immediately, the service is notified later.
            ends.append(self.client.away.after(self.end, patience))
        elif self.end_outcome != Outcome.FAILED:
            ends.append(self.end)
        return min(ends)


class Query:
    """A query and its rows. `client` is None for those of the supervisor."""

    def __init__(self, client, record, principal, bus):
        self.client, self.principal, self.bus = client, principal, bus
        self.call, self.end = record.time, NEVER
        self.outcome = None
        self.names = record.detail  # one bit for each name that it covers
        self.rows = []

    def may_show(self, row, request):
        """Whether the row may show the request."""
        if (request.call >= self.end or request.possible_end < self.call
                or request.mode != row.mode):
            return False
        if not row.flags & FLAG_HELD:
            return not (request.if_available or request.steal) and request.enter >= self.call
        return (row.token == 0 or request.token in (0, row.token)
                or (request.is_anew and self.call < request.enter)) and (
            request.end_outcome in (None, Outcome.CANCELLED, Outcome.UNREACHABLE, Outcome.FAILED)
            or request.may_have_been_held_unnoticed())

    def candidates(self, row, client):
        """The requests of its client that the row may show."""
        requests, latest = client.by_name[row.name], client.latest[row.name]
        found = []
        for i in range(len(requests) - 1, -1, -1):
            if latest[i] < self.call:
                break
            if self.may_show(row, requests[i]):
                found.append(requests[i])
        return found


class Lock:
    """One name of one principal, with its requests and the queries that cover it, by call."""

    def __init__(self, principal, name):
        self.principal, self.name = principal, name
        self.requests = []
        self.queries = []


class Story:
    """`logs` are a header and records for each process. `patience` is the time limit of the service in ns. In a
    cluster each bus is another host. `late`, if not None, is a function of two times in s: how late the machine has
    run processes in between."""

    def __init__(self, logs, patience, is_activatable=False, is_cluster=False, late=None):
        self.patience = patience
        self.late = late or (lambda begin, end: 0)
        self.is_activatable = is_activatable
        self.is_cluster = is_cluster
        # The supervisor records some events later, with the time at which they happened.
        self.supervisor = sorted((record for header, records in logs if header.client == 0
                                  for record in records), key=operator.attrgetter('time'))
        self.clients = [Client(*log) for log in logs if log[0].client != 0]
        times = [record.time for records in (self.supervisor, *(client.records for client in self.clients))
                 for record in (*records[:1], *records[-1:])]
        self.start, self.end = min(times, default=0), max(times, default=0)
        self.by_number = {client.header.client: client for client in self.clients}
        self.by_unique = {(client.header.bus, client.header.unique): client
                          for client in self.clients if client.header.has_unique}
        self.queries, self.failed_queries = [], []
        for client in self.clients:
            self._read_client(client)
        self._read_supervisor()
        self.kills = self._find_kills()
        self.faults = self._find_faults()
        self.down = self._find_absences()
        for client in self.clients:
            self._conclude(client)
        self.queries.sort(key=by_call)
        self.locks = self._find_locks()
        for lock in self.locks.values():
            self._reckon_with_steals(lock)
        self._reckon_with_stops()
        self._learn_from_queries()

    def has_kill(self, begin, end):
        """Whether the service may have been killed then."""
        i = bisect.bisect_left(self.kills, begin, key=operator.itemgetter(1))
        return i < len(self.kills) and self.kills[i][0] <= end

    def has_kill_while_waiting(self, request):
        return self.has_kill(request.call, min(request.enter, request.possible_end))

    # ---- records

    def _note_on_query(self, opened, record):
        """Queries overlap, so they are in `opened` by number until they are answered; unanswered ones prove
        nothing."""
        query = opened.get(record.request)
        if query is not None and record.kind == Kind.ROW:
            query.rows.append(record)
        elif query is not None and record.kind == Kind.ROWS:
            del opened[record.request]
            query.end, query.outcome = record.time, record.outcome
            (self.queries if record.outcome == Outcome.OK else self.failed_queries).append(query)

    def _read_client(self, client):
        opened = {}
        for record in client.records:
            if record.kind == Kind.REQUEST:
                request = client.requests[record.request] = Request(client, record)
                client.by_name[record.name].append(request)
            elif record.kind == Kind.QUERY:
                opened[record.request] = Query(client, record, client.header.principal,
                                               client.header.bus)
            elif record.kind in (Kind.ROW, Kind.ROWS):
                self._note_on_query(opened, record)
            elif record.kind == Kind.EXIT:
                client.killed = min(client.killed, record.time)
                client.was_killed |= bool(record.flags & FLAG_KILL)
            elif record.request in client.requests:
                client.requests[record.request].note(record)

    def _read_supervisor(self):
        opened, bus, barriers = {}, 0, []
        for record in self.supervisor:
            client = self.by_number.get(record.subject)
            if record.kind == Kind.BUS:
                bus = record.detail
                for each in self.clients:
                    if each.header.bus < bus:
                        each.gone = min(each.gone, record.time)
            elif record.kind == Kind.QUERY:
                opened[record.request] = Query(None, record, record.subject, bus)
            elif record.kind == Kind.STORM_END:
                self.end = min(self.end, record.time)
            elif record.kind == Kind.KILL and client is not None:
                client.killed = min(client.killed, record.time)
                client.was_killed = True
            elif record.kind == Kind.REAPED and client is not None:
                client.reaped = min(client.reaped, record.time)
                client.killed = min(client.killed, record.time)
            elif record.kind == Kind.BARRIER:
                barriers.append(record)
            else:
                self._note_on_query(opened, record)
        for barrier in barriers:
            for client in self.clients:
                if client.reaped <= barrier.detail:
                    client.gone = min(client.gone, barrier.time)

    def _find_kills(self):
        """Each from the record that the service is to be killed, perhaps at one of its next system calls, until it
        was dead, if that was noted."""
        kills = []
        is_alive = True
        for record in self.supervisor:
            if record.kind == Kind.SERVICE_KILL:
                kills.append((record.time, record.time))
                is_alive = True
            elif record.kind == Kind.SERVICE_DEAD and kills and is_alive:
                kills[-1] = kills[-1][0], record.time
                is_alive = False
        return kills

    def _find_absences(self):
        """Returns when there was no service; notes when which client was stopped."""
        by_subject = collections.defaultdict(list)
        for record in self.supervisor:
            by_subject[record.subject].append(record)
        down = Spans(spans_between(by_subject[0], (Kind.SERVICE_KILL, Kind.SERVICE_DEAD),
                                   Kind.SERVICE_READY, self.start, self.end))
        for client in self.clients:
            client.stops = Spans(spans_between(by_subject[client.header.client], (Kind.STOP,),
                                               Kind.CONTINUE, None, self.end))
            client.away = Spans([*client.stops, *down])
        return down

    def _find_faults(self):
        """The records of faults of a cluster, each with its end."""
        ends = {record.request: record.time for record in self.supervisor
                if record.kind == Kind.FAULT_END}
        return [(record, ends.get(record.request, self.end)) for record in self.supervisor
                if record.kind == Kind.FAULT]

    # ---- conclusions

    def _conclude(self, client):
        for request in client.requests.values():
            request.conclude(self)
        for requests in client.by_name:
            latest, ends = 0, []
            for request in requests:
                latest = max(latest, request.possible_end)
                ends.append(latest)
            client.latest.append(ends)

    def _find_locks(self):
        locks = {}
        for client in self.clients:
            for request in client.requests.values():
                key = client.header.principal, request.name
                locks.setdefault(key, Lock(*key)).requests.append(request)
        for lock in locks.values():
            lock.requests.sort(key=by_call)
            lock.queries = [query for query in self.queries
                            if query.principal == lock.principal and query.names >> lock.name & 1]
        return locks

    def _learn_from_queries(self):
        """The contents of a reply have been committed, so a restart doesn't undo them."""
        for query in self.queries:
            for row in query.rows:
                client = self.by_unique.get((query.bus, row.subject))
                found = query.candidates(row, client) if client is not None else []
                if len(found) == 1 and not found[0].is_anew:
                    found[0].seen = min(found[0].seen, query.end)

    # ---- locks that their clients may have lost without knowing it

    def _steal_end(self, steal):
        """The last call of a request whose lock this steal may end. A host that is cut off goes on granting until
        it is notified or its lease is over."""
        end = min(steal.enter, steal.end)
        if not self.is_cluster:
            return min(end, steal.client.gone)
        return min(end, steal.client.reaped, self.end) + STEAL_NOTICE

    def _first_steal(self, steals, latest, request, token):
        """Since when the lock with that token may have been stolen; 0: with any token."""
        for i in range(bisect.bisect_left(latest, request.call), len(steals)):
            steal = steals[i]
            if steal.call >= request.possible_end:
                break
            came_before = steal.token != 0 and token != 0 and steal.token < token
            if steal is not request and not came_before and self._steal_end(steal) >= request.call:
                return steal.call
        return NEVER

    def _reckon_with_steals(self, lock):
        steals = [request for request in lock.requests if request.steal]
        end, latest = 0, []
        for steal in steals:
            end = max(end, self._steal_end(steal))
            latest.append(end)
        for request in lock.requests if steals else ():
            request.stolen = self._first_steal(steals, latest, request, request.token)
            # Its earlier token, if any, is unknown.
            before = self._first_steal(steals, latest, request, 0)
            request.is_anew |= before < request.enter and self.has_kill_while_waiting(request)
            request.live_end = min(request.live_end, request.stolen)
            if request.enter != NEVER:
                request.inside_end = max(request.enter, min(request.inside_end, request.stolen))

    def _reckon_with_stops(self):
        """A weblocksd that was stopped could not notify clients when the lease was over. If the release succeeds,
        the host has had the lock all the time."""
        for fault, end in self.faults:
            if fault.name != Fault.STOP_SERVICE:
                continue
            for client in self.clients:
                for request in client.requests.values():
                    if (client.header.bus == fault.subject and request.enter < end
                            and request.inside_end > fault.time
                            and request.release_outcome != Outcome.OK):
                        request.unnoticed = fault.time, request.inside_end
                        request.inside_end = max(request.enter, fault.time)
                        request.live_end = min(request.live_end, request.inside_end)


def read_directory(directory):
    """The logs of all processes."""
    logs = [read_file(os.path.join(directory, name)) for name in sorted(os.listdir(directory))
            if name.endswith('.log')]
    logs = [log for log in logs if log[0] is not None]
    if not any(header.client == 0 for header, _ in logs):
        raise ValueError(f'{directory} has no file of the supervisor')
    return logs
