/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A JSON writer: compact output on one line.
 *
 * Besides the characters that JSON requires to be escaped, it escapes control, formatting and other
 * invisible characters, so that the output is safe on a terminal. `key` is NULL for a member of an
 * array. The caller pairs json_open() with json_close(). */

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
/* An array of strings; NULL: an empty one. */
void json_strings(Json *json, const char *key, const char *const *values);
void json_number(Json *json, const char *key, guint64 value);
void json_real(Json *json, const char *key, double value); /* a finite one */

/* Prints the line to standard output and frees it. */
void json_print(Json *json);
