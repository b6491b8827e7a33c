/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The file `session` of the gateway's state directory: the session with the engine, to which the
 * next process of this host reattaches, so that its claims continue. It is a secret, and valid for
 * one boot. */

#pragma once

#include "engine.h"

/* Returns FALSE if there is none of this boot. `timeout_ms` is 0 if the file is of a version that
 * did not store it. */
gboolean session_file_load(const char *directory, EngineSession *out_session);

/* A failure is logged: then a new process begins a new session. */
void session_file_save(const char *directory, const EngineSession *session);
void session_file_delete(const char *directory);
