/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* weblocks: locks of the W3C Web Locks API for people and scripts.
 *
 * The table of verbs is all there is to it; a verb has its own file. */

#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/signals.h"
#include "cli/status.h"
#include "cli/verbs.h"
#include "config.h"

static int verb_help(const Verb *verb, int argc, char **argv);

static const Verb verbs[] = {
    {"run", "NAME [--] COMMAND [ARGUMENT...]", "Run a command while holding a lock", TRUE,
     verb_run},
    {"query", "", "Show which locks are held, and which are waited for", FALSE, verb_query},
    {"inspect", "[NAME]", "Show all there is to know: who, why, since when, behind whom", FALSE,
     verb_inspect},
    {"watch", "", "Show locks as they come and go", FALSE, verb_watch},
    {"steal", "NAME", "Take a lock from its holders, for the next one who waits", FALSE,
     verb_steal},
    {"help", "[VERB]", "Show the verbs, or the options of one", FALSE, verb_help},
};

static const Verb *
find_verb(const char *name)
{
    for (guint i = 0; i < G_N_ELEMENTS(verbs); i++) {
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    }
    return NULL;
}

static void
print_verbs(FILE *to)
{
    fputs("usage: weblocks VERB [OPTION...] [ARGUMENT...]\n\n", to);
    for (guint i = 0; i < G_N_ELEMENTS(verbs); i++)
        fprintf(to, "  %-9s%s\n", verbs[i].name, verbs[i].help);
    fputs("\n'weblocks VERB --help' tells a verb's options.\n", to);
}

static int
complain_of_verb(const char *name)
{
    complain("There is no verb '%s'; 'weblocks help' shows those there are", name);
    return STATUS_USAGE;
}

static int
verb_help(const Verb *verb, int argc, char **argv)
{
    const Option options[] = {{NULL}};
    char *line[] = {NULL, (char *)"--help", NULL};
    int status;

    if (!options_parse(verb, options, &argc, &argv, &status))
        return status;
    if (argc > 1)
        return options_complain(verb, "What is '%s'?", argv[1]);
    if (argc == 0) {
        print_verbs(stdout);
        return STATUS_OK;
    }
    verb = find_verb(argv[0]);
    if (verb == NULL)
        return complain_of_verb(argv[0]);
    line[0] = argv[0];
    optind = 0; /* getopt: from the start again */
    return verb->function(verb, 2, line);
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
    const Verb *verb;
    const char *word = argc > 1 ? argv[1] : NULL;
    Status status = STATUS_OK;

    setlocale(LC_ALL, "");
    hold_standard_streams();
    signals_ignore_pipe();
    if (word == NULL) {
        print_verbs(stderr);
        return STATUS_USAGE;
    }
    verb = find_verb(word);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        print_verbs(stdout);
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        puts("weblocks " WEBLOCKS_VERSION);
    else if (verb != NULL)
        status = (Status)verb->function(verb, argc - 1, argv + 1);
    else
        return complain_of_verb(word);
    flush_output(&status);
    return (int)status;
}
