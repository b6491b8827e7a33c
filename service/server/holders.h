/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Notifying the holders of locks that somebody waits for these, or that nobody does any more.
 *
 * This happens at the end of a turn, so that what changes back within a turn is not reported. A
 * change of one queue may concern thousands of holders: those that one turn does not reach are
 * notified in later ones. A client gets no further notification before it has read the last ones;
 * then it is runnable. */

#pragma once

#include "client.h"

/* Notifies some of the holders that have to be; there are more if UserAgent.wanted is not empty. */
void holders_notify(Server *server);

/* Notifies the client of its locks, unless it has not read the last notifications. */
void holders_notify_client(Client *client);
