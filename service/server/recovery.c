/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "recovery.h"

#include <errno.h>
#include <string.h>

#include "admission.h"
#include "bus-names.h"
#include "cluster.h"
#include "encode.h"
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
    return sd_bus_call_method(server->bus.connection, BUS_DRIVER_NAME, BUS_DRIVER_PATH,
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
    GPtrArray *agents; /* of Agent, owned: all that were restored */
    LostRequest lost;
};

static void
recovery_free(Recovery *self)
{
    g_ptr_array_unref(self->agents);
    g_clear_pointer(&self->lost.agent, agent_unref);
    g_free(self->lost.bucket);
    g_free(self->lost.name);
    g_free(self);
}

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

gboolean
recovery_get_options(Server *server, StateOptions *options, GError **error)
{
    return get_bus_id(server, options->bus_id, error) && get_boot_id(options->boot_id, error);
}

static gboolean
run_steps(Server *server, State *state, Recovery *self, GHashTable *names, GError **error)
{
    UserAgent *user_agent = &server->session.user_agent;

    GPtrArray *agents;

    session_tick(&server->session);
    agents = state_restore(state, user_agent, on_lost, &self->lost, error);
    if (agents == NULL)
        return FALSE;
    g_ptr_array_unref(self->agents);
    self->agents = agents;
    cluster_lose_unconfigured(server->cluster, user_agent);
    catch_up(user_agent, names, self->agents);
    return state_begin(state, user_agent, error);
}

Recovery *
recovery_run(Server *server, State *state, GHashTable *names, GError **error)
{
    Recovery *self = g_new0(Recovery, 1);

    self->agents = g_ptr_array_new();
    if (!run_steps(server, state, self, names, error)) {
        recovery_drop(server, self);
        state_free(state);
        return NULL;
    }
    server->state = state;
    return self;
}

void
recovery_notify(Server *server, Recovery *self)
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
    recovery_free(self);
}

void
recovery_drop(Server *server, Recovery *self)
{
    UserAgent *user_agent = &server->session.user_agent;

    user_agent_shut_down(user_agent);
    for (guint i = 0; i < self->agents->len; i++)
        user_agent_lose(user_agent, self->agents->pdata[i]);
    effects_clear(&user_agent->effects);
    recovery_free(self);
}
