/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cluster-packet.h"

#include <string.h>

#include "bus-string.h"

/* What a row takes in ROWS beside its text: its other members, padding, and the end of its place.
 */
#define ROW_BYTES 32
/* The head, the members of ROWS before the rows, and the ends of the places of members. */
#define ROWS_EXTRA_BYTES 64

static const char row_format[] = "(yyx&s)";

/* As in the header; `&` and `@` are for g_variant_get(). */
static const char *const formats[] = {
    [CLUSTER_PACKET_HELLO] = "(u)",        [CLUSTER_PACKET_DEMAND] = "(tttuuuyyybbu&s&s)",
    [CLUSTER_PACKET_READY] = "()",         [CLUSTER_PACKET_ACK] = "(t)",
    [CLUSTER_PACKET_ASK] = "(tuu&s&s&s)",  [CLUSTER_PACKET_LEASE] = "(txtuu)",
    [CLUSTER_PACKET_PERMIT] = "(tytu)",    [CLUSTER_PACKET_YIELD] = "(tb)",
    [CLUSTER_PACKET_REVOKED] = "(ty)",     [CLUSTER_PACKET_BUSY] = "(tu)",
    [CLUSTER_PACKET_GONE] = "(tu)",        [CLUSTER_PACKET_SYNCED] = "()",
    [CLUSTER_PACKET_ROWS] = "(t@a(yyxs))", [CLUSTER_PACKET_STATUS] = "(t&s&s&s&s)",
    [CLUSTER_PACKET_BROKEN] = "(tub)",
};

/* ---- reading */

static gboolean
is_text(const char *text, gsize min, gsize max)
{
    const gsize length = strlen(text);

    return length >= min && length <= max && bus_string_is_valid(text);
}

static gboolean
is_bucket(const char *text)
{
    return is_text(text, 1, CLUSTER_BUCKET_BYTES_MAX);
}

static gboolean
is_name(const char *text)
{
    return is_text(text, 0, CLUSTER_NAME_BYTES_MAX);
}

static gboolean
is_state(guint32 state)
{
    return state >= CLUSTER_STATE_CONNECTING && state <= CLUSTER_STATE_LOST;
}

static gboolean
is_mode(guint8 mode)
{
    return mode == PERMIT_SHARED || mode == PERMIT_EXCLUSIVE;
}

static gboolean
read_demand(GVariant *body, ClusterDemand *out)
{
    g_variant_get(body, formats[CLUSTER_PACKET_DEMAND], &out->handle, &out->block, &out->session,
                  &out->claim, &out->uid, &out->number, &out->want, &out->held, &out->undecided,
                  &out->needs_tokens, &out->is_turn_over, &out->n_waiting, &out->bucket,
                  &out->name);
    return out->handle != 0 && out->block <= CLUSTER_BLOCK_MAX && out->number != 0 &&
           out->want <= PERMIT_EXCLUSIVE && out->held <= PERMIT_EXCLUSIVE &&
           out->undecided <= UNDECIDED_STEAL &&
           (out->undecided == UNDECIDED_NONE || out->want != PERMIT_NONE) &&
           (!out->is_turn_over || (out->held == PERMIT_NONE && out->block != 0)) &&
           (!out->needs_tokens ||
            (out->want != PERMIT_NONE && out->block != 0 && !out->is_turn_over)) &&
           (out->session == 0 ? out->claim == 0 : out->block != 0 && !out->is_turn_over) &&
           is_bucket(out->bucket) && is_name(out->name);
}

static gboolean
read_question(GVariant *body, ClusterQuestion *out)
{
    g_variant_get(body, formats[CLUSTER_PACKET_ASK], &out->serial, &out->answer, &out->uid,
                  &out->bucket, &out->name, &out->host);
    return (out->answer == CLUSTER_PACKET_ROWS || out->answer == CLUSTER_PACKET_STATUS ||
            out->answer == CLUSTER_PACKET_BROKEN) &&
           is_text(out->bucket, out->answer != CLUSTER_PACKET_STATUS, CLUSTER_BUCKET_BYTES_MAX) &&
           is_name(out->name) && is_text(out->host, 0, CLUSTER_HOST_BYTES_MAX);
}

static gboolean
read_from_service(ClusterMessage *out)
{
    switch (out->kind) {
    case CLUSTER_PACKET_HELLO:
        g_variant_get(out->body, formats[out->kind], &out->version);
        return TRUE;
    case CLUSTER_PACKET_DEMAND:
        return read_demand(out->body, &out->demand);
    case CLUSTER_PACKET_READY:
        return TRUE;
    case CLUSTER_PACKET_ACK:
        g_variant_get(out->body, formats[out->kind], &out->serial);
        return TRUE;
    case CLUSTER_PACKET_ASK:
        return read_question(out->body, &out->question);
    default:
        return FALSE;
    }
}

static gboolean
read_lease(GVariant *body, ClusterLease *out)
{
    g_variant_get(body, formats[CLUSTER_PACKET_LEASE], &out->serial, &out->deadline_us,
                  &out->session, &out->state, &out->reason);
    return is_state(out->state) && out->deadline_us >= 0 &&
           (out->deadline_us == 0) == (out->session == 0) && out->reason <= CLUSTER_REASON_LAST &&
           (out->reason == CLUSTER_REASON_NONE || out->state != CLUSTER_STATE_ACTIVE);
}

static gboolean
read_turn(guint32 kind, GVariant *body, ClusterTurn *out)
{
    const char *format = formats[kind];

    switch (kind) {
    case CLUSTER_PACKET_PERMIT:
        g_variant_get(body, format, &out->handle, &out->mode, &out->block, &out->claim);
        return out->handle != 0 && is_mode(out->mode) && out->block > 0 &&
               out->block <= CLUSTER_BLOCK_MAX;
    case CLUSTER_PACKET_YIELD:
        g_variant_get(body, format, &out->handle, &out->now);
        return out->handle != 0;
    case CLUSTER_PACKET_REVOKED:
        g_variant_get(body, format, &out->handle, &out->reason);
        return out->handle != 0 &&
               (out->reason == CLUSTER_REVOKED_STOLEN || out->reason == CLUSTER_REVOKED_LOST);
    default:
        g_variant_get(body, format, &out->handle, &out->number);
        return out->handle != 0 && out->number != 0;
    }
}

static gboolean
read_rows(GVariant *body, ClusterRows *out)
{
    GVariantIter iter;
    ClusterRow row;

    g_variant_get(body, formats[CLUSTER_PACKET_ROWS], &out->serial, &out->rows);
    if (g_variant_iter_init(&iter, out->rows) > CLUSTER_ROWS_MAX)
        return FALSE;
    while (cluster_row_next(&iter, &row))
        if (!is_mode(row.mode) ||
            (row.state != CLUSTER_ROW_HOLDS && row.state != CLUSTER_ROW_WAITS) ||
            row.since_us < 0 || !is_text(row.host, 1, CLUSTER_HOST_BYTES_MAX))
            return FALSE;
    return TRUE;
}

static gboolean
read_status(GVariant *body, ClusterStatus *out)
{
    g_variant_get(body, formats[CLUSTER_PACKET_STATUS], &out->serial, &out->engine, &out->hosts,
                  &out->id, &out->metrics);
    return is_text(out->engine, 0, CLUSTER_PACKET_BYTES_MAX) &&
           is_text(out->hosts, 0, CLUSTER_PACKET_BYTES_MAX) &&
           is_text(out->id, 0, CLUSTER_PACKET_BYTES_MAX) &&
           is_text(out->metrics, 0, CLUSTER_PACKET_BYTES_MAX);
}

static gboolean
read_from_gateway(ClusterMessage *out)
{
    switch (out->kind) {
    case CLUSTER_PACKET_LEASE:
        return read_lease(out->body, &out->lease);
    case CLUSTER_PACKET_PERMIT:
    case CLUSTER_PACKET_YIELD:
    case CLUSTER_PACKET_REVOKED:
    case CLUSTER_PACKET_BUSY:
    case CLUSTER_PACKET_GONE:
        return read_turn(out->kind, out->body, &out->turn);
    case CLUSTER_PACKET_SYNCED:
        return TRUE;
    case CLUSTER_PACKET_ROWS:
        return read_rows(out->body, &out->rows);
    case CLUSTER_PACKET_STATUS:
        return read_status(out->body, &out->status);
    case CLUSTER_PACKET_BROKEN:
        g_variant_get(out->body, formats[out->kind], &out->broken.serial, &out->broken.count,
                      &out->broken.failed);
        return TRUE;
    default:
        return FALSE;
    }
}

/* Returns the type of a format. */
static GVariantType *
get_type(const char *format)
{
    g_autoptr(GString) type = g_string_new(format);

    g_string_replace(type, "&", "", 0);
    g_string_replace(type, "@", "", 0);
    return g_variant_type_new(type->str);
}

static gboolean
read_packet(ClusterMessage *out,
            const void *packet,
            gsize size,
            gboolean (*read_body)(ClusterMessage *out))
{
    const ClusterHead *head = packet;
    g_autoptr(GVariantType) type = NULL;

    *out = (ClusterMessage){0};
    if (size < sizeof *head || size > CLUSTER_PACKET_BYTES_MAX || head->size != size ||
        head->kind >= G_N_ELEMENTS(formats) || formats[head->kind] == NULL)
        return FALSE;
    type = get_type(formats[head->kind]);
    out->kind = head->kind;
    out->body = g_variant_ref_sink(
        g_variant_new_from_data(type, head + 1, size - sizeof *head, FALSE, NULL, NULL));
    if (g_variant_is_normal_form(out->body) && read_body(out))
        return TRUE;
    cluster_message_clear(out);
    return FALSE;
}

gboolean
cluster_packet_read_from_service(ClusterMessage *out, const void *packet, gsize size)
{
    return read_packet(out, packet, size, read_from_service);
}

gboolean
cluster_packet_read_from_gateway(ClusterMessage *out, const void *packet, gsize size)
{
    return read_packet(out, packet, size, read_from_gateway);
}

void
cluster_message_clear(ClusterMessage *message)
{
    if (message->kind == CLUSTER_PACKET_ROWS)
        g_clear_pointer(&message->rows.rows, g_variant_unref);
    g_clear_pointer(&message->body, g_variant_unref);
}

gboolean
cluster_row_next(GVariantIter *iter, ClusterRow *out)
{
    return g_variant_iter_next(iter, row_format, &out->mode, &out->state, &out->since_us,
                               &out->host);
}

/* ---- writing */

void
cluster_packet_write_va(GByteArray *bytes, ClusterPacketKind kind, va_list *members)
{
    g_autoptr(GVariant) body = g_variant_ref_sink(g_variant_new_va(formats[kind], NULL, members));
    ClusterHead head = {.kind = kind};

    head.size = (guint32)(sizeof head + g_variant_get_size(body));
    g_byte_array_append(bytes, (const guint8 *)&head, sizeof head);
    g_byte_array_append(bytes, g_variant_get_data(body), (guint)g_variant_get_size(body));
}

void
cluster_packet_write(GByteArray *bytes, ClusterPacketKind kind, ...)
{
    va_list members;

    va_start(members, kind);
    cluster_packet_write_va(bytes, kind, &members);
    va_end(members);
}

GVariant *
cluster_rows_new(const GArray *rows)
{
    gsize size = ROWS_EXTRA_BYTES;
    GVariantBuilder builder;

    g_variant_builder_init(&builder, G_VARIANT_TYPE("a(yyxs)"));
    for (guint i = 0; i < MIN(rows->len, CLUSTER_ROWS_MAX); i++) {
        const ClusterRow *row = &g_array_index(rows, ClusterRow, i);

        size += ROW_BYTES + strlen(row->host);
        if (size > CLUSTER_PACKET_BYTES_MAX)
            break;
        g_variant_builder_add(&builder, row_format, row->mode, row->state, row->since_us,
                              row->host);
    }
    return g_variant_builder_end(&builder);
}
