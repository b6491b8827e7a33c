/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/principals.h"

#include "common/wire-names.h"

struct CredentialsLookup {
    sd_bus_slot *slot;
    CredentialsDone done;
    gpointer data;
};

/* Reads the a{sv} of GetConnectionCredentials. FALSE unless there is a uid in it. */
static gboolean
read_credentials(sd_bus_message *reply, Credentials *out_credentials)
{
    guint32 uid = G_MAXUINT32, pid = 0;
    int r;

    if (sd_bus_message_enter_container(reply, 'a', "{sv}") < 0)
        return FALSE;
    while ((r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
        const char *key;

        if (sd_bus_message_read_basic(reply, 's', &key) <= 0)
            return FALSE;
        if (g_str_equal(key, "UnixUserID"))
            r = sd_bus_message_read(reply, "v", "u", &uid);
        else if (g_str_equal(key, "ProcessID"))
            r = sd_bus_message_read(reply, "v", "u", &pid);
        else
            r = sd_bus_message_skip(reply, "v");
        if (r < 0 || sd_bus_message_exit_container(reply) < 0)
            return FALSE;
    }
    if (r < 0 || uid == G_MAXUINT32)
        return FALSE;

    *out_credentials = (Credentials){
        .identity = {.uid = uid, .kind = PRINCIPAL_UNSANDBOXED, .app_id = ""},
        .pid = pid,
    };
    return TRUE;
}

static int
on_credentials(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    CredentialsLookup *lookup = userdata;
    Credentials credentials;
    gboolean known =
        !sd_bus_message_is_method_error(reply, NULL) && read_credentials(reply, &credentials);

    lookup->done(known ? &credentials : NULL, lookup->data);
    return 1;
}

CredentialsLookup *
principals_look_up(sd_bus *bus, const char *unique_name, CredentialsDone done, gpointer data)
{
    g_autoptr(CredentialsLookup) lookup = g_new0(CredentialsLookup, 1);
    int r;

    lookup->done = done;
    lookup->data = data;
    r = sd_bus_call_method_async(bus, &lookup->slot, WIRE_DRIVER_NAME, WIRE_DRIVER_PATH,
                                 WIRE_DRIVER_INTERFACE, "GetConnectionCredentials", on_credentials,
                                 lookup, "s", unique_name);
    return r < 0 ? NULL : g_steal_pointer(&lookup);
}

void
credentials_lookup_free(CredentialsLookup *lookup)
{
    if (lookup == NULL)
        return;
    sd_bus_slot_unref(lookup->slot);
    g_free(lookup);
}
