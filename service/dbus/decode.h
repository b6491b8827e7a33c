/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* D-Bus messages to calls. */

#pragma once

#include "bus.h"
#include "lock-call.h"

/* FALSE if the message is not a call of the contract: then sd-bus has to answer it (UnknownObject,
 * UnknownMethod, InvalidArgs for a wrong signature, properties, introspection). Otherwise the call
 * is decoded, and has a refusal if its body is not as it should be. Its strings live as long as the
 * message and until the next call of bus_get_bucket(). */
gboolean decode_call(Bus *bus, sd_bus_message *message, LockCall *out_call);

/* The same for a message that is a call, but not one of the contract. */
void decode_other(sd_bus_message *message, LockCall *out_call);
