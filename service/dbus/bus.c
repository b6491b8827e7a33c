/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus.h"

#include "bucket-path.h"

void
bus_init(Bus *bus, sd_bus *connection, Session *session)
{
    *bus = (Bus){.session = session, .connection = connection};
    session->bus = bus;
    outbox_init(&bus->outbox, connection, &session->turn);
    flow_controls_init(&bus->flow, connection, &bus->outbox);
}

static void
clear_bucket(Bus *bus)
{
    g_clear_pointer(&bus->bucket_path, g_free);
    g_clear_pointer(&bus->bucket, g_free);
}

void
bus_fini(Bus *bus)
{
    outbox_fini(&bus->outbox);
    clear_bucket(bus);
    /* Without a flush: a bus that does not read must not keep us. */
    sd_bus_close(bus->connection);
    g_clear_pointer(&bus->connection, sd_bus_unref);
}

const char *
bus_get_bucket(Bus *bus, const char *path)
{
    char *bucket;

    if (g_strcmp0(path, bus->bucket_path) == 0)
        return bus->bucket;
    bucket = bucket_path_decode(path);
    if (bucket == NULL)
        return NULL;
    clear_bucket(bus);
    bus->bucket_path = g_strdup(path);
    bus->bucket = bucket;
    return bucket;
}

const char *
bus_get_bucket_path(Bus *bus, const char *bucket)
{
    if (g_strcmp0(bucket, bus->bucket) == 0)
        return bus->bucket_path;
    clear_bucket(bus);
    bus->bucket_path = bucket_path_encode(bucket);
    bus->bucket = g_strdup(bucket);
    return bus->bucket_path;
}

void
bus_send(Client *client, sd_bus_message *message, gsize n_bytes)
{
    flow_control_add(client->flow, n_bytes);
    outbox_put(&client->session->bus->outbox, message, n_bytes);
}
