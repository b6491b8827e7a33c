/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks hold`: prints the token and holds the lock until the reader of the output has closed
 * it, or until the end of standard input. */

#include <errno.h>
#include <glib-unix.h>
#include <glib/gi18n.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/holder.h"
#include "cli/inherited.h"
#include "cli/signals.h"
#include "cli/status.h"

typedef struct {
    Holder holder;
    gboolean until_stdin_ends;
} Hold;

/* Before the grant, the lock could not be acquired. */
static void
end(Holder *holder)
{
    holder_end(holder, holder->phase == PHASE_WAIT ? holder->options.conflict_status : STATUS_OK);
}

static gboolean
on_output_closed(int fd, GIOCondition condition, gpointer data)
{
    end(data);
    return G_SOURCE_REMOVE;
}

/* The input is discarded. */
static gboolean
on_input(int fd, GIOCondition condition, gpointer data)
{
    char bytes[4096];
    ssize_t n = read(fd, bytes, sizeof bytes);

    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return G_SOURCE_CONTINUE;
    end(data);
    return G_SOURCE_REMOVE;
}

static void
on_granted(Holder *holder)
{
    Status status = STATUS_OK;

    printf("%" G_GUINT64_FORMAT "\n", web_locks_lock_get_token(holder->locks->pdata[0]));
    if (!flush_output(&status))
        holder_end(holder, (int)status);
}

static void
on_lost(Holder *holder, const char *text)
{
    complain("%s", text);
    holder_end(holder, STATUS_LOST);
}

static void
on_signal(Holder *holder, int number, gboolean from_terminal)
{
    if (number != SIGCHLD)
        holder_end(holder, STATUS_SIGNALLED + number);
}

int
command_hold(const Command *command, int argc, char **argv)
{
    static const HolderEvents events = {on_granted, on_lost, on_signal};
    Hold hold = {.holder = {.options = HOLDER_OPTIONS_DEFAULT, .events = &events}};
    const Option own[] = {{"stdin", 0, NULL,
                           N_("Hold the lock until standard input ends, not until the output is"
                              " closed"),
                           option_set, &hold.until_stdin_ends},
                          {NULL}};
    g_autofree Option *table = holder_options_table(&hold.holder.options, own);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    const char *name;
    int status;

    hold.holder.names = names;
    if (!options_parse(command, table, &argc, &argv, &status))
        return status;
    name = options_get_lock_name(command, argc, argv, &status);
    if (name == NULL)
        return status;
    holder_add_name(&hold.holder, name);
    if (!holder_options_check(&hold.holder.options, command))
        return STATUS_USAGE;
    /* That of an earlier `weblocks hold` of the script may be among them. */
    inherited_close();
    if (hold.until_stdin_ends)
        g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_ERR | G_IO_HUP, on_input, &hold);
    else
        /* poll() reports POLLERR when the reader of a pipe has closed it. */
        g_unix_fd_add(STDOUT_FILENO, G_IO_ERR | G_IO_HUP, on_output_closed, &hold);
    signals_take();
    status = holder_main(&hold.holder);
    holder_clear(&hold.holder);
    return status;
}
