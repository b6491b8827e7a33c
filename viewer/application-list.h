/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The entries of a lock table that are shown, grouped by application.
 *
 * `applications` is a list of ViewerApplication, sorted by name. Each has its entries in a list
 * of its own, which this object fills; so only one ViewerApplicationList at a time may contain an
 * application. Applications without an entry are not in the list. */

#pragma once

#include "entry.h"

typedef enum {
    VIEWER_SHOW_ALL,
    VIEWER_SHOW_HELD,
    VIEWER_SHOW_WAITING,
} ViewerShow;

/* Others only read `applications`. After a change of what is shown,
 * viewer_application_list_update() is to be called for all entries. */
typedef struct {
    GListStore *applications;
    char *words; /* only entries that match; as g_utf8_casefold() makes them */
    ViewerShow show;
} ViewerApplicationList;

ViewerApplicationList *viewer_application_list_new(void);
void viewer_application_list_free(ViewerApplicationList *self);

/* Adds and removes those of the entries that have to be shown or not: they have been created, have
 * ended, or what is shown has changed. */
void viewer_application_list_update(ViewerApplicationList *self, GPtrArray *entries);
