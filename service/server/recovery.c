/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "recovery.h"

#include <errno.h>
#include <string.h>

#include "admission.h"
#include "bus-names.h"
#include "bus.h"
#include "cluster.h"
#include "encode.h"
#include "lifecycle.h"
#include "notifications.h"
#include "state.h"

static void
set_bus_error(GError **error, const char *what, int r)
{
    g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(-r), "%s: %s", what,
                g_strerror(-r));
}

/* ---- asking the bus */

static int
ask_driver(Server *server, const char *method, sd_bus_message **out_reply)
{
    return sd_bus_call_method(server->bus->connection, BUS_DRIVER_NAME, BUS_DRIVER_PATH,
                              BUS_DRIVER_INTERFACE, method, NULL, out_reply, "");
}

/* The id of the bus. (The GUID of the authentication is that of an address.) */
static gboolean
get_bus_id(Server *server, guint8 *out_id, GError **error)
{
    g_autoptr(SdBusMessage) reply = NULL;
    const char *string;
    sd_id128_t id;
    int r = ask_driver(server, "GetId", &reply);

    if (r >= 0)
        r = sd_bus_message_read_basic(reply, 's', &string);
    if (r >= 0)
        r = sd_id128_from_string(string, &id);
    if (r < 0) {
        set_bus_error(error, "could not get the id of the bus", r);
        return FALSE;
    }
    memcpy(out_id, id.bytes, STATE_ID_BYTES);
    return TRUE;
}

static gboolean
get_boot_id(guint8 *out_id, GError **error)
{
    g_autofree char *string = NULL;
    sd_id128_t id;

    if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &string, NULL, error))
        return FALSE;
    if (sd_id128_from_string(g_strchomp(string), &id) < 0) {
        set_bus_error(error, "could not read the boot id", -EINVAL);
        return FALSE;
    }
    memcpy(out_id, id.bytes, STATE_ID_BYTES);
    return TRUE;
}

gboolean
recovery_get_options(Server *server, StateOptions *options, GError **error)
{
    return get_bus_id(server, options->bus_id, error) && get_boot_id(options->boot_id, error);
}

/* Returns the unique names in the reply to ListNames, owned; NULL if it is an error. */
static GHashTable *
read_names(sd_bus_message *reply)
{
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const char *name;
    int r;

    if (sd_bus_message_is_method_error(reply, NULL) ||
        sd_bus_message_enter_container(reply, 'a', "s") < 0)
        return NULL;
    while ((r = sd_bus_message_read_basic(reply, 's', &name)) > 0)
        if (name[0] == ':')
            g_hash_table_add(names, g_strdup(name));
    return r < 0 ? NULL : g_steal_pointer(&names);
}

/* ---- the steps */

/* The request that is not restored, if any. Its client is notified when it exists. */
typedef struct {
    Agent *agent; /* NULL: none */
    guint64 id;
    char *bucket;
    char *name;
    LockMode mode;
} LostRequest;

struct Recovery {
    State *state;            /* locked, and not restored yet */
    sd_bus_slot *list_names; /* the question to the bus */
    GPtrArray *agents;       /* of Agent, owned: all that were restored */
    LostRequest lost;
};

static void
on_lost(
    Agent *agent, const char *bucket, const char *name, const LockRequest *stored, gpointer data)
{
    LostRequest *lost = data;

    lost->agent = agent_ref(agent);
    lost->id = stored->id;
    lost->bucket = g_strdup(bucket);
    lost->name = g_strdup(name);
    lost->mode = stored->mode;
}

/* Expired requests time out before disconnects make them grantable, so the outcome does not depend
 * on what happened first while no service was running. */
static void
catch_up(UserAgent *user_agent, GHashTable *names, GPtrArray *agents)
{
    user_agent_expire(user_agent);
    for (guint i = 0; i < agents->len; i++) {
        Agent *agent = agents->pdata[i];

        if (!g_hash_table_contains(names, agent->client_id))
            user_agent_terminate(user_agent, agent);
    }
    user_agent_process_all(user_agent);
}

static gboolean
run_steps(Server *server, Recovery *self, GHashTable *names, GError **error)
{
    UserAgent *user_agent = &server->user_agent;
    GPtrArray *agents;

    user_agent_set_time(user_agent, g_get_monotonic_time(), g_get_real_time());
    agents = state_restore(self->state, user_agent, on_lost, &self->lost, error);
    if (agents == NULL)
        return FALSE;
    g_ptr_array_unref(self->agents);
    self->agents = agents;
    cluster_lose_unconfigured(server->cluster, user_agent);
    catch_up(user_agent, names, self->agents);
    return state_begin(self->state, user_agent, error);
}

/* Creates the clients, and queues the signals of all changes for the end of the turn. */
static void
notify(Server *server, const Recovery *self)
{
    const LostRequest *lost = &self->lost;

    for (guint i = 0; i < self->agents->len; i++) {
        Agent *agent = self->agents->pdata[i];

        if (!agent->terminated)
            admission_restore_client(server, agent);
    }
    if (server->cluster != NULL)
        cluster_begin(server->cluster, state_get_deadline_us(server->state));
    if (lost->agent != NULL && lost->agent->server_data != NULL)
        encode_lost(lost->agent->server_data, lost->bucket, lost->id, lost->name, lost->mode);
    notify_effects(server);
    state_end_recovery();
}

/* Instead of it, for a service that can't start: everything remains in the state, and no client is
 * notified. */
static void
drop(Server *server, const Recovery *self)
{
    UserAgent *user_agent = &server->user_agent;

    user_agent_shut_down(user_agent);
    for (guint i = 0; i < self->agents->len; i++)
        user_agent_lose(user_agent, self->agents->pdata[i]);
    effects_clear(&user_agent->effects);
}

static int
on_names(sd_bus_message *reply, void *userdata, sd_bus_error *bus_error)
{
    Server *server = userdata;
    Recovery *self = server->recovery;
    g_autoptr(GHashTable) names = read_names(reply);
    g_autoptr(GError) error = NULL;

    if (server->stage != SERVER_STARTING)
        return 1;
    if (names == NULL) {
        lifecycle_fail(server, "the bus does not reply to ListNames");
    } else if (!run_steps(server, self, names, &error)) {
        drop(server, self);
        lifecycle_fail(server, "%s", error->message);
    } else {
        server->state = g_steal_pointer(&self->state);
        notify(server, self);
        recovery_free(server);
        lifecycle_run(server);
    }
    return 1;
}

/* Asynchronous, since a blocking call would queue all messages before the reply in memory. */
void
recovery_start(Server *server, State *state)
{
    Recovery *self = g_new0(Recovery, 1);
    int r;

    server->recovery = self;
    self->state = state;
    self->agents = g_ptr_array_new();
    r = sd_bus_call_method_async(server->bus->connection, &self->list_names, BUS_DRIVER_NAME,
                                 BUS_DRIVER_PATH, BUS_DRIVER_INTERFACE, "ListNames", on_names,
                                 server, "");
    if (r < 0)
        lifecycle_fail(server, "cannot call ListNames: %s", g_strerror(-r));
}

void
recovery_free(Server *server)
{
    Recovery *self = g_steal_pointer(&server->recovery);

    if (self == NULL)
        return;
    g_clear_pointer(&self->state, state_free);
    g_clear_pointer(&self->list_names, sd_bus_slot_unref);
    g_ptr_array_unref(self->agents);
    g_clear_pointer(&self->lost.agent, agent_unref);
    g_free(self->lost.bucket);
    g_free(self->lost.name);
    g_free(self);
}
