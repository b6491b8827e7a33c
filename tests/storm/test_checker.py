# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The checker on histories written by hand: for each check, correct ones, violations, and uncertain ones, which
have to pass. Each is the simplest of its check, or alone detects some change of the checker: an operator, a constant,
a condition or a statement that is missing.

A history has one record after the other: TIME CLIENT KIND ..., times in ms. Clients are A to D, with the unique
names :1.1 to :1.4, and E and F of another principal; S is the supervisor. All records are about lock 0, unless
one ends with `lock N`.

    A request N [shared] [if] [steal] [timeout MS]   A enter N TOKEN   A end N OUTCOME
    A abort N   A leave N   A release N [OUTCOME]    A lost N OUTCOME   A sent N
    A oracle N OUTCOME   A fence N OUTCOME HIGHEST   A exit
    A gets N TOKEN [...]: request, and enter a millisecond later   A gives N: leave and release
    A takes N TOKEN: enter, leave and release                      S restart: service-kill, -dead and -ready
    A query Q   A row Q CLIENT held|pending [shared] [token T] [position P]   A rows Q [OUTCOME]
    S kill A   S reaped A   S stop A   S continue A   S unsettled A   S barrier SINCE   S bus N
    S service-kill   S service-dead   S service-ready   S left WHAT NUMBER RIGHT   S storm-end

If it begins with `cluster`, A and B are on host 1, C and D on host 2, and there are

    S fault N HOST [loses] [partition|killed|stopped|cut-off]   S fault-end N
"""

import unittest

from checker import Checker
from history import (FLAG_HELD, FLAG_IF_AVAILABLE, FLAG_KILL, FLAG_STEAL, MAGIC, Fault, Header, Kind, Outcome,
                     Record)
from story import MS, Story

PRINCIPAL = 1000
# So that no time is 0.
START = 1000
WRITERS = 'SABCDEF'

# The service runs from the start.
UP = '0 S service-ready; '
CLUSTER = 'cluster; ' + UP
# A's host is cut off, and A loses the lock.
A_CUT_OFF = CLUSTER + ('1 A gets 1 10; 3 S fault 1 1 loses partition; 4 S fault 2 1 cut-off; '
                       '5 C request 1; 5000 A lost 1 gone; ')
# A waits behind B, is listed as waiting, and is granted.
A_BEHIND_B = UP + ('1 B gets 1 10; 3 A request 1; 4 A query 1; 4 A row 1 B held token 10; '
                   '4 A row 1 A pending position 1; 5 A rows 1; ')

# What follows at intervals of a millisecond.
PHRASES = {'gets': ('request', 'enter'), 'gives': ('leave', 'release'), 'takes': ('enter', 'leave', 'release'),
           'restart': ('service-kill', 'service-dead', 'service-ready')}
# The fields that follow the kind.
FIELDS = {
    'enter': 'request token', 'fence': 'request outcome detail', 'row': 'request subject',
    'fault': 'request subject', 'barrier': 'since', 'bus': 'detail', 'left': 'name detail token',
    'exit': '', 'service-kill': '', 'service-dead': '', 'service-ready': '', 'storm-end': '',
    **dict.fromkeys(('kill', 'reaped', 'stop', 'continue', 'unsettled'), 'subject'),
}
FLAGS = {'if': FLAG_IF_AVAILABLE, 'steal': FLAG_STEAL, 'held': FLAG_HELD, 'loses': FLAG_KILL}
FAULTS = {'partition': Fault.PARTITION, 'killed': Fault.KILL, 'stopped': Fault.STOP_SERVICE,
          'cut-off': Fault.CUT_OFF}
PAIRS = {'timeout': 'detail', 'token': 'token', 'position': 'position', 'lock': 'name', 'host': 'subject'}

# The name, the violated checks, the history.
CASES = [
    # exclusion
    ('exclusion/one-after-the-other', '', UP + '1 A gets 1 10; 3 A gives 1; 1 B request 1; 5 B takes 1 11'),
    ('exclusion/two-inside', 'exclusion',
     UP + '1 A gets 1 10; 5 A leave 1; 1 B request 1; 4 B enter 1 11; 6 B leave 1; 7 A release 1; '
     '7 B release 1'),
    ('exclusion/long-one-below-short-one', 'exclusion',
     UP + '1 A gets 1 10 shared; 90 A gives 1; 1 B request 1 shared; 3 B takes 1 11; 1 C request 1; '
     '50 C takes 1 12'),
    ('exclusion/by-the-answer', 'exclusion',
     UP + '1 A gets 1 10; 1 B request 1; 3 A query 1; 3 A row 1 A held token 10; 3 A row 1 B held token 11; '
     '4 A rows 1; 5 A gives 1; 7 B takes 1 11'),

    # steals
    ('steal/no-answer-yet', '',
     UP + '1 A gets 1 10; 9 A leave 1; 9 A release 1 stolen; 3 B request 1 steal; 4 C request 1; 5 S kill B; '
     '6 C takes 1 12'),
    ('steal/lost-before-it', 'not-lost answered',
     UP + '1 A gets 1 10; 3 A lost 1 stolen; 4 A leave 1; 5 A release 1 stolen; 5 B gets 1 11 steal; '
     '7 B gives 1'),
    ('steal/granted-stolen-and-asked-anew', '',
     A_BEHIND_B + '6 B gives 1; 8 C query 1; 8 C row 1 A held token 11; 9 C rows 1; 9 S service-kill; '
     '9 S service-dead; 9 S service-ready; 10 D gets 1 12 steal; 12 C request 1; 13 D gives 1; '
     '15 C takes 1 13; 18 A takes 1 14'),
    ('steal/granted-stolen-asked-anew-and-timed-out', '',
     UP + '1 B gets 1 10; 3 A request 1 timeout 50; 4 B gives 1; 6 C query 1; 6 C row 1 A held token 11; '
     '7 C rows 1; 8 D gets 1 12 steal; 10 S service-kill; 10 S service-dead; 10 S service-ready; '
     '60 A end 1 timeout; 61 D gives 1'),
    ('steal/granted-unnoticed-and-stolen', '',
     UP + '1 B gets 1 10; 3 A request 1; 4 B gives 1; 6 C query 1; 6 C row 1 A held token 11; 7 C rows 1; '
     '8 S service-kill; 8 S service-dead; 8 S service-ready; 9 D gets 1 12 steal; 11 A end 1 stolen; '
     '12 D gives 1'),
    ('steal/notified-while-pending', 'answered', UP + '1 A request 1; 2 A end 1 stolen'),

    # tokens
    ('tokens/same-twice', 'tokens', UP + '1 A gets 1 10; 3 A gives 1; 1 B request 1; 5 B takes 1 10'),
    ('tokens/smaller', 'tokens', UP + '1 A gets 1 10; 3 A gives 1; 1 B request 1; 5 B takes 1 9'),
    ('tokens/smaller-after-the-service', 'tokens fifo',
     UP + '1 A gets 1 10; 3 A gives 1; 5 S restart; 8 B gets 1 1; 10 B gives 1'),
    ('tokens/shared-in-any-order', '',
     UP + '1 A gets 1 11 shared; 5 A gives 1; 1 B request 1 shared; 3 B enter 1 10; 6 B gives 1'),

    # fifo
    ('fifo/in-turn', '', A_BEHIND_B + '6 C request 1; 7 B gives 1; 9 A takes 1 11; 12 C takes 1 12'),
    ('fifo/overtaken', 'fifo', A_BEHIND_B + '6 C request 1; 7 B gives 1; 9 C takes 1 11; 12 A takes 1 12'),
    ('fifo/overtaken-and-killed', 'fifo',
     A_BEHIND_B + '6 C request 1; 7 B gives 1; 9 C takes 1 11; 12 S kill A; 13 S reaped A'),
    ('fifo/killed-in-time', '',
     A_BEHIND_B + '6 C request 1; 7 B leave 1; 7 S kill A; 8 B release 1; 9 C takes 1 11; 12 S reaped A'),
    ('fifo/may-have-timed-out', '',
     UP + '1 B gets 1 10; 3 A request 1 timeout 20; 4 A query 1; 4 A row 1 B held token 10; '
     '4 A row 1 A pending position 1; 5 A rows 1; 6 C request 1; 24 B gives 1; 26 C takes 1 11; '
     '29 A end 1 timeout'),
    ('fifo/timed-out-before-a-late-kill', '',
     UP + '1 B gets 1 10; 3 S service-kill; 4 A request 1 timeout 20; 5 A query 1; 5 A row 1 B held token 10; '
     '5 A row 1 A pending position 1; 6 A rows 1; 8 C request 1; 25 S service-dead; 25 S service-ready; '
     '28 D query 1; 28 D row 1 B held token 10; 28 D row 1 C pending position 1; '
     '28 D row 1 A pending position 2; 29 D rows 1; 30 A end 1 timeout; 31 B gives 1; 33 C takes 1 11'),
    ('fifo/stolen-goes-first', '',
     A_BEHIND_B + '6 C gets 1 11 steal; 8 B lost 1 stolen; 9 C gives 1; 11 A takes 1 12'),
    ('fifo/shared-past-exclusive', 'fifo',
     UP + '1 B gets 1 10 shared; 3 A request 1; 4 A query 1; 4 A row 1 B held shared token 10; '
     '4 A row 1 A pending position 1; 5 A rows 1; 6 C gets 1 11 shared; 8 C gives 1; 10 B leave 1; '
     '10 B release 1; 11 A takes 1 12'),
    ('fifo/by-the-answer', 'fifo',
     A_BEHIND_B + '6 C request 1; 7 B query 2; 7 B row 2 B held token 10; 7 B row 2 C pending position 1; '
     '7 B row 2 A pending position 2; 8 B rows 2; 9 B leave 1; 9 B release 1; 10 A abort 1; '
     '10 A end 1 cancelled; 11 C takes 1 11'),

    # once
    ('once/shown-twice', 'once',
     A_BEHIND_B + '6 C query 1; 6 C row 1 B held token 10; 6 C row 1 A pending position 1; '
     '6 C row 1 A pending position 2; 7 C rows 1; 8 B gives 1; 10 A takes 1 11'),
    ('once/aborted-and-asked-again', '',
     A_BEHIND_B + '6 A abort 1; 6 A end 1 cancelled; 7 A request 2; 8 C query 1; 8 C row 1 B held token 10; '
     '8 C row 1 A pending position 1; 8 C row 1 A pending position 2; 9 C rows 1; 10 B gives 1; '
     '12 A takes 2 11'),
    ('once/granted-after-the-end', 'once',
     UP + '1 A request 1; 2 A abort 1; 3 A end 1 cancelled; 4 A takes 1 10'),

    # not lost
    ('not-lost/not-shown', 'not-lost', UP + '1 A gets 1 10; 3 S restart; 6 S query 1; 7 S rows 1; 8 A gives 1'),
    ('not-lost/shown-with-another-token', 'not-lost not-risen',
     UP + '1 A gets 1 10; 3 B query 1; 3 B row 1 A held token 12; 4 B rows 1; 5 A gives 1'),
    ('not-lost/waiting-is-not-shown', 'not-lost',
     A_BEHIND_B + '6 C query 1; 6 C row 1 B held token 10; 7 C rows 1; 8 B gives 1; 10 A takes 1 11'),
    ('not-lost/left-meanwhile', '', UP + '1 A gets 1 10; 3 B query 1; 4 A leave 1; 5 B rows 1; 6 A release 1'),

    # not risen
    ('not-risen/held-again', 'not-risen',
     UP + '1 A gets 1 10; 3 A gives 1; 5 S restart; 8 B query 1; 8 B row 1 A held token 10; 9 B rows 1'),
    ('not-risen/timed-out-and-waits', 'not-risen',
     A_BEHIND_B + '6 C request 1 timeout 10; 17 C end 1 timeout; 18 A query 2; 18 A row 2 B held token 10; '
     '18 A row 2 A pending position 1; 18 A row 2 C pending position 2; 19 A rows 2; 20 B gives 1; '
     '22 A takes 1 11'),
    ('not-risen/timed-out-and-was-held', 'not-risen',
     UP + '1 B gets 1 10; 3 A request 1 timeout 50; 4 B gives 1; 6 C query 1; 6 C row 1 A held token 11; '
     '7 C rows 1; 10 S service-kill; 10 S service-dead; 10 S service-ready; 60 A end 1 timeout'),
    ('not-risen/timed-out-by-itself-and-was-held', '',
     UP + '1 B gets 1 10; 3 A request 1 timeout 50; 4 B gives 1; 6 C query 1; 6 C row 1 A held token 11; '
     '7 C rows 1; 10 S service-kill; 10 S service-dead; 310 A end 1 timeout; 320 S service-ready; '
     '321 C query 2; 321 C row 2 A held token 11; 322 C rows 2'),
    ('not-risen/timed-out-by-itself-and-was-not-notified', 'progress',
     UP + '1 B gets 1 10; 3 A request 1 timeout 1500; 4 B gives 1; 6 C query 1; 6 C row 1 A held token 11; '
     '7 C rows 1; 1760 A end 1 timeout'),
    ('not-risen/aborted-long-ago', 'not-risen',
     A_BEHIND_B + '6 A abort 1; 6 A end 1 cancelled; 1107 C query 1; 1107 C row 1 B held token 10; '
     '1107 C row 1 A pending position 1; 1108 C rows 1; 1109 B gives 1'),

    # no ghost
    ('no-ghost/dead', 'no-ghost',
     UP + '1 A gets 1 10; 3 S kill A; 4 S reaped A; 6 S barrier 5; 7 B query 1; 7 B row 1 A held token 10; '
     '8 B rows 1'),
    ('no-ghost/left', 'no-ghost', UP + '9 S left 2 14 13'),
    ('no-ghost/nothing-left', '', UP + '9 S left 0 0 0; 9 S left 2 13 13'),

    # progress
    ('progress/free-and-awaited', 'progress',
     A_BEHIND_B + '6 B gives 1; 1100 C query 1; 1100 C row 1 A held token 11; 1101 C rows 1; 1200 A takes 1 11'),
    ('progress/held-for-long', '', A_BEHIND_B + '2006 B gives 1; 2100 A takes 1 11'),
    ('progress/stopped', '', A_BEHIND_B + '6 B gives 1; 8 S stop A; 2000 S continue A; 2100 A takes 1 11'),
    ('progress/killed-inside', 'progress', A_BEHIND_B + '6 S kill B; 7 S reaped B; 2100 A takes 1 11'),
    ('progress/free-by-the-answer', 'progress',
     A_BEHIND_B + '6 B gives 1; 8 C query 1; 8 C row 1 A pending position 1; 9 C rows 1; 10 A takes 1 11'),
    ('progress/shared-by-the-answer', 'progress',
     UP + '1 B gets 1 10 shared; 3 A request 1 shared; 4 A query 1; 4 A row 1 B held shared token 10; '
     '4 A row 1 A pending shared position 1; 5 A rows 1; 6 A takes 1 11; 9 B gives 1'),
    ('progress/never-quiet', 'progress', UP + '5 S unsettled A'),

    # answers
    ('answered/release', 'answered', UP + '1 A gets 1 10; 3 A leave 1; 1100 A query 1; 1101 A rows 1'),
    ('answered/service-is-just-back', '',
     '1 S service-ready; 4 S restart; 7 A request 1; 8 A end 1 unreachable'),
    ('answered/service-is-there', 'answered',
     '1 S service-ready; 4 S restart; 1100 A request 1; 1101 A end 1 unreachable'),
    ('answered/query-failed', 'answered', UP + '6 A query 1; 7 A rows 1 failed'),
    ('answered/if-available', '', UP + '1 A request 1 if; 2 A end 1 unavailable'),
    ('answered/if-available-late', 'answered', UP + '1 A request 1 if; 1100 A end 1 unavailable'),
    ('answered/not-available-though-not-asked', 'answered', UP + '1 A request 1; 2 A end 1 unavailable'),
    ('answered/timed-out', '', UP + '1 A request 1 timeout 50; 51 A end 1 timeout'),
    ('answered/timed-out-early', 'answered', UP + '1 A request 1 timeout 50; 48 A end 1 timeout'),
    ('answered/timed-out-late', 'answered',
     UP + '1 B gets 1 10; 1 A request 1 timeout 50; 1100 A end 1 timeout; 1101 B gives 1'),
    ('answered/timed-out-without-service', '',
     UP + '1 B gets 1 10; 1 A request 1 timeout 50; 3 S service-kill; 4 S service-dead; 800 S service-ready; '
     '1100 A end 1 timeout; 1101 B gives 1'),

    # isolation
    ('isolation/nobody', 'isolation',
     UP + '1 A gets 1 10; 3 A gives 1; 5 A query 1; 5 A row 1 Z held token 3; 6 A rows 1'),
    ('isolation/other-principal', 'isolation',
     UP + '1 A gets 1 10; 3 A gives 1; 1 E gets 1 3; 5 A query 1; 5 A row 1 E held token 3; 6 A rows 1; '
     '7 E gives 1'),
    ('isolation/never-asked', 'isolation',
     UP + '1 A gets 1 10; 3 A gives 1; 5 A query 1; 5 A row 1 C held token 3; 6 A rows 1'),
    ('isolation/name-of-nobody', 'isolation', UP + '5 A query 1; 5 A row 1 A held token 3; 6 A rows 1'),

    # the resource, the kernel
    ('fence/refused-inside', 'fence', UP + '1 A gets 1 10; 3 A fence 1 refused 12; 4 A gives 1'),
    ('fence/refused-after-a-steal', '',
     UP + '1 A gets 1 10; 3 B gets 1 12 steal; 5 B fence 1 ok 10; 6 A fence 1 refused 12; 7 A lost 1 stolen; '
     '8 B gives 1'),
    ('fence/shared', '', UP + '1 A gets 1 10 shared; 3 A fence 1 refused 12; 4 A gives 1'),
    ('oracle/refused', 'oracle', UP + '1 A gets 1 10; 3 A oracle 1 refused; 4 A gives 1'),
    ('oracle/refused-by-the-dying', '',
     UP + '1 B gets 1 9; 3 S kill B; 1 A request 1; 4 A enter 1 10; 5 A oracle 1 refused; 6 A gives 1; '
     '8 S reaped B'),
    ('oracle/refused-by-the-dead', 'oracle',
     UP + '1 B gets 1 9; 3 S kill B; 4 S reaped B; 1 A request 1; 34 A enter 1 10; 35 A oracle 1 refused; '
     '36 A gives 1'),

    # the dead
    ('final-steal/had-none', 'final-steal',
     UP + '1 B request 2 lock 1; 1 B enter 2 9 lock 1; 1 A gets 1 10; 3 B request 1 steal; 4 B sent 1; '
     '5 B exit; 6 S reaped B; 8 S barrier 7; 9 C query 1; 9 C row 1 A held token 10; 10 C rows 1; 12 A gives 1'),
    ('final-steal/without-a-socket', '',
     UP + '1 B request 2 lock 1; 1 B enter 2 9 lock 1; 1 A gets 1 10; 2 S service-kill; 2 S service-dead; '
     '2 S service-ready; 3 B request 1 steal; 4 B sent 1; 5 B exit; 6 S reaped B; 8 S barrier 7; 9 C query 1; '
     '9 C row 1 A held token 10; 10 C rows 1; 12 A gives 1'),
    ('final-steal/perhaps-never-sent', '',
     UP + '1 A gets 1 10; 3 B request 1 steal; 5 B exit; 6 S reaped B; 8 S barrier 7; 9 C query 1; '
     '9 C row 1 A held token 10; 10 C rows 1; 12 A gives 1'),

    # the service, the bus
    ('alive/crashed', 'alive', UP + '1 S restart; 4 S service-dead'),
    ('bus/new-one-knows-the-old', 'isolation',
     UP + '1 A gets 1 10; 3 S kill A; 3 S service-kill; 4 S service-dead; 4 S reaped A; 5 S bus 1; '
     '6 S service-ready; 7 S query 1; 7 S row 1 A held token 10; 8 S rows 1'),

    # several hosts
    ('cluster/lost-while-the-service-is-stopped', '',
     CLUSTER + '1 A gets 1 10; 3 S fault 1 1 loses stopped; 1 C request 1; 5 C enter 1 11; '
     '6 C oracle 1 refused; 7 C gives 1; 9 S fault-end 1; 10 A lost 1 gone'),
    ('cluster/lost-while-the-service-of-another-host-is-stopped', 'exclusion',
     CLUSTER + '1 A gets 1 10; 3 S fault 1 2 loses stopped; 4 S fault 2 1 loses; 1 C request 1; '
     '5 C enter 1 11; 7 C gives 1; 9 S fault-end 2; 10 A lost 1 gone'),
    ('cluster/lost-long-after', 'not-lost',
     CLUSTER + '1 A gets 1 10; 3 S fault 1 0 loses; 4 S fault-end 1; 40000 A lost 1 gone'),
    ('cluster/lost-long-before-the-grant', '', A_CUT_OFF + '7000 C takes 1 11; 7003 S fault-end 2'),
    ('cluster/lost-just-before-a-grant-by-the-host-itself', '',
     A_CUT_OFF + '5001 S fault-end 2; 5002 C enter 1 11; 7001 C gives 1'),
    ('cluster/lost-just-before-the-grant-to-the-same-host', '',
     A_CUT_OFF + '5001 B gets 1 11; 5003 B gives 1; 7004 C takes 1 12; 7007 S fault-end 2'),
    ('cluster/lost-when-the-service-had-been-killed', '',
     A_CUT_OFF + '4000 S fault 3 1 killed; 4000 S service-kill host 1; 4001 S fault-end 3; 6999 C enter 1 11; '
     '7001 C gives 1; 7003 S fault-end 2'),
    ('cluster/lost-long-after-the-service-had-been-killed', 'margin',
     A_CUT_OFF + '2000 S fault 3 1 killed; 2000 S service-kill host 1; 2001 S fault-end 3; 6999 C enter 1 11; '
     '7001 C gives 1; 7003 S fault-end 2'),
    ('cluster/lost-by-a-fault-that-loses-nothing', 'not-lost',
     CLUSTER + '1 A gets 1 10; 3 S fault 1 1; 5 A lost 1 gone'),
    ('cluster/lost-by-a-fault-of-another-host', 'not-lost',
     CLUSTER + '1 A gets 1 10; 3 S fault 1 2 loses; 5 A lost 1 gone'),
    ('cluster/waits-without-a-fault', 'progress',
     CLUSTER + '1 A gets 1 10; 3 C request 1; 10 A gives 1; 1102 C enter 1 11'),
    ('cluster/stolen-some-time-before', '',
     CLUSTER + '1 C gets 1 20 steal; 3 A gets 1 10; 5 A lost 1 stolen; 6 C gives 1'),
    ('cluster/stolen-with-a-higher-token', 'exclusion',
     CLUSTER + '1 C gets 1 20 steal; 3 A gets 1 30; 5 A gives 1; 7 C gives 1'),
    ('cluster/failed', 'answered', CLUSTER + '1 A request 1; 2 A end 1 failed'),
]


def value_of(field, word):
    if field == 'outcome':
        return Outcome[word.upper()]
    return ord(word) - ord('A') + 1 if word.isalpha() else int(word)


def read_phrase(text):
    """The records of a phrase, or the record itself."""
    time, writer, phrase, *words = text.split()
    if phrase not in PHRASES:
        yield read_record(time, writer, phrase, words)
        return
    for later, kind in enumerate(PHRASES[phrase]):
        # The token is that of `enter`, options are those of `request`.
        own = words[:2] if kind == 'enter' else words[:1] + words[2:]
        yield read_record(int(time) + later, writer, kind, own)


def read_record(time, writer, kind, words):
    fields = dict.fromkeys(Record._fields, 0)
    fields.update(time=(int(time) + START) * MS, client=WRITERS.index(writer),
                  kind=Kind[kind.upper().replace('-', '_')])
    if kind == 'query':
        fields.update(detail=1, subject=PRINCIPAL)  # the principal as which the supervisor queries
    for field in FIELDS.get(kind, 'request').split():
        value = value_of(field, words.pop(0))
        fields.update({'detail': (value + START) * MS} if field == 'since' else {field: value})
    while words:
        word = words.pop(0)
        if word in FLAGS:
            fields['flags'] |= FLAGS[word]
        elif word in FAULTS:
            fields['name'] = FAULTS[word]
        elif word in PAIRS and words:
            fields[PAIRS[word]] = int(words.pop(0))
        elif word == 'shared':
            fields['mode'] = 1
        elif word != 'pending':
            fields['outcome'] = Outcome[word.upper()]
    return Record(**fields)


def judge(text, late=None):
    """The checker's opinion with a patience of one second."""
    is_cluster = text.startswith('cluster; ')
    records = [record for line in text.removeprefix('cluster; ').split('; ') for record in read_phrase(line)]
    logs = []
    for number in range(len(WRITERS)):
        header = Header(magic=MAGIC, client=number, principal=PRINCIPAL + (number >= 5),
                        bus=(number + 1) // 2 if is_cluster else 0, pid=0, unique=number, has_unique=1, seed=0)
        logs.append((header, [record for record in records if record.client == number]))
    return Checker(Story(logs, 1000 * MS, is_cluster=is_cluster, late=late))


class Cases(unittest.TestCase):
    """Histories written by hand."""

    def check(self, found, text):
        checker = judge(text)
        self.assertEqual(sorted(found.split()), sorted(checker.violations), str(checker))

    def check_power(self, text, **expected):
        checker = judge(text)
        self.assertEqual({}, checker.violations)
        self.assertEqual(expected, {name: checker.power[name] for name in expected})

    def test_power(self):
        """Events are counted, and missing ones make a storm void."""
        self.check_power(
            UP + '1 A request 1; 2 A enter 1 10; 3 B request 1; 3 C query 1; 4 S service-kill; 5 S service-dead; '
            '6 S service-ready; 7 C row 1 A held token 10; 7 C row 1 B pending position 1; 8 C rows 1; '
            '9 A leave 1; 10 A release 1; 11 B enter 1 11; 12 S kill B; 13 S reaped B; 14 C request 1; '
            '15 S stop C; 16 S continue C; 17 S service-kill; 18 S service-dead; 19 S service-ready; '
            '20 C enter 1 12; 21 C leave 1; 22 S kill C',
            n_requests=3, n_grants=3, n_queries=1, service_kills=2, service_kills_with_held=1,
            service_kills_with_waiting=2, service_kills_unanswered=1, held_over_kills=1, granted_after_kills=2,
            client_kills=2, client_kills_inside=1, client_kills_waiting=0, client_kills_unanswered=1, stops=1)

    def test_power_of_cluster(self):
        """A kill of a host's service concerns the clients of that host."""
        self.check_power(
            CLUSTER + '1 A request 1; 2 A enter 1 10; 3 C request 1; 4 S fault 1 1 killed; '
            '4 S service-kill host 1; 5 S fault-end 1; 6 S fault 2 2 partition; 7 S fault-end 2; '
            '8 S fault 3 0 loses; 9 S fault-end 3; 10 A leave 1; 11 A release 1; 12 C enter 1 11; '
            '13 C leave 1; 14 C release 1',
            service_kills=1, service_kills_with_held=1, service_kills_with_waiting=0, held_over_kills=1,
            granted_after_kills=0, faults=2, partitions=1, kills=1, hand_overs=1)

    def test_late(self):
        """A machine that runs processes late by so much when a lock is lost."""
        text = A_CUT_OFF + '6950 C enter 1 11; 7001 C leave 1; 7002 C release 1; 7003 S fault-end 2'
        self.assertEqual({}, judge(text, lambda begin, end: 0.1).violations)
        self.assertEqual({'margin'}, set(judge(text, lambda begin, end: 0.1 if begin > 6 else 0.0).violations))

    def test_void(self):
        checker = Checker(Story([], 1))
        self.assertEqual(('pass', []), checker.judge({}))
        self.assertEqual(('void', ['service kills: 0, and at least 1 are needed']),
                         checker.judge({'service_kills': 1}))


def add_cases():
    """A test for each, by its name."""
    for name, found, text in CASES:
        def test(self, found=found, text=text):
            self.check(found, text)
        setattr(Cases, 'test_' + name.replace('/', '_').replace('-', '_'), test)


add_cases()
