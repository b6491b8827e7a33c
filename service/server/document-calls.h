/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* OpenDocument, and those of these calls that wait for the document portal. */

#pragma once

#include "client.h"
#include "lock-call.h"

void document_calls_init(Server *server);
void document_calls_fini(Server *server);

/* Replies now, or within two seconds. */
void document_calls_open(Client *client, const LockCall *call);

/* Replies to all calls that wait. */
void document_calls_finish_all(Server *server);
