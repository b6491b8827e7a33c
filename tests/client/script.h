/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a case of scripts/: an application that uses the library, on a private bus, and a service
 * that follows the script. Every message of the library must be expected by a step. */

#pragma once

#include "tests/client/fixture.h"
#include "tests/client/mock-service.h"
#include "tests/client/mock-socket.h"
#include "tests/client/operation.h"
#include "tests/client/script-case.h"

void script_run(const ScriptCase *script, gboolean is_sync);

/* ---- internal functions of script*.c */

/* A request and its lock; or another operation with its label, in `request`. */
typedef struct {
    char *name;
    char *resource; /* the name of the lock; by default the same as `name` */
    char *bucket;
    guint64 key; /* as chosen by the library; 0: not sent yet */
    Operation request;
    Operation release;
    Operation downgrade;
    WebLocksLock *lock;
    Losses losses;
} Label;

typedef struct {
    const ScriptCase *script;
    const ScriptStep *step;
    char *where; /* of the step, for failure messages */
    gboolean is_sync;

    GMainContext *context; /* of the agent; with synchronous calls, one that is not iterated */
    WebLocksAgent *agent;
    Operation connect;
    GPtrArray *labels; /* of Label */

    MockService *service; /* NULL: none is running */
    MockService *replaced;
    MockSocket *socket;
    GQueue unanswered;  /* of ScriptCall; in the order of arrival */
    GDBusMessage *call; /* the last on the bus */
} Script;

/* A message that has to be answered. */
typedef struct {
    guint64 serial;
    char *of; /* the label of a request, or "SYNC" */
} ScriptCall;

typedef struct {
    const char *word;
    void (*run)(Script *s, char **words); /* `words` begin with the verb */
} ScriptVerb;

/* NULL-terminated. */
extern const ScriptVerb script_app_verbs[];
extern const ScriptVerb script_service_verbs[];

/* Ends the test. */
void script_fail(Script *s, const char *format, ...) G_GNUC_PRINTF(2, 3) G_GNUC_NORETURN;

/* Creates a label if there is none of that name; NULL: the name is missing. */
Label *script_get_label(Script *s, const char *name);
Label *script_find_key(Script *s, guint64 key);

/* Runs the agent's main context until the condition is true. */
void script_wait(Script *s, TestCondition condition, gpointer data);

/* Checks that the library has sent no unexpected message. */
void script_check_quiet(Script *s);

/* Frees the agent and the labels. */
void script_clear_app(Script *s);

/* Waits for the next call on the bus, which must have this name and is then in `call`. */
void script_expect_call(Script *s, const char *member);

/* Writes the message that the words describe, or compares `head` with them; see scripts/README.md.
 * */
void script_write_message(Script *s, GByteArray *bytes, char **words);
void script_check_message(Script *s, const PacketHead *head, char **words);
