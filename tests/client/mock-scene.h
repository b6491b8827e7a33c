/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where the scripts on the mock bus begin: an agent is connected, the service is there, and calls
 * go through the bus, or on a private socket. */

#pragma once

#include "tests/client/fixture.h"
#include "tests/client/mock-bus.h"
#include "tests/client/mock-socket.h"

typedef struct {
    MockBus *mock;
    const char *owner;  /* of the service's name, as scene_change_owner() says */
    MockSocket *socket; /* NULL: calls go through the bus */
    WebLocksAgent *agent;
    WebLocksManager *manager; /* of the bucket "bucket" */
    GCancellable *cancellable;
    Answer connected;
    Answer answer;
} Scene;

/* For g_test_add(). The agent uses no private socket; has one; connects, and nobody has answered
 * its OpenPeer yet. */
void scene_start(Scene *s, gconstpointer data);
void scene_start_on_socket(Scene *s, gconstpointer data);
void scene_start_asking(Scene *s, gconstpointer data);
void scene_end(Scene *s, gconstpointer data);

/* And nothing was sent that nobody expected. */
void scene_end_strictly(Scene *s, gconstpointer data);

/* The agent is connected, or will be. */
void scene_be_connected(Scene *s);

/* The next call, and the answer to a call, on the socket or through the bus. */
GDBusMessage *scene_expect(Scene *s, const char *member);
void scene_answer(Scene *s, GDBusMessage *call, const char *body);
void scene_signal(Scene *s, GDBusMessage *call, const char *member, const char *body);

/* OpenPeer is answered with a socket, to be used. */
void scene_open_socket(Scene *s, const char *owner);

/* The service closes the socket, and the agent has noticed. What it sends then goes by the bus. */
void scene_close_socket(Scene *s);

/* The service's name goes to `owner`, or to nobody, and the agent knows. */
void scene_change_owner(Scene *s, const char *owner);

/* What the service may have of the agent: nothing; what scene_lock() gave; what scene_wait() left
 * waiting, and the same when it was granted, with token 6. */
#define SCENE_NOTHING "@a(sttsstt) []"
#define SCENE_RECORD(id, key, name, token)                                                     \
    "('bucket', uint64 " #id ", uint64 " #key ", '" name "', 'exclusive', uint64 " #token ", " \
    "uint64 0)"
#define SCENE_HELD    "[" SCENE_RECORD(5, 1, "name", 6) "]"
#define SCENE_WAITING "[" SCENE_RECORD(5, 1, "name", 0) "]"

/* The next Resync, whoever it goes to; and the next, answered with a list of GVariant. */
GDBusMessage *scene_expect_resync(Scene *s, const char *destination);
void scene_answer_resync(Scene *s, GDBusMessage *call, const char *list);
void scene_resync(Scene *s, const char *list);

/* The owner goes, and `owner` comes, has `list`, and all that is known. */
void scene_restart(Scene *s, const char *owner, const char *list);

/* Asks for the lock "name", with or without the cancellable; the call that came of it. */
GDBusMessage *scene_ask(Scene *s);
GDBusMessage *scene_ask_cancellably(Scene *s);

/* Asks, and the service says that it waits, as id 5. */
GDBusMessage *scene_wait(Scene *s);
GDBusMessage *scene_wait_cancellably(Scene *s);

/* A lock "name" with id 5 and token 6. */
WebLocksLock *scene_lock(Scene *s);

/* On return the agent has taken in all that was sent to it, and has sent nothing that is not
 * expected. */
void scene_barrier(Scene *s);

void scene_close(Scene *s);
