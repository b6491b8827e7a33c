/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The protocol of cells (common/lock-cell.h): one lock name, the service, two clients with one handle
 * each. README.md beside this file says what is modelled, what is left out and why that loses nothing.
 *
 * A step is an `atomic` block. It has at most one action that another process or the next instance of
 * the service can see: one instruction on a cell, one commit, one packet. Before each step of the
 * service it may be killed (CRASHES times), and before each step of client 0 that client may be (KILL).
 *
 * Checked are: no two holders; tokens that grow for the name and are unique in the bucket; that the
 * holder in the service's tables is one in fact, or has released (`truth`); a cell is only open while
 * nobody waits; and that every client that isn't killed ends (no invalid end states). */

#ifndef OPS
#define OPS 2 /* enters and leaves of each client */
#endif
#ifndef CRASHES
#define CRASHES 1 /* of the service */
#endif
#ifndef QUERIES
#define QUERIES 1
#endif
#ifndef OTHERS
#define OTHERS 0 /* grants of another name in the bucket */
#endif
#ifndef KILL
#define KILL 1 /* whether client 0 may be killed */
#endif
#ifndef RANGE
#define RANGE 2 /* tokens of an open cell */
#endif
#ifndef BATCH
#define BATCH 1 /* calls in a turn of the service */
#endif

#define NOBODY 2

mtype = {REQUEST, STEAL, RELEASE, LIVE, GRANTED, WAITS, GRANTED_LATER};

/* The shared page: the three parts of the word, and what the service writes beside it. */
typedef Cell {
    bool open;
    bool held;
    byte token;
    byte key;
    byte last
};
Cell cell[2];

/* The stored state. */
typedef Lock {
    byte holder;
    byte token;
    byte last; /* of the range that is reserved for the cell */
    byte key;
    bool has_cell;
    byte waiting; /* NOBODY or the client that waits */
    byte waiting_key;
    byte counter /* of the bucket's tokens */
};
Lock stored, core;

/* What the service knows beside that, until it is killed. */
bool is_open;       /* the cell of the holder has been opened */
bool connected[2];  /* by a lock socket of this instance */
byte n_calls;       /* in this turn */
byte out_to[BATCH], out_key[BATCH], out_token[BATCH], n_out;
mtype out_type[BATCH];
bool fresh;         /* the holder is new in this turn */
bool robbed[2];     /* in this turn, of its lock */
byte other_token;   /* of another name's grant in this turn */

chan calls[2] = [4] of {mtype, byte};
chan answers[2] = [4] of {mtype, byte, byte}; /* key, token */
bool cut[2];                           /* the client's socket has ended, and it has not connected again */
bool alive[2], finished[2];
byte n_crashes, n_queries, n_others;

/* What is so, whatever the processes know. */
bool holds[2];
bool releasing[2]; /* it has sent RELEASE, and that isn't committed */
byte greatest;     /* token of a grant of the name */
int used;          /* the tokens of the bucket */

#ifdef M_PAGE_REMOVED_BEFORE_COMMIT
bool removed[2];
#endif
#ifdef M_CLOSE_NOT_ATOMIC
bool paused;
active proctype Pause()
{
end_pause:
    do
    :: atomic { paused -> paused = false }
    od
}
#endif

inline granted(who, token_)
{
    assert(!holds[1 - (who)]);
    assert(token_ > greatest);
    assert(!(used & (1 << token_)));
    used = used | (1 << token_);
    greatest = token_;
    holds[who] = true
}

inline truth()
{
    assert(core.holder < NOBODY || ((!holds[0] || robbed[0]) && (!holds[1] || robbed[1])));
    assert(core.holder == NOBODY || !alive[core.holder] || holds[core.holder] || releasing[core.holder] ||
           fresh);
    assert(!is_open || core.waiting == NOBODY)
}

inline copy(to, from)
{
    to.holder = from.holder;
    to.token = from.token;
    to.last = from.last;
    to.key = from.key;
    to.has_cell = from.has_cell;
    to.waiting = from.waiting;
    to.waiting_key = from.waiting_key;
    to.counter = from.counter
}

inline nobody_holds()
{
    core.holder = NOBODY;
    core.token = 0;
    core.last = 0;
    core.key = 0;
    core.has_cell = false;
    is_open = false;
    fresh = false
}

inline nobody_waits()
{
    core.waiting = NOBODY;
    core.waiting_key = 0
}

inline make_call(type_, key_, wanted_)
{
    if
    :: cut[me] ->
        cut[me] = false;
        calls[me] ! LIVE(wanted_)
    :: else
    fi;
    calls[me] ! type_(key_)
}

/* ---- the service */

inline die()
{
    n_crashes++;
    cut[0] = true;
    cut[1] = true;
    connected[0] = false;
    connected[1] = false;
    do
    :: nempty(calls[0]) -> calls[0] ? kind(key)
    :: nempty(calls[1]) -> calls[1] ? kind(key)
    :: empty(calls[0]) && empty(calls[1]) -> break
    od;
    nobody_holds();
    nobody_waits();
    core.counter = 0;
    n_calls = 0;
    do
    :: n_out > 0 ->
        n_out--;
        out_type[n_out] = 0;
        out_to[n_out] = 0;
        out_key[n_out] = 0;
        out_token[n_out] = 0
    :: else -> break
    od;
    robbed[0] = false;
    robbed[1] = false;
    other_token = 0;
    forget()
}

inline forget()
{
    kind = 0;
    key = 0;
    who = 0;
    was_held = false;
    token = 0
}

#define OR_KILLED :: atomic { n_crashes < CRASHES -> die(); goto start }

/* The cell becomes an ordinary lock, or the request ends: the instruction on the word decides. */
inline close_cell()
{
    if
    :: core.has_cell && is_open ->
        was_held = cell[core.holder].held;
        token = cell[core.holder].token;
#ifdef M_CLOSE_NOT_ATOMIC
        paused = true;
        !paused; /* others may run here */
#endif
        cell[core.holder].open = false;
#ifndef M_NO_CLAMP
        if
        :: token > core.last -> token = core.last
        :: else
        fi;
#endif
#ifdef M_TOKENS_ALWAYS_RETURN
        core.counter = token;
#else
        if
        :: core.counter == core.last -> core.counter = token
        :: else
        fi;
#endif
        core.token = token;
        core.has_cell = false;
        core.last = 0;
        is_open = false;
        if
        :: !was_held -> nobody_holds()
        :: else
        fi;
        was_held = false;
        token = 0
    :: core.has_cell && !is_open -> /* granted in this turn */
        if
        :: core.counter == core.last -> core.counter = core.token
        :: else
        fi;
        core.has_cell = false;
        core.last = 0
    :: else
    fi
}

inline answer(type_, to_, key_, token_)
{
    out_type[n_out] = type_;
    out_to[n_out] = to_;
    out_key[n_out] = key_;
    out_token[n_out] = token_;
    n_out++
}

inline give(type_, to, key_, with_cell)
{
    core.counter++;
    core.holder = to;
    core.key = key_;
    core.token = core.counter;
    core.has_cell = with_cell;
    is_open = false;
    core.last = 0;
    if
    :: with_cell ->
        core.counter = core.counter + RANGE - 1;
        core.last = core.counter
    :: else
    fi;
    fresh = true;
    answer(type_, to, key_, core.token)
}

inline grant_to_waiting()
{
    if
    :: core.holder == NOBODY && core.waiting != NOBODY ->
        who = core.waiting;
        key = core.waiting_key;
        nobody_waits();
        give(GRANTED_LATER, who, key, false)
    :: else
    fi
}

inline request()
{
    if
    :: core.holder == who && core.key == key -> answer(GRANTED, who, key, core.token) /* sent again */
    :: core.waiting == who && core.waiting_key == key -> answer(WAITS, who, key, 0)
    :: else ->
#if defined(M_REQUEST_DOES_NOT_CLOSE)
        if
        :: kind == STEAL -> close_cell()
        :: else
        fi;
#elif defined(M_STEAL_DOES_NOT_CLOSE)
        if
        :: kind == STEAL -> core.has_cell = false; is_open = false
        :: else -> close_cell()
        fi;
#else
        close_cell();
        truth();
#endif
        if
        :: core.holder < NOBODY && kind == STEAL ->
            robbed[core.holder] = true;
            nobody_holds()
        :: else
        fi;
        if
        :: core.holder == NOBODY && (core.waiting == NOBODY || kind == STEAL) ->
            give(GRANTED, who, key, core.waiting == NOBODY)
        :: else ->
            assert(core.waiting == NOBODY);
            core.waiting = who;
            core.waiting_key = key;
            answer(WAITS, who, key, 0)
        fi
    fi
}

inline serve()
{
    n_calls++;
    if
    :: kind == RELEASE ->
        if
        :: core.holder == who && core.key == key ->
            close_cell();
            nobody_holds()
        :: else
        fi;
        if
        :: core.waiting == who -> nobody_waits()
        :: else
        fi;
        out_releases[who] = true
    :: kind == LIVE -> /* the new socket begins; what the client doesn't want, it releases */
        connected[who] = true;
#ifdef M_PAGE_REMOVED_BEFORE_COMMIT
        removed[who] = false;
#endif
        if
        :: core.holder == who && core.key != key ->
            close_cell();
            nobody_holds()
        :: else
        fi;
        if
        :: core.waiting == who && core.waiting_key != key -> nobody_waits()
        :: else
        fi;
        out_releases[who] = true
    :: else -> request()
    fi;
    grant_to_waiting();
    forget()
}

inline commit()
{
    copy(stored, core);
    if
    :: other_token > 0 ->
        assert(!(used & (1 << other_token)));
        used = used | (1 << other_token);
        other_token = 0
    :: else
    fi;
    if
    :: robbed[0] -> holds[0] = false
    :: else
    fi;
    if
    :: robbed[1] -> holds[1] = false
    :: else
    fi;
    if
    :: fresh -> granted(core.holder, core.token)
    :: else
    fi;
    if
    :: out_releases[0] -> releasing[0] = false
    :: else
    fi;
    if
    :: out_releases[1] -> releasing[1] = false
    :: else
    fi;
    fresh = false;
    robbed[0] = false;
    robbed[1] = false;
    n_calls = 0;
    out_releases[0] = false;
    out_releases[1] = false
}

/* The file has the record, and the page was closed. */
inline restore()
{
    copy(core, stored);
    if
#if defined(M_KEY_NOT_COMPARED)
    :: core.has_cell ->
#elif defined(M_PAGE_REMOVED_BEFORE_COMMIT)
    :: core.has_cell && !removed[core.holder] && cell[core.holder].key == core.key ->
#else
    :: core.has_cell && cell[core.holder].key == core.key ->
#endif
        token = cell[core.holder].token;
        core.has_cell = false;
        if
        :: token > core.last -> token = core.last
        :: else
        fi;
        if
        :: !cell[core.holder].held ->
            /* With a smaller token it is the word of the range before, since the service was killed
             * between the stores: the client was not told. */
            if
            :: token < core.token -> holds[core.holder] = false
            :: else
            fi;
            nobody_holds()
        :: else ->
            if
            :: token > core.token -> core.token = token
            :: else
            fi;
            core.last = 0
        fi;
        token = 0
    :: else ->
        core.has_cell = false; /* committed, but not opened: an ordinary lock */
        core.last = 0
    fi;
    truth();
    if
    :: core.holder == NOBODY && core.waiting != NOBODY ->
        core.holder = core.waiting;
        core.key = core.waiting_key;
        nobody_waits();
        core.counter++;
        core.token = core.counter;
        fresh = true
    :: else
    fi;
    out_releases[0] = false;
    out_releases[1] = false;
#ifndef M_PAGE_REMOVED_BEFORE_COMMIT
    commit()
#endif
}

inline open_cell_word()
{
    if
    :: core.has_cell && !is_open ->
        cell[core.holder].token = core.token;
        cell[core.holder].held = true;
        cell[core.holder].open = true;
        is_open = true
    :: else
    fi
}

inline send_first()
{
    if
    :: connected[out_to[0]] && !finished[out_to[0]] && alive[out_to[0]] ->
        answers[out_to[0]] ! out_type[0], out_key[0], out_token[0]
    :: else
    fi;
    n_out--;
#if BATCH > 1
    out_type[0] = out_type[1];
    out_to[0] = out_to[1];
    out_key[0] = out_key[1];
    out_token[0] = out_token[1];
    out_type[1] = 0;
    out_to[1] = 0;
    out_key[1] = 0;
    out_token[1] = 0
#else
    out_type[0] = 0;
    out_to[0] = 0;
    out_key[0] = 0;
    out_token[0] = 0
#endif
}

active proctype Service()
{
    mtype kind;
    byte key, who, token;
    bool was_held;
    bool out_releases[2];

    atomic {
        core.holder = NOBODY;
        core.waiting = NOBODY;
        copy(stored, core);
        connected[0] = true;
        connected[1] = true;
        alive[0] = true;
        alive[1] = true;
        run Client(0);
        run Client(1);
        goto idle
    }

start:
#if !defined(M_RESTART_DOES_NOT_CLOSE) && !defined(M_RESTART_CLOSES_LATE)
    if
    :: atomic { cell[0].open = false }
    OR_KILLED
    fi;
    if
    :: atomic { cell[1].open = false }
    OR_KILLED
    fi;
#endif
    if
    :: atomic { restore() }
    OR_KILLED
    fi;
#ifdef M_PAGE_REMOVED_BEFORE_COMMIT
    if
    :: atomic { removed[0] = true; removed[1] = true }
    OR_KILLED
    fi;
    if
    :: atomic { commit() }
    OR_KILLED
    fi;
#endif
#ifdef M_RESTART_CLOSES_LATE
    if
    :: atomic { cell[0].open = false; cell[1].open = false }
    OR_KILLED
    fi;
#endif

idle:
end_idle:
    if
    :: atomic { n_calls < BATCH && calls[0] ? [kind, key] -> calls[0] ? kind(key); who = 0; serve() }
    :: atomic { n_calls < BATCH && calls[1] ? [kind, key] -> calls[1] ? kind(key); who = 1; serve() }
    :: atomic { n_calls < BATCH && core.has_cell && n_queries < QUERIES ->
        n_queries++;
        n_calls++;
#ifndef M_QUERY_DOES_NOT_CLOSE
        close_cell();
#endif
        truth()
       }
    :: atomic { n_calls < BATCH && core.has_cell && n_others < OTHERS ->
        n_others++;
        n_calls++;
        core.counter++;
        other_token = core.counter
       }
    :: atomic { n_calls < BATCH && !alive[0] && empty(calls[0]) &&
                (core.holder == 0 || core.waiting == 0 || holds[0]) ->
        n_calls++;
        if
        :: core.holder == 0 ->
            close_cell();
            nobody_holds()
        :: else
        fi;
        holds[0] = false;
        if
        :: core.waiting == 0 -> nobody_waits()
        :: else
        fi;
        grant_to_waiting();
        forget()
       }
    :: atomic { n_calls > 0 -> goto end_of_turn }
    OR_KILLED
    fi;
    goto idle;

end_of_turn:
    if
#ifdef M_OPEN_BEFORE_COMMIT
    :: atomic { open_cell_word() }
#else
    :: atomic { commit() }
#endif
    OR_KILLED
    fi;
#ifdef M_OPEN_BEFORE_COMMIT
    if
    :: atomic { commit() }
    OR_KILLED
    fi;
#endif
    if
    :: atomic { core.has_cell && !is_open -> cell[core.holder].key = core.key; cell[core.holder].last = core.last }
    :: atomic { !(core.has_cell && !is_open) -> goto flush }
    OR_KILLED
    fi;
    if
    :: atomic { open_cell_word() }
    OR_KILLED
    fi;
flush:
    if
    :: atomic { n_out > 0 -> send_first() }
    :: atomic { n_out == 0 -> goto idle }
    OR_KILLED
    fi;
    goto flush
}

/* ---- the clients */

#define OR_DEAD :: atomic { KILL && me == 0 -> goto killed }

proctype Client(byte me)
{
    byte op, key, token, key_of, token_of;
    mtype type;
    bool is_answered, is_granted;

again:
    if
    :: atomic { op == OPS -> goto fin }
    :: atomic { op < OPS ->
        op++;
        if
#ifdef M_BEYOND_LAST
        :: cell[me].open && !cell[me].held ->
#else
        :: cell[me].open && !cell[me].held && cell[me].token < cell[me].last ->
#endif
            token = cell[me].token + 1;
#ifdef M_ENTER_NOT_ATOMIC
            goto store
#else
            cell[me].held = true;
            cell[me].token = token;
            granted(me, token);
            goto inside
#endif
        :: else ->
            if
            :: cell[me].open -> /* the range is used up */
                releasing[me] = true;
                make_call(RELEASE, key, 0)
            :: else
            fi
        fi;
        key = op;
        make_call(REQUEST, key, key)
       }
    :: atomic { op == OPS - 1 && !(cell[me].open && !cell[me].held) -> /* the last one may be a steal */
        op++;
        key = op;
        make_call(STEAL, key, key)
       }
    OR_DEAD
    fi;

waiting:
    if
    :: atomic { answers[me] ? type, key_of, token_of ->
        if
        :: key_of == key ->
            if
            :: type != WAITS ->
                token = token_of;
                is_granted = true
            :: else -> /* one that was granted later was stolen before this call came */
                token = 0;
                is_granted = false
            fi;
            if
            :: type != GRANTED_LATER -> is_answered = true
            :: else
            fi
        :: else
        fi;
        type = 0;
        key_of = 0;
        token_of = 0;
        if
        :: is_answered && is_granted ->
            is_answered = false;
            is_granted = false;
            goto inside
        :: else
        fi
       }
    :: atomic { empty(answers[me]) && cut[me] ->
        is_answered = false;
        is_granted = false;
        token = 0;
        make_call(REQUEST, key, key)
       }
    OR_DEAD
    fi;
    goto waiting;

#ifdef M_ENTER_NOT_ATOMIC
store:
    atomic { /* the whole word, OPEN with it */
        cell[me].open = true;
        cell[me].held = true;
        cell[me].token = token;
        granted(me, token)
    };
#endif

inside:
    if
    :: atomic {
        holds[me] = false;
        if
#ifdef M_LEAVE_IGNORES_OPEN
        :: cell[me].held && cell[me].token == token -> cell[me].held = false
#else
        :: cell[me].open && cell[me].held && cell[me].token == token -> cell[me].held = false
#endif
        :: else ->
#ifndef M_NO_RELEASE
            releasing[me] = true;
            make_call(RELEASE, key, 0)
#endif
        fi;
        token = 0
       }
    OR_DEAD
    fi;
    goto again;

killed:
    atomic {
        alive[me] = false;
        cut[me] = false;
        op = OPS;
        key = 0;
        token = 0;
        do
        :: nempty(answers[me]) -> answers[me] ? type, key_of, token_of
        :: empty(answers[me]) -> break
        od;
        type = 0;
        key_of = 0;
        token_of = 0;
        is_answered = false;
        is_granted = false;
        goto end_killed
    }
fin:
    atomic {
        finished[me] = true;
        key = 0;
        do
        :: nempty(answers[me]) -> answers[me] ? type, key_of, token_of
        :: empty(answers[me]) -> break
        od;
        type = 0;
        key_of = 0;
        token_of = 0
    }
end_fin:
    if
    :: atomic { cut[me] -> cut[me] = false; calls[me] ! LIVE(0) }
    OR_DEAD
    fi;
    goto end_fin;
end_killed:
    false
}
