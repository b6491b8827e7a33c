/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where the scripts on the mock bus begin: an agent is connected, the service is there. */

#pragma once

#include "tests/client/fixture.h"
#include "tests/client/mock-bus.h"

typedef struct {
    MockBus *mock;
    WebLocksAgent *agent;
    WebLocksManager *manager; /* of the bucket "bucket" */
    GCancellable *cancellable;
    Answer answer;
} Scene;

/* For g_test_add(). */
void scene_start(Scene *s, gconstpointer data);
void scene_end(Scene *s, gconstpointer data);

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
