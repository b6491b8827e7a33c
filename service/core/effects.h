/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The list of effects: what the core's operations have changed, as data.
 *
 * An operation changes the state and appends effects; it never calls out. The caller reads the
 * effects when the state is consistent, turns them into stored records and messages, and clears the
 * list. Each effect owns a reference to its request, so that its agent, name and bucket still
 * exist. */

#pragma once

#include <glib.h>

#include "core-types.h"

typedef enum {
    EFFECT_WAITING, /* a new request has to wait */
    EFFECT_GRANTED,
    /* The following are the ends of requests and locks. */
    EFFECT_RELEASED,
    EFFECT_ABORTED,
    EFFECT_STOLEN,
    EFFECT_TIMED_OUT,
    EFFECT_TERMINATED,
    EFFECT_LOST,
    EFFECT_UNAVAILABLE, /* an undecided request: see permit.h */
    N_EFFECT_KINDS,
} EffectKind;

typedef struct {
    EffectKind kind;
    LockRequest *request; /* an owned reference */
} Effect;

struct Effects {
    GArray *list; /* of Effect */
};

void effects_init(Effects *effects);
void effects_fini(Effects *effects);

/* Takes a new reference to `request`. */
void effects_append(Effects *effects, EffectKind kind, LockRequest *request);

guint effects_get_length(const Effects *effects);
const Effect *effects_get(const Effects *effects, guint index);

/* Removes all effects. This usually drops the last references to requests that have ended. */
void effects_clear(Effects *effects);
