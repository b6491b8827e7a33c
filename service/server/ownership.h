/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which instance serves: the one that owns the name of the service on the bus and, with stored
 * state, has locked that.
 *
 * The lock is taken first, and nobody waits for the name while it has the lock. Only with --replace
 * the name is first: it is taken from an instance that has this option too, which makes that exit.
 * A state directory that can't be used is an error before that.
 *
 * Both may belong to an instance that is about to end:
 *
 *   - the name to one whose end the bus has not noticed yet. It is waited for PATIENCE_SECS;
 *   - the lock, which an instance releases last. It is waited for PATIENCE_SECS, and beyond that
 *     while the instance that had the name is connected to the bus, which can take long if it has
 *     been stopped. If nobody has the name, the lock is that of an instance that ends, which takes
 *     up to 5 s itself: it is waited for ENDING_SECS more, unless this instance has taken the name
 *     by --replace. That is less than the time for which a bus waits for a service that it has
 *     started.
 *
 * An instance that loses the name while it starts ends. If the new owner ends before it serves, the
 * bus replies to its deferred calls with NoReply, and the old one, when it continues, takes the
 * name back: when a serving instance loses the name, it requests it again without replacing another
 * owner. So either another instance has the name and this one ends, or that one has already gone
 * and this one continues. So there is always one of them. */

#pragma once

#include <glib.h>

#include "client.h"
#include "state.h"

/* `replace`: take the name from an instance that has this option too. Without a directory there is
 * no stored state, and the name is all. The ids in `options` are not used. */
Ownership *ownership_new(gboolean replace, const StateOptions *options);
void ownership_free(Ownership *ownership);

/* Subscribes to changes of the owners of names (NameOwnerChanged), before the service can be called
 * by its name: other instances that take or release it, and connections that leave the bus
 * (scheduler_on_disconnected). Blocks, so it is for the start only. Returns a negative errno on
 * failure. */
int ownership_subscribe(Server *server);

/* Takes both, now or later in the main loop, and then restores the state (recovery_start), or runs
 * the service without (lifecycle_run). If it can't take them, the service can't start
 * (lifecycle_fail). Blocks for some answers of the bus. */
void ownership_take(Server *server);

/* For the end of each turn of a service that stops: releases the name, unless it is being released
 * or queued messages have to be sent first. When the bus has answered, calls
 * lifecycle_on_name_released(). */
void ownership_release_name(Server *server);
