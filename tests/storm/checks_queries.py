# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Checks of the replies to Query: everything that is certainly live, nothing that can't be, each once and in
order."""

import collections

from history import FLAG_HELD, Outcome
from story import NEVER, by_seen

# A row, with its client (None: unknown), and the requests that it may show.
Shown = collections.namedtuple('Shown', 'row client candidates is_held request')


def find_shown(checker, lock, query):
    shown = []
    for row in query.rows:
        if row.name != lock.name:
            continue
        client = checker.story.by_unique.get((query.bus, row.subject))
        found = []
        if client is not None and client.header.principal == lock.principal:
            found = query.candidates(row, client)
        shown.append(Shown(row, client, found, row.flags & FLAG_HELD != 0,
                           found[0] if len(found) == 1 else None))
    return shown


def check_impossible(checker, query, one):
    """No request of the client matches this row."""
    row, client = one.row, one.client
    text = f'lock {row.name} is {"held" if one.is_held else "pending"} for :1.{row.subject}'
    asked = [request for request in client.by_name[row.name] if request.call < query.end]
    named = [request for request in client.by_name[row.name]
             if row.token != 0 and request.token == row.token]
    last = (named or asked)[-1:]
    if query.call > client.gone:
        checker.report('no-ghost', client.killed, query.end,
                       f'{text}, which was dead and the bus had reported it', *named[-1:])
    elif not last:
        checker.report('isolation', query.call, query.end,
                       f'{text} (client {client.header.client}), which has not asked for it')
    else:
        checker.report('not-risen', query.call, query.end,
                       f'{text} (token {row.token}), as nothing can be that it has asked for', *last)


def check_row(checker, lock, query, one):
    request, story = one.request, checker.story
    if one.client is None or one.client.header.principal != lock.principal:
        checker.report('isolation', query.call, query.end,
                       f'lock {lock.name} is shown for :1.{one.row.subject}, which is nobody of '
                       f'principal {lock.principal}')
    elif not one.candidates:
        check_impossible(checker, query, one)
    elif one.is_held and request is not None and request.enter == NEVER:
        # If it was granted, its client is notified, unless that has been killed or stopped.
        deadline = one.client.away.after(query.end, story.patience)
        if deadline < min(request.end, request.abort, one.client.killed, story.end):
            checker.report('progress', query.end, deadline,
                           'it is shown as held, and its client is not notified', request)


def check_once(checker, query, shown):
    rows = collections.defaultdict(list)
    for one in shown:
        if one.client is not None and one.candidates:
            rows[one.client].append(one)
    for client, of_client in rows.items():
        if len(of_client) < 2:
            continue
        possible = {request for one in of_client for request in one.candidates}
        if len(of_client) > len(possible):
            row = of_client[-1].row
            checker.report('once', query.call, query.end,
                           f'lock {row.name} is shown {len(of_client)} times for '
                           f':1.{client.header.unique}, which can have asked less often', *possible)


def check_order(checker, query, shown):
    pending = [one for one in shown if one.request is not None and not one.is_held]
    for second in pending:
        for first in pending:
            if first.request.seen < second.request.call and first.row.position > second.row.position:
                checker.report('fifo', query.call, query.end,
                               'the first was there when the second asked, and is shown behind it',
                               first.request, second.request)


def check_consistency(checker, query, shown):
    held = [one for one in shown if one.is_held]
    is_exclusive = any(not one.row.mode for one in held)
    head = min((one for one in shown if not one.is_held), key=lambda one: one.row.position, default=None)
    if is_exclusive and len(held) > 1:
        checker.report('exclusion', query.call, query.end,
                       f'lock {held[0].row.name} is shown as held {len(held)} times, once exclusively')
    if head is not None and (not held or (not is_exclusive and head.row.mode)):
        checker.report('progress', query.call, query.end,
                       f'lock {head.row.name} is shown as free for its first in the queue, '
                       f':1.{head.row.subject}')


def check_missing(checker, query, live, shown):
    for request in live:
        inside = request.enter < query.call and request.inside_end > query.end
        if request.live_end <= query.end or request.client.header.bus != query.bus:
            continue
        if not any(one.client is request.client and one.row.mode == request.mode and (
                not inside or (one.is_held and one.row.token in (0, request.token)))
                for one in shown):
            checker.report('not-lost', query.call, query.end,
                           f'it is {"inside" if inside else "waiting or held"}, and an answer does not '
                           'show it', request)


def check_queries(checker, lock):
    """Goes through time with the live requests, which are few at any moment."""
    seen = sorted((request for request in lock.requests if request.seen != NEVER), key=by_seen)
    live, n_seen = [], 0
    for query in lock.queries:
        while n_seen < len(seen) and seen[n_seen].seen < query.call:
            live.append(seen[n_seen])
            n_seen += 1
        live = [request for request in live if request.live_end > query.call]
        shown = find_shown(checker, lock, query)
        for one in shown:
            check_row(checker, lock, query, one)
        check_once(checker, query, shown)
        check_order(checker, query, shown)
        check_consistency(checker, query, shown)
        check_missing(checker, query, live, shown)
    for request in lock.requests:
        if request.is_sent:
            check_final_steal(checker, lock, request)


# ---- messages of clients that were killed

def last_answer_before(client, time):
    """When the client was last answered on its lock socket before this time; 0: never."""
    answers = [0]
    for request in client.requests.values():
        answers.append(request.enter)
        if request.end_outcome == Outcome.UNAVAILABLE:
            answers.append(request.end)
        if request.release_outcome == Outcome.OK:
            answers.append(request.release)
    return max(answer for answer in answers if answer < time)


def check_final_steal(checker, lock, steal):
    """When the service has noticed the end of the stealing client, the previous holder has lost the lock. A
    message to a service that was killed meanwhile is lost, and is not repeated. If it was killed since it last
    answered the client, the library may not have a socket again, and has kept the message."""
    client = steal.client
    query = next((query for query in lock.queries if query.call > client.gone), None)
    if query is None or query.bus != client.header.bus or checker.story.has_kill(
            last_answer_before(client, steal.call), client.gone):
        return
    for one in find_shown(checker, lock, query):
        if one.is_held and one.request is not None and one.request.enter < steal.call:
            checker.report('final-steal', steal.call, query.end,
                           'the second had stolen it before it died', one.request, steal)


def check_strangers(checker):
    """Rows of names that were never requested."""
    for query in checker.story.queries:
        for row in query.rows:
            if (query.principal, row.name) not in checker.story.locks:
                checker.report('isolation', query.call, query.end,
                               f'lock {row.name} is shown to principal {query.principal}, and nobody of it '
                               'has asked for it')
