/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "effects.h"

#include "lock-request.h"

/* A burst may have 65,536 effects. If the array is larger than this, its memory is freed
 * afterwards. */
#define EFFECTS_KEPT 1024

void
effects_init(Effects *effects)
{
    effects->list = g_array_new(FALSE, FALSE, sizeof(Effect));
}

void
effects_fini(Effects *effects)
{
    effects_clear(effects);
    g_clear_pointer(&effects->list, g_array_unref);
}

void
effects_append(Effects *effects, EffectKind kind, LockRequest *request)
{
    Effect effect = {kind, lock_request_ref(request)};

    g_array_append_val(effects->list, effect);
}

guint
effects_get_length(const Effects *effects)
{
    return effects->list->len;
}

const Effect *
effects_get(const Effects *effects, guint index)
{
    g_assert(index < effects->list->len);
    return &g_array_index(effects->list, Effect, index);
}

void
effects_clear(Effects *effects)
{
    guint length = effects->list->len;

    for (guint i = 0; i < length; i++)
        lock_request_unref(g_array_index(effects->list, Effect, i).request);

    if (length > EFFECTS_KEPT) {
        g_array_unref(effects->list);
        effects_init(effects);
    } else {
        g_array_set_size(effects->list, 0);
    }
}
