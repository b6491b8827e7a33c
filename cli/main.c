/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* weblocks: a command-line interface to the Web Locks service, for users and scripts.
 *
 * This file has the table of commands. */

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/language.h"
#include "cli/module.h"
#include "cli/signals.h"
#include "cli/status.h"
#include "config.h"

static int command_help(const Command *command, int argc, char **argv);

static const Command commands[] = {
    {"run", "NAME [--and NAME]... [--] COMMAND [ARGUMENT...]",
     N_("Run a command while holding a lock"), TRUE, command_run},
    {"hold", "NAME", N_("Hold a lock for the script that reads the output"), FALSE, NULL},
    {"list", "[NAME]", N_("List locks and requests with process, age and purpose"), FALSE, NULL},
    {"watch", "[NAME]", N_("Show held locks and pending requests as they change"), FALSE, NULL},
    {"break", "NAME", N_("End the held locks of a name, also of a sandboxed application"), FALSE,
     NULL},
    {"steal", "NAME", N_("Break a lock, so that the next pending request is granted"), FALSE, NULL},
    {"cluster", "[status]", N_("Show the connection of this host to others that share locks"),
     FALSE, NULL},
    {"help", "[COMMAND]", N_("List the commands, or show the options of a command"), FALSE,
     command_help},
};

static const Command *
find_command(const char *name)
{
    for (guint i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static int
call(const Command *command, int argc, char **argv)
{
    g_autofree char *symbol = g_strconcat("command_", command->name, NULL);
    g_autoptr(GError) error = NULL;
    CommandFunction *function = command->function;

    if (function != command_run)
        language_set();
    if (function == NULL)
        function = module_find(symbol, &error);
    if (function != NULL)
        return function(command, argc, argv);
    complain("%s", error->message);
    return STATUS_SOFTWARE;
}

static void
print_commands(FILE *to)
{
    fprintf(to, "%s weblocks COMMAND [OPTION...] [ARGUMENT...]\n\n", _("usage:"));
    for (guint i = 0; i < G_N_ELEMENTS(commands); i++)
        fprintf(to, "  %-9s%s\n", commands[i].name, _(commands[i].help));
    fprintf(to, "\n%s\n", _("'weblocks COMMAND --help' shows the options of a command."));
}

static int
complain_of_command(const char *name)
{
    complain(_("unknown command '%s'; 'weblocks help' lists the commands"), name);
    return STATUS_USAGE;
}

static int
command_help(const Command *command, int argc, char **argv)
{
    const Option options[] = {{NULL}};
    char *line[] = {NULL, (char *)"--help", NULL};
    int status;

    if (!options_parse(command, options, &argc, &argv, &status))
        return status;
    if (argc > 1)
        return options_complain(command, _("unexpected argument '%s'"), argv[1]);
    if (argc == 0) {
        print_commands(stdout);
        return STATUS_OK;
    }
    command = find_command(argv[0]);
    if (command == NULL)
        return complain_of_command(argv[0]);
    line[0] = argv[0];
    optind = 0; /* reinitializes getopt_long() */
    return call(command, 2, line);
}

/* Opens /dev/null for standard streams that this process was started without. Otherwise a file or
 * socket opened later could get the number of a standard stream, and output would be written to it.
 * The descriptors are close-on-exec, so a command is also started without these streams. */
static void
hold_standard_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int
main(int argc, char **argv)
{
    const Command *command;
    const char *word = argc > 1 ? argv[1] : NULL;
    Status status = STATUS_OK;

    hold_standard_streams();
    signals_ignore_pipe();
    if (word == NULL) {
        print_commands(stderr);
        return STATUS_USAGE;
    }
    command = find_command(word);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        print_commands(stdout);
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        puts("weblocks " WEBLOCKS_VERSION);
    else if (command != NULL)
        status = (Status)call(command, argc - 1, argv + 1);
    else
        return complain_of_command(word);
    flush_output(&status);
    complain_flush();
    return (int)status;
}
