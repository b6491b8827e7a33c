/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the core's operations have done, as data.
 *
 * An operation only changes state and appends here; it never calls out. Whoever called it takes the
 * effects once the state is consistent, turns them into a commit and messages, and clears them.
 * Each effect refers to its request, so all it tells of (agent, name, bucket) is still there. */

#pragma once

#include <glib.h>

#include "core-types.h"

typedef enum {
    EFFECT_WAITING, /* a new request has to wait */
    EFFECT_GRANTED,
    /* The rest are ends of requests and locks. */
    EFFECT_RELEASED,
    EFFECT_ABORTED,
    EFFECT_STOLEN,
    EFFECT_TIMED_OUT,
    EFFECT_TERMINATED,
    EFFECT_LOST,
    N_EFFECT_KINDS,
} EffectKind;

typedef struct {
    EffectKind kind;
    LockRequest *request; /* a reference */
} Effect;

struct Effects {
    GArray *list; /* of Effect */
};

void effects_init(Effects *effects);
void effects_fini(Effects *effects);

/* Takes a reference of its own. */
void effects_append(Effects *effects, EffectKind kind, LockRequest *request);

guint effects_get_length(const Effects *effects);
const Effect *effects_get(const Effects *effects, guint index);

/* Forgets all; requests that have ended are freed with it. */
void effects_clear(Effects *effects);
