/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/spec/bus-session.h"

static PrivateBus *the_bus;

PrivateBus *
bus_session_bus(void)
{
    return the_bus;
}

void
bus_session_set_up(void)
{
    the_bus = private_bus_new();
}

void
bus_session_tear_down(void)
{
    private_bus_free(the_bus);
}

gpointer
bus_session_start(gsize size, const char *const *limits)
{
    BusSession *session = g_malloc0(size);

    session->letters = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    private_bus_start_service(the_bus, limits);
    return session;
}

void
bus_session_stop(gpointer self)
{
    BusSession *session = self;

    private_bus_stop_service(the_bus);
    g_hash_table_unref(session->letters);
    g_free(session);
}

gpointer
bus_session_add_client(gpointer self, gsize size, char letter, const char *id)
{
    BusSession *session = self;
    BusClient *client = g_malloc0(size);

    client->letter = letter;
    /* A client that connects again is a new one. */
    g_assert_true(g_hash_table_insert(session->letters, g_strdup(id), g_strndup(&letter, 1)));
    session->clients[letter - 'A'] = client;
    return client;
}

gpointer
bus_session_get_client(gpointer self, char letter)
{
    BusSession *session = self;

    g_assert_nonnull(session->clients[letter - 'A']);
    return session->clients[letter - 'A'];
}

gpointer
bus_session_remove_client(gpointer self, char letter)
{
    BusSession *session = self;

    return g_steal_pointer(&session->clients[letter - 'A']);
}

void
bus_session_free_client(gpointer data)
{
    BusClient *client = data;

    g_queue_clear_full(&client->events, (GDestroyNotify)spec_event_free);
    g_free(client);
}

char
bus_session_find_letter(const BusSession *self, const char *id)
{
    const char *letter = g_hash_table_lookup(self->letters, id);

    if (letter == NULL)
        return '?';
    return letter[0];
}

void
bus_session_append_rows(const BusSession *self, GVariant *rows, GPtrArray *texts)
{
    const char *name, *mode, *id;
    GVariantIter iter;

    g_variant_iter_init(&iter, rows);
    while (g_variant_iter_next(&iter, "(&s&s&s)", &name, &mode, &id))
        g_ptr_array_add(texts,
                        g_strdup_printf("%s %s %c", name, mode, bus_session_find_letter(self, id)));
}

static gboolean
has_event(gpointer data)
{
    const BusClient *client = data;

    return client->events.length > 0;
}

void
bus_session_wait_event(gpointer self, char letter)
{
    private_bus_wait(has_event, bus_session_get_client(self, letter));
}

SpecEvent *
bus_session_take_event(gpointer self, char letter)
{
    BusClient *client = bus_session_get_client(self, letter);

    return g_queue_pop_head(&client->events);
}
