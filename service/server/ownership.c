/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "ownership.h"

#include <errno.h>
#include <stdlib.h>

#include "bus-names.h"
#include "bus.h"
#include "lifecycle.h"
#include "recovery.h"
#include "scheduler.h"
#include "state.h"

/* See ownership.h; and how often the lock is tried. */
#define PATIENCE_SECS 5
#define ENDING_SECS   10
#define RETRY_MS      2
#define RETRY_LATE_MS 50
/* After this time ReleaseName is sent again if the connection had no room for it. */
#define RELEASE_AGAIN_MS 20
/* The results of RequestName that make the caller the owner. */
#define REQUEST_NAME_PRIMARY_OWNER 1
#define REQUEST_NAME_ALREADY_OWNER 4

#define MATCH                               \
    "type='signal',"                        \
    "sender='" BUS_DRIVER_NAME "',"         \
    "path='" BUS_DRIVER_PATH "',"           \
    "interface='" BUS_DRIVER_INTERFACE "'," \
    "member='NameOwnerChanged',"

struct Ownership {
    gboolean replace;
    char *directory; /* NULL: no state */
    StateOptions options;
    gboolean has_name;
    char *predecessor; /* unique name of the last owner of the name before us, if it is connected */
    gint64 deadline_us; /* of the wait */
    guint retry_id;
    sd_bus_slot *request_name;
    sd_bus_slot *release_name;
    guint release_again_id;
};

Ownership *
ownership_new(gboolean replace, const StateOptions *options)
{
    Ownership *self = g_new0(Ownership, 1);

    self->replace = replace;
    self->directory = g_strdup(options->directory);
    self->options = *options;
    self->options.directory = self->directory;
    return self;
}

void
ownership_free(Ownership *self)
{
    g_clear_handle_id(&self->retry_id, g_source_remove);
    g_clear_handle_id(&self->release_again_id, g_source_remove);
    g_clear_pointer(&self->request_name, sd_bus_slot_unref);
    g_clear_pointer(&self->release_name, sd_bus_slot_unref);
    g_free(self->predecessor);
    g_free(self->directory);
    g_free(self);
}

/* ---- taking both */

static void
fail_for_name(Server *server, int r)
{
    if (r == -EEXIST)
        lifecycle_fail(server, "the name %s is taken: another instance is running",
                       BUS_SERVICE_NAME);
    else
        lifecycle_fail(server, "cannot request the name %s: %s", BUS_SERVICE_NAME, g_strerror(-r));
}

static void
set_deadline(Ownership *self)
{
    self->deadline_us = g_get_monotonic_time() + (gint64)PATIENCE_SECS * G_USEC_PER_SEC;
}

/* Another instance may take the name only if this one allows replacement. */
static uint64_t
get_name_flags(const Ownership *self)
{
    return self->replace ? SD_BUS_NAME_ALLOW_REPLACEMENT : 0;
}

/* Negative errno on failure: -EEXIST if another instance has the name. */
static int
request_name(const Server *server)
{
    Ownership *self = server->ownership;
    uint64_t flags = get_name_flags(self) | (self->replace ? SD_BUS_NAME_REPLACE_EXISTING : 0);
    int r;

    if (self->has_name)
        return 0;
    r = sd_bus_request_name(server->bus->connection, BUS_SERVICE_NAME, flags);
    self->has_name = r >= 0;
    if (self->has_name)
        set_deadline(self); /* of the wait for the lock, if that is to follow */
    return r;
}

static gboolean
has_lock(const Server *server)
{
    return server->ownership->directory == NULL || server->state != NULL;
}

/* Returns FALSE, and logs the reason, if the lock can never be taken. */
static gboolean
try_lock(Server *server)
{
    g_autoptr(GError) error = NULL;

    if (!has_lock(server))
        server->state = state_open(&server->ownership->options, &error);
    if (error != NULL)
        lifecycle_fail(server, "%s", error->message);
    return error == NULL;
}

static gboolean on_retry(gpointer data);

static void
retry_in(Server *server, guint delay_ms)
{
    Ownership *self = server->ownership;

    g_clear_handle_id(&self->retry_id, g_source_remove);
    self->retry_id = g_timeout_add(delay_ms, on_retry, server);
}

/* The bus notifies of a change of the owner, so the name is not requested again before that. */
static void
wait_for_name(Server *server, int r)
{
    Ownership *self = server->ownership;
    gint64 left_us = self->deadline_us - g_get_monotonic_time();

    g_clear_pointer(&server->state, state_free);
    if (r == -EEXIST && left_us > 0)
        retry_in(server, (guint)(left_us / 1000) + 1);
    else
        fail_for_name(server, r);
}

/* Whether the instance that has the lock can't be one that is ending. */
static gboolean
is_taken(const Server *server)
{
    const Ownership *self = server->ownership;
    gint64 late_us = g_get_monotonic_time() - self->deadline_us;

    return late_us > ENDING_SECS * (gint64)G_USEC_PER_SEC ||
           sd_bus_get_name_creds(server->bus->connection, BUS_SERVICE_NAME, 0, NULL) >= 0;
}

static void
wait_for_lock(Server *server)
{
    Ownership *self = server->ownership;
    gboolean is_late = g_get_monotonic_time() > self->deadline_us;

    if (is_late && self->predecessor == NULL && is_taken(server))
        lifecycle_fail(server, "another instance of %s uses the state in %s", BUS_SERVICE_NAME,
                       self->directory);
    else
        retry_in(server, is_late ? RETRY_LATE_MS : RETRY_MS);
}

static void
try(Server *server)
{
    int r = 0;

    if (!try_lock(server))
        return;
    if (has_lock(server) || server->ownership->replace)
        r = request_name(server);
    if (r < 0)
        wait_for_name(server, r);
    else if (!has_lock(server))
        wait_for_lock(server);
    else if (server->state != NULL)
        recovery_start(server);
    else
        lifecycle_run(server);
}

static gboolean
on_retry(gpointer data)
{
    Server *server = data;

    server->ownership->retry_id = 0;
    if (server->stage == SERVER_STARTING)
        try(server);
    return G_SOURCE_REMOVE;
}

void
ownership_take(Server *server)
{
    Ownership *self = server->ownership;
    g_autoptr(GError) error = NULL;

    set_deadline(self);
    if (self->directory != NULL && !recovery_get_options(server, &self->options, &error))
        lifecycle_fail(server, "%s", error->message);
    else
        try(server);
}

static int
on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Server *server = userdata;
    Ownership *self = server->ownership;
    const char *name, *old_owner, *new_owner;

    if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) < 0 || name[0] != ':' ||
        new_owner[0] != '\0')
        return 0;
    if (g_strcmp0(self->predecessor, name) == 0) {
        g_clear_pointer(&self->predecessor, g_free);
        set_deadline(self);
        if (self->retry_id != 0)
            retry_in(server, 0);
    }
    scheduler_on_disconnected(server, name);
    return 0;
}

/* ---- losing and releasing the name */

static int
on_name_requested(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Server *server = userdata;
    guint32 result = 0;

    g_clear_pointer(&server->ownership->request_name, sd_bus_slot_unref);
    if (server->stage != SERVER_RUNNING)
        return 1;
    if (!sd_bus_message_is_method_error(reply, NULL))
        sd_bus_message_read_basic(reply, 'u', &result);
    if (result == REQUEST_NAME_PRIMARY_OWNER || result == REQUEST_NAME_ALREADY_OWNER)
        return 1;
    g_message("another instance has taken the name %s", BUS_SERVICE_NAME);
    lifecycle_stop(server);
    return 1;
}

/* The name may be free again: the other instance may have ended before this one has read that the
 * owner changed. */
static void
request_name_again(Server *server)
{
    Ownership *self = server->ownership;

    if (self->request_name == NULL &&
        sd_bus_request_name_async(server->bus->connection, &self->request_name, BUS_SERVICE_NAME,
                                  get_name_flags(self), on_name_requested, server) < 0)
        lifecycle_stop(server);
}

static void
on_name_lost(Server *server)
{
    if (server->stage == SERVER_RUNNING) {
        request_name_again(server);
    } else if (server->stage == SERVER_STARTING) {
        g_message("another instance has taken the name %s", BUS_SERVICE_NAME);
        lifecycle_end(server, EXIT_SUCCESS);
    }
}

static int
on_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Server *server = userdata;
    Ownership *self = server->ownership;
    const char *name, *old_owner, *new_owner, *own_name;

    if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) < 0 ||
        !g_str_equal(name, BUS_SERVICE_NAME) ||
        sd_bus_get_unique_name(server->bus->connection, &own_name) < 0)
        return 0;
    if (g_str_equal(old_owner, own_name)) {
        on_name_lost(server);
    } else if (server->stage != SERVER_STARTING) {
        return 0;
    } else if (g_str_equal(new_owner, own_name)) {
        g_free(self->predecessor);
        self->predecessor = old_owner[0] != '\0' ? g_strdup(old_owner) : NULL;
    } else if (new_owner[0] == '\0' && self->retry_id != 0) {
        retry_in(server, 0);
    }
    return 0;
}

int
ownership_subscribe(Server *server)
{
    sd_bus *bus = server->bus->connection;
    /* Only names without a new owner: the bus filters the rest. */
    int r = sd_bus_add_match(bus, NULL, MATCH "arg2=''", on_disconnected, server);

    if (r >= 0)
        r = sd_bus_add_match(bus, NULL, MATCH "arg0='" BUS_SERVICE_NAME "'", on_owner_changed,
                             server);
    return r;
}

static int
on_name_released(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    lifecycle_on_name_released(userdata);
    return 1;
}

static gboolean
on_release_again(gpointer data)
{
    ((Ownership *)data)->release_again_id = 0; /* the end of the turn does it */
    return G_SOURCE_REMOVE;
}

void
ownership_release_name(Server *server)
{
    Ownership *self = server->ownership;
    int r;

    if (self->release_name != NULL || self->release_again_id != 0 || !bus_is_sent(server->bus))
        return;
    r = sd_bus_release_name_async(server->bus->connection, &self->release_name, BUS_SERVICE_NAME,
                                  on_name_released, server);
    if (sd_bus_is_transient(r))
        self->release_again_id = g_timeout_add(RELEASE_AGAIN_MS, on_release_again, self);
    else if (r < 0)
        lifecycle_end(server, EXIT_FAILURE);
}
