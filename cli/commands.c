/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/commands.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/language.h"
#include "cli/run.h"
#include "cli/status.h"
#include "config.h"

const char module_version[] = WEBLOCKS_VERSION;

static int command_help(const Command *command, int argc, char **argv);

static const Command commands[] = {
    {"run", "NAME [--and NAME]... [--] COMMAND [ARGUMENT...]",
     N_("Run a command while holding a lock"), TRUE, command_run},
    {"hold", "NAME", N_("Hold a lock for the script that reads the output"), FALSE, command_hold},
    {"list", "[NAME]", N_("List locks and requests with process, age and purpose"), FALSE,
     command_list},
    {"watch", "[NAME]", N_("Show held locks and pending requests as they change"), FALSE,
     command_watch},
    {"break", "NAME", N_("End the held locks of a name, also of a sandboxed application"), FALSE,
     command_break},
    {"steal", "NAME", N_("Break a lock, so that the next pending request is granted"), FALSE,
     command_steal},
    {"cluster", "[status]", N_("Show the connection of this host to others that share locks"),
     FALSE, command_cluster},
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
    return command->function(command, 2, line);
}

int
weblocks_main(int argc, char **argv, Keeper *keeper)
{
    const Command *command;
    const char *word = argc > 1 ? argv[1] : NULL;
    Status status = STATUS_OK;

    run_begin(keeper);
    if (word == NULL) {
        print_commands(stderr);
        return STATUS_USAGE;
    }
    command = find_command(word);
    if (command == NULL || command->function != command_run)
        language_set();
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        print_commands(stdout);
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        puts("weblocks " WEBLOCKS_VERSION);
    else if (command != NULL)
        status = (Status)command->function(command, argc - 1, argv + 1);
    else
        return complain_of_command(word);
    flush_output(&status);
    complain_flush();
    return (int)status;
}
