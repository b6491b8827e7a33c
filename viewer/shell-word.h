/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Quotes untrusted text for a shell, in a command that a person pastes into a terminal. */

#pragma once

#include <glib.h>

/* Returns an owned word for POSIX shells, or, for a text with characters that a terminal could take
 * as keys, or that are not visible, for those that have $'...', such as bash and zsh. All
 * characters of the word are visible. */
char *viewer_quote_for_shell(const char *text);
