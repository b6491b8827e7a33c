/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The file `session` of the gateway's state directory: the session with the engine, to which the
 * next process of this host reattaches, so that its claims continue. It is a secret, and valid for
 * one boot. A process that ends in an orderly way adds the names for which it may have claims: the
 * next one then reads these to find claims that nobody needs, and not those of all hosts. */

#pragma once

#include "engine.h"

/* Returns FALSE if there is none of this boot. `timeout_ms` is 0 if the file is of a version that
 * did not store it. `out_paths` are those of the names; NULL: they are not known. */
gboolean session_file_load(const char *directory, EngineSession *out_session, char ***out_paths);

/* A failure is logged: then a new process begins a new session. `paths` has the paths of names as
 * its keys; NULL: they are not known. */
void session_file_save(const char *directory, const EngineSession *session, GHashTable *paths);
void session_file_delete(const char *directory);
