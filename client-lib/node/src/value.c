/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "value.h"

napi_value
value_new_null(napi_env env)
{
    napi_value value = NULL;

    napi_get_null(env, &value);
    return value;
}

napi_value
value_new_number(napi_env env, double number)
{
    napi_value value = NULL;

    napi_create_double(env, number, &value);
    return value;
}

napi_value
value_new_string(napi_env env, const char *string)
{
    napi_value value = NULL;

    napi_create_string_utf8(env, string, NAPI_AUTO_LENGTH, &value);
    return value;
}

void
value_set_string(napi_env env, napi_value object, const char *name, const char *string)
{
    napi_set_named_property(env, object, name, value_new_string(env, string));
}

napi_value
value_new_list(napi_env env, GListModel *list)
{
    napi_value array = NULL;

    napi_create_array(env, &array);
    for (guint i = 0; i < g_list_model_get_n_items(list); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(list, i);
        const gboolean is_shared = web_locks_lock_info_get_mode(info) == WEB_LOCKS_MODE_SHARED;
        napi_value object = NULL;

        napi_create_object(env, &object);
        value_set_string(env, object, "name", web_locks_lock_info_get_name(info));
        value_set_string(env, object, "mode", is_shared ? "shared" : "exclusive");
        value_set_string(env, object, "clientId", web_locks_lock_info_get_client_id(info));
        napi_set_element(env, array, i, object);
    }
    return array;
}

const char *
value_get_code(const GError *error)
{
    static const char *const codes[] = {
        [WEB_LOCKS_ERROR_NOT_SUPPORTED] = "not-supported",
        [WEB_LOCKS_ERROR_SECURITY] = "security",
        [WEB_LOCKS_ERROR_INVALID_STATE] = "invalid-state",
        [WEB_LOCKS_ERROR_CLOSED] = "closed",
        [WEB_LOCKS_ERROR_STOLEN] = "stolen",
        [WEB_LOCKS_ERROR_LOST] = "lost",
        [WEB_LOCKS_ERROR_TIMEOUT] = "timeout",
        [WEB_LOCKS_ERROR_NOT_HELD] = "not-held",
        [WEB_LOCKS_ERROR_LIMITS] = "limits",
        [WEB_LOCKS_ERROR_UNAVAILABLE] = "unavailable",
    };

    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT))
        return "invalid-argument";
    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        return "cancelled";
    if (error->domain == WEB_LOCKS_ERROR && (guint)error->code < G_N_ELEMENTS(codes))
        return codes[error->code];
    return "unknown";
}

gint64
value_get_number(napi_env env, napi_value value)
{
    gint64 number = 0;

    napi_get_value_int64(env, value, &number);
    return number;
}

const char *
value_get_string(napi_env env, napi_value value, char buffer[STRING_BYTES_MAX])
{
    return napi_get_value_string_utf8(env, value, buffer, STRING_BYTES_MAX, NULL) == napi_ok
               ? buffer
               : NULL;
}
