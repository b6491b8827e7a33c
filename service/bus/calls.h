/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The way in for every method call of the contract: whose it is, whether it can be served now, and
 * its reply.
 *
 * Every message comes here first. A call of which object, interface, member and signature are right
 * is taken, and sd-bus never sees it. Of the others sd-bus refuses what it must (UnknownObject,
 * UnknownMethod, InvalidArgs for a wrong signature) and answers what is its own (properties,
 * introspection). */

#pragma once

#include "common/sd-bus.h"
#include "service/bus/client.h"

/* The sd-bus callback of all methods, for which calls_take() leaves none. Should sd-bus ever take
 * something for a call of one that we don't, it is refused. */
int calls_on_method(sd_bus_message *call, void *userdata, sd_bus_error *error);

/* For every message before sd-bus looks for its object, which takes longer than all the rest:
 * whether it was a call of the contract that is right in every way, and has been taken; or any
 * other that sd-bus must not answer now. */
gboolean calls_take(Link *link, sd_bus_message *message);

/* Serves a call of an identified client, which has waited long enough, and sees to its error
 * reply. */
void calls_serve(Client *client, sd_bus_message *call, gboolean is_readable);
