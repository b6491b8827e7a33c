/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a case of scripts/: an application that uses the library, on a private bus, and a service
 * that follows the script. Everything that the library sends has to be expected by a step. */

#pragma once

#include "tests/client/fixture.h"
#include "tests/client/mock-service.h"
#include "tests/client/mock-socket.h"
#include "tests/client/operation.h"
#include "tests/client/script-case.h"

void script_run(const ScriptCase *script, gboolean is_sync);

/* ---- inside of script*.c */

/* A request and the lock that comes of it; or the label of another operation, in `request`. */
typedef struct {
    char *name;
    char *resource; /* what is requested; the same as `name` unless told */
    char *bucket;
    guint64 key; /* as the library has chosen it; 0: it has sent nothing yet */
    Operation request;
    Operation release;
    WebLocksLock *lock;
    Losses losses;
} Label;

typedef struct {
    const ScriptCase *script;
    const ScriptStep *step;
    char *where; /* of the step, for messages */
    gboolean is_sync;

    GMainContext *context; /* of the agent; with sync calls, one that does not run */
    WebLocksAgent *agent;
    Operation connect;
    GPtrArray *labels; /* of Label */

    MockService *service; /* NULL: it is away */
    MockService *replaced;
    MockSocket *socket;
    GQueue unanswered;  /* of ScriptCall; in the order in which they came */
    GDBusMessage *call; /* the last on the bus */
} Script;

/* A packet that is to be answered. */
typedef struct {
    guint64 serial;
    char *of; /* a label, "SYNC" or "END" */
} ScriptCall;

typedef struct {
    const char *word;
    void (*run)(Script *s, char **words); /* from `word` on */
} ScriptVerb;

/* NULL-terminated. */
extern const ScriptVerb script_app_verbs[];
extern const ScriptVerb script_service_verbs[];

/* Ends the test. */
void script_fail(Script *s, const char *format, ...) G_GNUC_PRINTF(2, 3) G_GNUC_NORETURN;

/* Makes one if there is none of that name; NULL: there is none. */
Label *script_get_label(Script *s, const char *name);
Label *script_find_key(Script *s, guint64 key);

/* Runs the agent's main context until it is so. */
void script_wait(Script *s, TestCondition condition, gpointer data);

/* Nothing was sent that no step expects. */
void script_check_quiet(Script *s);

/* Agent and labels. */
void script_clear_app(Script *s);

/* The next call on the bus; it has to be this one, and is in `call` then. */
void script_expect_call(Script *s, const char *member);

/* The message that the words tell, or that `head` is; see scripts/README.md. */
void script_write_message(Script *s, GByteArray *bytes, char **words);
void script_check_message(Script *s, const PacketHead *head, char **words);
