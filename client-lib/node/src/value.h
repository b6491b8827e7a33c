/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Values of JavaScript from those of C, and back. */

#pragma once

#include <node_api.h>
#include <weblocks/weblocks.h>

/* More than the service accepts, so that what is cut is refused. */
#define STRING_BYTES_MAX 1100

napi_value value_new_null(napi_env env);
napi_value value_new_number(napi_env env, double number);
napi_value value_new_string(napi_env env, const char *string);
void value_set_string(napi_env env, napi_value object, const char *name, const char *string);

/* An array of {name, mode, clientId} from a list of WebLocksLockInfo. */
napi_value value_new_list(napi_env env, GListModel *list);

/* Returns 0 if it is not a number. */
gint64 value_get_number(napi_env env, napi_value value);

/* Returns NULL if it is not a string. */
const char *value_get_string(napi_env env, napi_value value, char buffer[STRING_BYTES_MAX]);

/* The codes of ../../js/dom-exception.js. */
const char *value_get_code(const GError *error);
