/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes JSON, compact and on one line.
 *
 * Beyond what JSON demands, every character that a terminal might obey is escaped too. Keys are
 * NULL in arrays. The caller opens and closes in pairs. */

#pragma once

#include <glib.h>

typedef struct {
    GString *text; /* owned */
    gboolean wants_comma;
} Json;

void json_init(Json *json);
void json_open(Json *json, const char *key, char bracket);
void json_close(Json *json, char bracket);
void json_string(Json *json, const char *key, const char *value);
void json_number(Json *json, const char *key, guint64 value);

/* Prints the line to standard output and starts afresh. */
void json_print(Json *json);
void json_clear(Json *json);
