/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/unit/cluster-packet-copy.h"

static void
copy_from_service(GByteArray *bytes, const ClusterHead *head)
{
    const ClusterDemand *demand = (const ClusterDemand *)head;
    const ClusterList *list = (const ClusterList *)head;
    const ClusterBreak *to_break = (const ClusterBreak *)head;

    switch (head->kind) {
    case CLUSTER_PACKET_HELLO:
        cluster_packet_write_hello(bytes);
        /* The version is copied too: a packet with another version is valid. */
        ((ClusterHello *)bytes->data)->version = ((const ClusterHello *)head)->version;
        break;
    case CLUSTER_PACKET_DEMAND:
        cluster_packet_write_demand(bytes, demand, cluster_demand_get_bucket(demand),
                                    cluster_demand_get_name(demand));
        break;
    case CLUSTER_PACKET_READY:
        cluster_packet_write_head(bytes, CLUSTER_PACKET_READY);
        break;
    case CLUSTER_PACKET_ACK:
        cluster_packet_write_ack(bytes, ((const ClusterAck *)head)->serial);
        break;
    case CLUSTER_PACKET_LIST:
        cluster_packet_write_list(bytes, list->serial, list->uid, list->text);
        break;
    case CLUSTER_PACKET_BREAK:
        cluster_packet_write_break(
            bytes, to_break->serial, to_break->uid, cluster_break_get_bucket(to_break),
            cluster_break_get_name(to_break), cluster_break_get_host(to_break));
        break;
    default:
        g_assert_not_reached();
    }
}

static void
copy_rows(GByteArray *bytes, const ClusterRows *rows)
{
    guint offset = cluster_packet_begin_rows(bytes, rows->serial);
    const ClusterRow *row = NULL;

    for (guint i = 0; i < rows->n_rows; i++) {
        row = cluster_rows_next(rows, row);
        cluster_packet_add_row(bytes, &offset, row->mode, row->state, row->since_us,
                               cluster_row_get_host(row), cluster_row_get_name(row));
    }
    ((ClusterRows *)bytes->data)->more = rows->more;
}

static void
copy_from_gateway(GByteArray *bytes, const ClusterHead *head)
{
    const ClusterLease *lease = (const ClusterLease *)head;
    const ClusterPermit *permit = (const ClusterPermit *)head;
    const ClusterStatus *status = (const ClusterStatus *)head;
    const ClusterBroken *broken = (const ClusterBroken *)head;
    const ClusterReply *reply = (const ClusterReply *)head;

    switch (head->kind) {
    case CLUSTER_PACKET_LEASE:
        cluster_packet_write_lease(bytes, lease->serial, lease->deadline_us, lease->state,
                                   lease->reason);
        break;
    case CLUSTER_PACKET_PERMIT:
        cluster_packet_write_permit(bytes, permit->handle, permit->mode, permit->deadline_us,
                                    permit->block);
        break;
    case CLUSTER_PACKET_YIELD:
        cluster_packet_write_yield(bytes, ((const ClusterYield *)head)->handle,
                                   ((const ClusterYield *)head)->now != 0);
        break;
    case CLUSTER_PACKET_REVOKED:
        cluster_packet_write_revoked(bytes, ((const ClusterRevoked *)head)->handle,
                                     ((const ClusterRevoked *)head)->reason);
        break;
    case CLUSTER_PACKET_BUSY:
    case CLUSTER_PACKET_GONE:
        cluster_packet_write_reply(bytes, head->kind, reply->handle, reply->number);
        break;
    case CLUSTER_PACKET_SYNCED:
        cluster_packet_write_head(bytes, CLUSTER_PACKET_SYNCED);
        break;
    case CLUSTER_PACKET_ROWS:
        copy_rows(bytes, (const ClusterRows *)head);
        break;
    case CLUSTER_PACKET_STATE:
        cluster_packet_write_status(bytes, status->state, cluster_status_get_engine(status),
                                    cluster_status_get_hosts(status));
        break;
    case CLUSTER_PACKET_BROKEN:
        cluster_packet_write_broken(bytes, broken->serial, broken->count, broken->failed != 0);
        break;
    default:
        g_assert_not_reached();
    }
}

static gboolean
check(const void *packet,
      gsize size,
      const ClusterHead *(*read_packet)(const void *packet, gsize size),
      void (*copy)(GByteArray *bytes, const ClusterHead *head))
{
    g_autofree guint8 *exact = g_memdup2(packet, size);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    const ClusterHead *head = read_packet(exact, size);

    if (head == NULL)
        return FALSE;
    g_assert_true((const guint8 *)head == exact);
    copy(bytes, head);
    g_assert_cmpmem(bytes->data, bytes->len, exact, size);
    return TRUE;
}

gboolean
cluster_packet_check_from_service(const void *packet, gsize size)
{
    return check(packet, size, cluster_packet_read_from_service, copy_from_service);
}

gboolean
cluster_packet_check_from_gateway(const void *packet, gsize size)
{
    return check(packet, size, cluster_packet_read_from_gateway, copy_from_gateway);
}
