/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Decoding of D-Bus messages into calls.
 *
 * Decoding is strict and doesn't depend on the state of the service. Each message that is a call of
 * one of its interfaces results in a LockCall; if an argument is invalid, in one with a refusal,
 * which is replied to in its turn like any other call. A LockCall borrows its strings from the
 * message. */

#pragma once

#include "bus.h"
#include "lock-call.h"

/* Returns FALSE if the message is not a call of the service's interfaces: then sd-bus has to reply
 * (UnknownObject, UnknownMethod, InvalidArgs for a wrong signature, properties, introspection).
 * Otherwise the call is decoded; if its body is invalid, a refusal is set. Its strings are valid as
 * long as the message, and until the next call of bus_get_bucket(). */
gboolean decode_call(Bus *bus, sd_bus_message *message, LockCall *out_call);

/* Decodes a method call that is not one of the service's interfaces. */
void decode_other(sd_bus_message *message, LockCall *out_call);
