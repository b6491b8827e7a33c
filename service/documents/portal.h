/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Documents that an application has from the document portal (xdg-document-portal), as `ID/NAME`,
 * or `ID/NAME/REST` in a directory of the portal.
 *
 * Their files are on a FUSE that may never reply; so the portal is asked instead where the document
 * is, and whether the application may write it. It is not started for that: who has a document from
 * it has started it. */

#pragma once

#include <glib.h>

#include "lock-result.h"
#include "principal.h"
#include "sd-bus.h"

typedef struct PortalCall PortalCall;

/* `document`, on LOCK_RESULT_OK, is the name of the lock, borrowed. The call is freed by its owner,
 * also in here. */
typedef void (*PortalDone)(LockResult result, const char *document, gpointer data);

/* Whether it has that form. */
gboolean portal_can_have(const char *document);

/* Asks the portal for an application, and calls `done` from the main loop, within two seconds.
 * NULL: it can't be asked. */
PortalCall *portal_ask(sd_bus *bus,
                       const PrincipalIdentity *app,
                       const char *document,
                       PortalDone done,
                       gpointer data);
void portal_call_free(PortalCall *self);
