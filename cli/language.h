/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The language and the characters of messages, those of the environment.
 *
 * They are set before the first message, and not when the program starts: to find and map the files
 * of a locale takes a tenth of the time of a short `weblocks run`, which prints nothing. */

#pragma once

#include <glib/gi18n.h>

#undef _
#define _(text) language_translate(text)

/* Returns whether they were not set before. */
gboolean language_set(void);

const char *language_translate(const char *text) G_GNUC_FORMAT(1);

/* What g_strerror() returns, in this language. */
const char *language_strerror(int number);
