/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The model of the standard (unit/lock-model.h) for one name and two clients. To enter and to leave
 * a handle are an instant request and release there. What the service has done counts when it has
 * committed it. A difference ends the test (steps_fail()). */

#pragma once

#include "service/session/lock-call.h"

void reference_begin(void);
void reference_end(void);

/* A client has entered or left its handle by a compare-and-swap. */
void reference_exchange(guint client, guint64 key, guint64 token, gboolean is_held);

/* The service replies to a call of the client, or finds that it has ended. */
void reference_note_call(guint client, const LockCall *call, const LockReply *reply);
void reference_note_end(guint client);

/* The service has committed that. `has_request` returns whether it has a request with this key, and
 * its token. */
typedef gboolean (*ReferenceFind)(guint client, guint64 key, guint64 *out_token);
void reference_commit(ReferenceFind find);

/* What was not committed is lost. */
void reference_kill(void);

/* The service has restored what it had; `is_gone`: which clients have ended. */
void reference_restart(const gboolean *is_gone, ReferenceFind find);

/* The service has sent to the client what it has committed. */
void reference_was_told(guint client);

/* Whether the client has this request, and whether it is held. */
gboolean reference_has(guint client, guint64 key, gboolean is_held);
guint reference_count(void);
gboolean reference_is_held_by(guint client);

guint64 reference_describe(void);
