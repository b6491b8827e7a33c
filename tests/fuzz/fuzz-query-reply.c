/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A reply to Query of any bytes, read in place as the library reads large ones.
 *
 * A well-formed body is accepted, with the same contents as GDBus reads. The bus doesn't transmit
 * others; no read extends beyond the message. */

#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/engine/bus-reply.h"
#include "client-lib/info-list.h"
#include "client-lib/lock-info-private.h"
#include "tests/fuzz/fuzz.h"

/* A property of WebLocksLockInfo has this type, and no entry here has a manager. Linking the real
 * one takes the whole library, which is a quarter of what all targets compile. */
GType
web_locks_manager_get_type(void)
{
    return G_TYPE_OBJECT;
}

/* Nobody asks for it here. */
void
web_locks_lock_info_find_who(WebLocksLockInfo *info)
{
}

/* GDBus accepts invalid messages, so the message is also written again and compared. */
static gboolean
is_well_formed(GDBusMessage *message, const uint8_t *data, size_t size)
{
    g_autofree guchar *blob = NULL;
    gsize blob_size;

    blob = g_dbus_message_to_blob(message, &blob_size, G_DBUS_CAPABILITY_FLAGS_NONE, NULL);
    return blob != NULL && blob_size == size && memcmp(blob, data, size) == 0;
}

static GVariant *
read_by_gdbus(const uint8_t *data, size_t size)
{
    gssize needed = size < 16 ? -1 : g_dbus_message_bytes_needed((guchar *)data, size, NULL);
    g_autoptr(GDBusMessage) message = NULL;
    GVariant *body;

    if (needed < 0 || (size_t)needed != size)
        return NULL;
    message =
        g_dbus_message_new_from_blob((guchar *)data, size, G_DBUS_CAPABILITY_FLAGS_NONE, NULL);
    if (message == NULL ||
        g_dbus_message_get_message_type(message) != G_DBUS_MESSAGE_TYPE_METHOD_RETURN)
        return NULL;
    body = g_dbus_message_get_body(message);
    if (body == NULL || !g_variant_is_of_type(body, G_VARIANT_TYPE("(" INFO_LIST_SIGNATURE ")")) ||
        !is_well_formed(message, data, size))
        return NULL;
    return g_variant_ref(body);
}

/* Creates all objects; `by_gdbus` NULL: there is nothing to compare with. */
static void
check_list(GListModel *infos, GVariant *by_gdbus)
{
    const guint n = g_list_model_get_n_items(infos);

    if (by_gdbus != NULL)
        g_assert_cmpuint(n, ==, g_variant_n_children(by_gdbus));
    for (guint i = 0; i < n; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(infos, i);
        const char *name, *mode, *client_id;

        if (by_gdbus == NULL)
            continue;
        g_variant_get_child(by_gdbus, i, "(&s&s&s)", &name, &mode, &client_id);
        g_assert_cmpstr(web_locks_lock_info_get_name(info), ==, name);
        g_assert_cmpstr(web_locks_lock_info_get_client_id(info), ==, client_id);
        g_assert_true((web_locks_lock_info_get_mode(info) == WEB_LOCKS_MODE_SHARED) ==
                      g_str_equal(mode, "shared"));
    }
    g_assert_null(g_list_model_get_item(infos, n));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GVariant) body = read_by_gdbus(data, size);
    g_autoptr(GVariant) held = NULL, pending = NULL;
    g_autoptr(GListModel) held_infos = NULL, pending_infos = NULL;
    g_autoptr(GBytes) bytes = NULL;
    BusReply reply;

    /* An unusual message header is left to GDBus. */
    if (!bus_reply_read(&reply, data, size))
        return 0;
    bytes = g_bytes_new(reply.body, reply.body_size);
    if (!info_list_read(bytes, &held_infos, &pending_infos)) {
        g_assert_null(body);
        return 0;
    }
    if (body != NULL) {
        held = g_variant_get_child_value(body, 0);
        pending = g_variant_get_child_value(body, 1);
    }
    check_list(held_infos, held);
    check_list(pending_infos, pending);
    return 0;
}
