/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* weblocks: locks of the W3C Web Locks API for people and scripts.
 *
 * The table of commands is all there is to it; a command has its own file. */

#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/signals.h"
#include "cli/status.h"
#include "config.h"

static int command_help(const Command *command, int argc, char **argv);

static const Command commands[] = {
    {"run", "NAME [--] COMMAND [ARGUMENT...]", "Run a command while holding a lock", TRUE,
     command_run},
    {"query", "", "Show which locks are held, and which are waited for", FALSE, command_query},
    {"inspect", "[NAME]", "Show all there is to know: who, why, since when, behind whom", FALSE,
     command_inspect},
    {"watch", "", "Show locks as they come and go", FALSE, command_watch},
    {"steal", "NAME", "Take a lock from its holders, for the next one who waits", FALSE,
     command_steal},
    {"help", "[COMMAND]", "Show the commands, or the options of one", FALSE, command_help},
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
    fputs("usage: weblocks COMMAND [OPTION...] [ARGUMENT...]\n\n", to);
    for (guint i = 0; i < G_N_ELEMENTS(commands); i++)
        fprintf(to, "  %-9s%s\n", commands[i].name, commands[i].help);
    fputs("\n'weblocks COMMAND --help' tells a command's options.\n", to);
}

static int
complain_of_command(const char *name)
{
    complain("There is no command '%s'; 'weblocks help' shows those there are", name);
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
        return options_complain(command, "What is '%s'?", argv[1]);
    if (argc == 0) {
        print_commands(stdout);
        return STATUS_OK;
    }
    command = find_command(argv[0]);
    if (command == NULL)
        return complain_of_command(argv[0]);
    line[0] = argv[0];
    optind = 0; /* getopt: from the start again */
    return command->function(command, 2, line);
}

/* Where we were given no standard stream, the next file that is opened would be one: nothing that
 * we print must get into a socket. A command is given what we were given: nothing. */
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

    setlocale(LC_ALL, "");
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
        status = (Status)command->function(command, argc - 1, argv + 1);
    else
        return complain_of_command(word);
    flush_output(&status);
    return (int)status;
}
