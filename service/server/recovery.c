/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "recovery.h"

#include <string.h>

#include "admission.h"
#include "bus-names.h"
#include "bus.h"
#include "cluster.h"
#include "encode.h"
#include "lifecycle.h"
#include "operations.h"
#include "state.h"

/* ---- asking the bus */

/* The id of the bus. (The GUID of the authentication is that of an address.) */
static int
get_bus_id(Server *server, sd_id128_t *out_id)
{
    g_autoptr(SdBusMessage) reply = NULL;
    const char *string;
    int r = sd_bus_call_method(server->bus->connection, BUS_DRIVER_NAME, BUS_DRIVER_PATH,
                               BUS_DRIVER_INTERFACE, "GetId", NULL, &reply, "");

    if (r >= 0)
        r = sd_bus_message_read_basic(reply, 's', &string);
    return r < 0 ? r : sd_id128_from_string(string, out_id);
}

gboolean
recovery_get_options(Server *server, StateOptions *options, GError **error)
{
    sd_id128_t bus_id, boot_id;
    int r = get_bus_id(server, &bus_id);

    if (r >= 0)
        r = sd_id128_get_boot(&boot_id);
    if (r < 0) {
        g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(-r),
                    "could not get the ids of the bus and the boot: %s", g_strerror(-r));
        return FALSE;
    }
    memcpy(options->bus_id, bus_id.bytes, STATE_ID_BYTES);
    memcpy(options->boot_id, boot_id.bytes, STATE_ID_BYTES);
    return TRUE;
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
run_steps(Server *server, Restored *restored, GHashTable *names, GError **error)
{
    UserAgent *user_agent = &server->user_agent;

    user_agent_set_time(user_agent, g_get_monotonic_time(), g_get_real_time());
    if (!state_restore(server->state, user_agent, restored, error))
        return FALSE;
    cluster_lose_unconfigured(server->cluster, user_agent);
    catch_up(user_agent, names, restored->agents);
    if (state_begin(server->state, user_agent, error))
        return TRUE;
    restored_undo(restored, user_agent);
    return FALSE;
}

/* Creates the clients, and queues the signals of all changes for the end of the turn. */
static void
notify(Server *server, const Restored *restored)
{
    const Agent *loser = restored->lost.agent;

    for (guint i = 0; i < restored->agents->len; i++) {
        Agent *agent = restored->agents->pdata[i];

        if (!agent->terminated)
            admission_restore_client(server, agent);
    }
    if (server->cluster != NULL)
        cluster_begin(server->cluster, restored->numbers.deadline_us);
    if (loser != NULL && loser->server_data != NULL)
        encode_lost(loser->server_data, restored->lost.bucket, restored->lost.id,
                    restored->lost.name, restored->lost.mode);
    notify_effects(server);
    state_end_recovery();
}

static int
on_names(sd_bus_message *reply, void *userdata, sd_bus_error *bus_error)
{
    Server *server = userdata;
    g_autoptr(GHashTable) names = read_names(reply);
    g_autoptr(GError) error = NULL;
    Restored restored = {0};

    if (server->stage != SERVER_STARTING)
        return 1;
    if (sd_bus_message_is_method_error(reply, SD_BUS_ERROR_NO_REPLY) > 0) {
        recovery_start(server);
    } else if (names == NULL) {
        lifecycle_fail(server, "the bus refuses ListNames");
    } else if (!run_steps(server, &restored, names, &error)) {
        lifecycle_fail(server, "%s", error->message);
    } else {
        notify(server, &restored);
        lifecycle_run(server);
    }
    restored_clear(&restored);
    return 1;
}

/* Asynchronous, since a blocking call would queue all messages before the reply in memory. The
 * reply is behind all that clients have sent meanwhile, so it may be too late; then the bus is
 * asked again.
 */
void
recovery_start(Server *server)
{
    int r =
        sd_bus_call_method_async(server->bus->connection, NULL, BUS_DRIVER_NAME, BUS_DRIVER_PATH,
                                 BUS_DRIVER_INTERFACE, "ListNames", on_names, server, "");

    if (r < 0)
        lifecycle_fail(server, "cannot call ListNames: %s", g_strerror(-r));
}
