/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the gateway keeps in its state directory, for the next process of this host:
 *
 * `session`: the session with the engine, to which a new process reattaches, so that its claims
 * continue. It is a secret, and valid for one boot.
 *
 * `instance`: the identity of the engine's data. If the engine has another one, its data were wiped
 * or replaced, and tokens might be issued twice: then nothing is used until an administrator
 * deletes this file. */

#pragma once

#include "engine.h"

/* Returns FALSE if there is none of this boot. */
gboolean session_file_load(const char *directory, EngineSession *out_session);

/* A failure is logged: then a new process begins a new session. */
void session_file_save(const char *directory, const EngineSession *session);
void session_file_delete(const char *directory);

/* Returns a new string, or NULL if there is none. */
char *session_file_load_instance(const char *directory);
gboolean session_file_save_instance(const char *directory, const char *instance, GError **error);
