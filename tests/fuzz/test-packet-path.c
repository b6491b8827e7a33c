/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Through which files of the service a packet passes: from the moment when the main loop finds it
 * in a lock socket until its answer can be read.
 *
 * The service's sources are compiled into this program without optimization and with
 * -finstrument-functions, and the server is in this process (socket-world.h), with stored state.
 * Each function that is entered is recorded; addr2line names its file. The files must be the ones
 * that docs/architecture.md lists.
 *
 * Usage: test-packet-path ARCHITECTURE.MD [GTest options] */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/bus-names.h"
#include "service/state/state.h"
#include "tests/fuzz/socket-world.h"

/* In one more file, a packet would pass through more than its path needs. */
#define FILES_MAX 12

#define LIST_BEGIN "**The path of a request on a lock socket:**"

extern const char __executable_start[]; /* defined by the linker */

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

static const char *architecture_path;

static struct {
    GHashTable *functions; /* addresses; NULL: nothing is recorded */
    int fd;                /* the client's end of its socket */
    gboolean is_awaited;   /* an answer has not been received yet */
} record;

/* The compiled code calls this at the beginning of each function. */
void
__cyg_profile_func_enter(void *function, void *caller)
{
    const int saved_errno = errno;
    char byte;

    if (!record.is_awaited)
        return;
    if (recv(record.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
        record.is_awaited = FALSE;
    else
        g_hash_table_add(record.functions, function);
    errno = saved_errno;
}

void
__cyg_profile_func_exit(void *function, void *caller)
{
}

/* The main loop's: what comes before is done before the packet is found. */
static int
poll_and_record(GPollFD *fds, guint n_fds, int timeout_ms)
{
    int n = poll((struct pollfd *)fds, n_fds, timeout_ms);

    record.is_awaited = record.functions != NULL && n > 0;
    return n;
}

/* Sends a packet of one message, and records the functions until its answer. */
static void
record_packet(SocketWorld *world, const GByteArray *packet)
{
    Party *party = &world->parties[0];

    record.fd = party->fd;
    record.functions = g_hash_table_new(NULL, NULL);
    g_assert_true(party_send(party, packet->data, packet->len));
    g_main_context_iteration(NULL, FALSE);
    g_assert_false(record.is_awaited);
    socket_world_serve(world);
}

/* Returns the name of the file below service/ and without `.c`; NULL: it is in no such file. */
static char *
get_file(const char *line)
{
    const char *begin = g_strrstr(line, "service/");
    const char *end = strrchr(line, ':');

    if (begin == NULL || end == NULL || end - begin < 10 || strncmp(end - 2, ".c", 2) != 0)
        return NULL;
    begin += strlen("service/");
    return g_strndup(begin, (gsize)(end - 2 - begin));
}

/* Adds the files of the functions that were recorded, and prints them. */
static void
add_files(GHashTable *files, const char *title)
{
    g_autoptr(GPtrArray) arguments = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) error = NULL;
    g_autofree char *output = NULL;
    g_auto(GStrv) lines = NULL;
    GHashTableIter iter;
    gpointer function;

    g_ptr_array_add(arguments, g_strdup("addr2line"));
    g_ptr_array_add(arguments, g_strdup_printf("--exe=/proc/%d/exe", (int)getpid()));
    g_hash_table_iter_init(&iter, record.functions);
    while (g_hash_table_iter_next(&iter, &function, NULL))
        g_ptr_array_add(arguments,
                        g_strdup_printf("%#tx", (const char *)function - __executable_start));
    g_ptr_array_add(arguments, NULL);
    g_spawn_sync(NULL, (char **)arguments->pdata, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &output,
                 NULL, NULL, &error);
    g_assert_no_error(error);
    lines = g_strsplit(output, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++) {
        char *file = get_file(lines[i]);

        if (file != NULL && g_hash_table_add(files, file))
            g_test_message("%s: %s.c", title, file);
    }
    g_clear_pointer(&record.functions, g_hash_table_unref);
}

/* The files that the documentation lists, one a line: `DIR/FILE` at its beginning. */
static void
read_list(GHashTable *files)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    const char *begin;

    g_file_get_contents(architecture_path, &text, NULL, &error);
    g_assert_no_error(error);
    begin = strstr(text, LIST_BEGIN "\n\n");
    g_assert_nonnull(begin);
    lines = g_strsplit(begin + strlen(LIST_BEGIN "\n\n"), "\n", -1);
    for (guint i = 0; g_str_has_prefix(lines[i], "    "); i++)
        g_hash_table_add(files, g_strndup(lines[i] + 4, strcspn(lines[i] + 4, " ")));
}

/* In order, so that a difference shows. */
static char *
join(GHashTable *files)
{
    g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(files), (GCompareFunc)g_strcmp0);
    GString *text = g_string_new(NULL);

    for (const GList *link = names; link != NULL; link = link->next)
        g_string_append_printf(text, "%s ", (const char *)link->data);
    return g_string_free(text, FALSE);
}

static State *
begin_state(const char *directory, UserAgent *user_agent)
{
    const StateOptions options = {.directory = directory};
    g_autoptr(GError) error = NULL;
    State *state = state_open(&options, &error);

    g_assert_no_error(error);
    g_assert_true(state_begin(state, user_agent, &error));
    g_assert_no_error(error);
    return state;
}

/* A lock that is granted, and its release. */
static void
test_pair(void)
{
    g_autoptr(GHashTable) entered = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) listed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GByteArray) request = g_byte_array_new(), release = g_byte_array_new();
    g_autofree char *entered_text = NULL, *listed_text = NULL, *remove = NULL;
    char directory[] = "/dev/shm/weblocks-packet-path-XXXXXX";
    SocketWorld world;

    g_assert_nonnull(g_mkdtemp(directory));
    remove = g_strdup_printf("rm -r %s", directory);
    socket_world_init(&world);
    world.server->state = begin_state(directory, &world.server->user_agent);
    socket_world_call(&world, &world.parties[0], BUS_SERVICE_PATH, BUS_SERVICE_INTERFACE,
                      "OpenSocket", g_variant_new_parsed("({'version': <@u 2>},)"));
    socket_world_serve(&world);

    packet_write_request(request, 1, 1, 0, LOCK_MODE_EXCLUSIVE, 0, 0, "default", "name", NULL,
                         NULL);
    record_packet(&world, request);
    add_files(entered, "REQUEST");
    packet_write_key(release, PACKET_RELEASE, 0, 2, 1);
    record_packet(&world, release);
    add_files(entered, "RELEASE");

    socket_world_fini(&world, FALSE);
    g_assert_true(g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL));
    read_list(listed);
    entered_text = join(entered);
    listed_text = join(listed);
    g_assert_cmpstr(entered_text, ==, listed_text);
    g_assert_cmpuint(g_hash_table_size(entered), <=, FILES_MAX);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, ==, 2);
    architecture_path = argv[1];
    g_main_context_set_poll_func(NULL, poll_and_record);
    g_test_add_func("/packet-path/pair", test_pair);
    return g_test_run();
}
