/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Handles of the lock "a". What the tests with them show is so with and without cells, as
 * WEBLOCKS_TEST_SERVICE_OPTION says; what is different is checked by handle_expect_parked(). */

#pragma once

#include "tests/client/fixture.h"

gboolean handles_have_cells(void);

WebLocksHandle *handle_new(WebLocksManager *manager);

/* Each checks the state afterwards, too. */
void handle_enter(WebLocksHandle *handle);
void handle_leave(WebLocksHandle *handle);
void handle_enter_and_leave(WebLocksHandle *handle);
void handle_refuse(WebLocksHandle *handle, GQuark domain, int code);
/* The end of an asynchronous enter. */
void handle_entered(WebLocksHandle *handle, Answer *answer);
void handle_not_entered(WebLocksHandle *handle, Answer *answer, GQuark domain, int code);

/* The lock can be entered without a message, if there are cells. */
void handle_expect_parked(WebLocksHandle *handle);
