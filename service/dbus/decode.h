/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Decoding of D-Bus messages into calls.
 *
 * Decoding is strict and doesn't depend on the state of the service. Each method call results in a
 * LockCall; if there is no such method or an argument is invalid, in one with a refusal, which is
 * replied to in its turn like any other call. */

#pragma once

#include "bus.h"
#include "lock-call.h"

/* Decodes a method call. Its strings are valid as long as the message, and until the next call of
 * this. */
void decode_call(Bus *bus, sd_bus_message *message, LockCall *out_call);
