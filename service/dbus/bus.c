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
set_bucket(BusBucket *bucket, char *path, char *name)
{
    g_free(bucket->path);
    g_free(bucket->name);
    *bucket = (BusBucket){path, name};
}

void
bus_fini(Bus *bus)
{
    outbox_fini(&bus->outbox);
    set_bucket(&bus->called, NULL, NULL);
    set_bucket(&bus->told, NULL, NULL);
    /* Without a flush: a bus that does not read must not keep us. */
    sd_bus_close(bus->connection);
    g_clear_pointer(&bus->connection, sd_bus_unref);
}

const char *
bus_get_bucket(Bus *bus, const char *path)
{
    char *bucket;

    if (g_strcmp0(path, bus->called.path) == 0)
        return bus->called.name;
    bucket = bucket_path_decode(path);
    if (bucket != NULL)
        set_bucket(&bus->called, g_strdup(path), bucket);
    return bucket;
}

const char *
bus_get_bucket_path(Bus *bus, const char *bucket)
{
    if (g_strcmp0(bucket, bus->told.name) != 0)
        set_bucket(&bus->told, bucket_path_encode(bucket), g_strdup(bucket));
    return bus->told.path;
}

void
bus_send(Client *client, sd_bus_message *message, gsize n_bytes)
{
    flow_control_add(client->flow, n_bytes);
    outbox_put(&client->session->bus->outbox, message, n_bytes);
}
