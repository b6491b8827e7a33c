/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "claim-name.h"

#include <string.h>

#define SESSION_AT  2
#define TURN_AT     (SESSION_AT + 16 + 1)
#define SEQUENCE_AT (TURN_AT + 8 + 1)

/* Reads exactly `n_digits` digits. The comparison with what is formatted from the result refuses
 * other spellings. */
static guint64
read_hex(const char *text, guint n_digits)
{
    guint64 value = 0;

    for (guint i = 0; i < n_digits; i++)
        value = value << 4 | (guint64)MAX(g_ascii_xdigit_value(text[i]), 0);
    return value;
}

gboolean
claim_name_parse(const char *text, ClaimName *out_name)
{
    char again[CLAIM_NAME_SIZE];
    gint64 sequence;
    ClaimName name;

    if (strlen(text) <= SEQUENCE_AT || strlen(text) >= CLAIM_NAME_SIZE)
        return FALSE;
    if (!g_ascii_string_to_signed(text + SEQUENCE_AT, 10, G_MININT32, G_MAXINT32, &sequence, NULL))
        return FALSE;
    name.mode = text[0] == 's' ? PERMIT_SHARED : PERMIT_EXCLUSIVE;
    name.is_steal = text[0] == 'x';
    name.session = read_hex(text + SESSION_AT, 16);
    name.turn = (guint32)read_hex(text + TURN_AT, 8);
    name.sequence = (gint32)sequence;
    claim_name_format(&name, again);
    if (strcmp(text, again) != 0)
        return FALSE;
    *out_name = name;
    return TRUE;
}

void
claim_name_format_prefix(const ClaimName *name, char text[CLAIM_NAME_SIZE])
{
    char mode = name->mode == PERMIT_SHARED ? 's' : 'e';

    g_snprintf(text, CLAIM_NAME_SIZE, "%c-%016" G_GINT64_MODIFIER "x-%08x-",
               name->is_steal ? 'x' : mode, name->session, name->turn);
}

void
claim_name_format(const ClaimName *name, char text[CLAIM_NAME_SIZE])
{
    gsize size;

    claim_name_format_prefix(name, text);
    size = strlen(text);
    /* The engine formats its numbers in the same way. */
    g_snprintf(text + size, CLAIM_NAME_SIZE - size, "%010d", name->sequence);
}

gboolean
claim_name_equal(const ClaimName *a, const ClaimName *b)
{
    return a->mode == b->mode && a->session == b->session && a->turn == b->turn &&
           a->sequence == b->sequence && a->is_steal == b->is_steal;
}

int
claim_name_compare(const ClaimName *a, const ClaimName *b)
{
    return (gint32)((guint32)a->sequence - (guint32)b->sequence);
}

gboolean
claim_name_blocks(const ClaimName *other, const ClaimName *own)
{
    if (claim_name_compare(other, own) >= 0)
        return FALSE;
    return own->mode == PERMIT_EXCLUSIVE || other->mode == PERMIT_EXCLUSIVE;
}

void
claim_order_init(ClaimOrder *order)
{
    *order = (ClaimOrder){.has_first = FALSE};
}

void
claim_order_add(ClaimOrder *order, const ClaimName *name)
{
    if (!order->has_first || claim_name_compare(name, &order->first) < 0)
        order->first = *name;
    order->has_first = TRUE;
    if (name->mode != PERMIT_EXCLUSIVE)
        return;
    if (!order->has_exclusive || claim_name_compare(name, &order->exclusive) < 0)
        order->exclusive = *name;
    order->has_exclusive = TRUE;
}

gboolean
claim_order_is_first(const ClaimOrder *order, const ClaimName *name)
{
    return !(order->has_first && claim_name_blocks(&order->first, name)) &&
           !(order->has_exclusive && claim_name_blocks(&order->exclusive, name));
}
