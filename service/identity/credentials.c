/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "bus-names.h"
#include "bus-string.h"
#include "descriptors.h"
#include "process.h"
#include "sandbox.h"

#define LABEL_MAX_BYTES 4096
#define GIDS_MAX        65536 /* the kernel's limit for a process */

/* A reply to GetConnectionCredentials. */
typedef struct {
    guint32 uid; /* G_MAXUINT32: none */
    guint32 pid; /* 0: none */
    int pidfd;   /* owned; -1: none */
    char *label; /* owned */
    gsize label_size;
    guint32 *gids; /* owned */
    gsize n_gids;
} Answer;

struct CredentialsLookup {
    sd_bus *bus; /* borrowed */
    char *unique_name;
    sd_bus_slot *slot; /* of the pending call to the bus */
    CredentialsDone done;
    gpointer data;

    Answer answer; /* the first reply */
    Process process;
    char *process_name; /* owned; NULL: unknown */
    PrincipalKind kind;
    char *app_id;
};

static void
answer_clear(Answer *answer)
{
    if (answer->pidfd >= 0)
        close(answer->pidfd);
    answer->pidfd = -1;
    g_clear_pointer(&answer->label, g_free);
    g_clear_pointer(&answer->gids, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Answer, answer_clear)

/* ---- replies of the bus */

static int
read_pidfd(sd_bus_message *reply, Answer *answer)
{
    int fd, r;

    if ((r = sd_bus_message_read(reply, "v", "h", &fd)) < 0 || answer->pidfd >= 0)
        return r < 0 ? r : -EBADMSG;
    answer->pidfd = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* `fd` belongs to the message */
    return answer->pidfd < 0 ? -errno : 0;
}

static int
read_label(sd_bus_message *reply, Answer *answer)
{
    const void *bytes;
    int r;

    if ((r = sd_bus_message_enter_container(reply, 'v', "ay")) < 0 ||
        (r = sd_bus_message_read_array(reply, 'y', &bytes, &answer->label_size)) < 0)
        return r;
    if (answer->label_size > LABEL_MAX_BYTES || answer->label != NULL)
        return -EBADMSG;
    answer->label = g_memdup2(bytes, answer->label_size);
    return sd_bus_message_exit_container(reply);
}

static int
read_gids(sd_bus_message *reply, Answer *answer)
{
    const void *gids;
    gsize n_bytes;
    int r;

    if ((r = sd_bus_message_enter_container(reply, 'v', "au")) < 0 ||
        (r = sd_bus_message_read_array(reply, 'u', &gids, &n_bytes)) < 0)
        return r;
    if (n_bytes / sizeof *answer->gids > GIDS_MAX || answer->gids != NULL)
        return -EBADMSG;
    answer->gids = g_memdup2(gids, n_bytes);
    answer->n_gids = n_bytes / sizeof *answer->gids;
    return sd_bus_message_exit_container(reply);
}

static int
read_entry(sd_bus_message *reply, Answer *answer)
{
    const char *key;
    int r;

    if ((r = sd_bus_message_read_basic(reply, 's', &key)) < 0)
        return r;
    if (g_str_equal(key, "UnixUserID"))
        return sd_bus_message_read(reply, "v", "u", &answer->uid);
    if (g_str_equal(key, "ProcessID"))
        return sd_bus_message_read(reply, "v", "u", &answer->pid);
    if (g_str_equal(key, "ProcessFD"))
        return read_pidfd(reply, answer);
    if (g_str_equal(key, "UnixGroupIDs"))
        return read_gids(reply, answer);
    if (g_str_equal(key, "LinuxSecurityLabel"))
        return read_label(reply, answer);
    return sd_bus_message_skip(reply, "v");
}

/* Reads the a{sv} of GetConnectionCredentials. Returns FALSE if it contains no uid. */
static gboolean
read_answer(sd_bus_message *reply, Answer *answer)
{
    int r;

    *answer = (Answer){.uid = G_MAXUINT32, .pidfd = -1};
    if (sd_bus_message_is_method_error(reply, NULL) ||
        sd_bus_message_enter_container(reply, 'a', "{sv}") < 0)
        return FALSE;
    while ((r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0)
        if (read_entry(reply, answer) < 0 || sd_bus_message_exit_container(reply) < 0)
            return FALSE;
    return r == 0 && answer->uid != G_MAXUINT32;
}

static gboolean
answer_is_same(const Answer *a, const Answer *b)
{
    return a->uid == b->uid && a->pid == b->pid && a->label_size == b->label_size &&
           (a->label_size == 0 || memcmp(a->label, b->label, a->label_size) == 0);
}

/* ---- the steps */

/* Calls `done`, which usually frees the lookup; so the caller must not access it afterwards. */
static void
finish(CredentialsLookup *lookup, const char *problem)
{
    const Credentials credentials = {
        .identity = {.uid = lookup->answer.uid, .kind = lookup->kind, .app_id = lookup->app_id},
        .pid = lookup->process.pid,
        .gids = lookup->answer.gids,
        .n_gids = lookup->answer.n_gids,
        .process_name = lookup->process_name != NULL ? lookup->process_name : "",
    };

    if (problem != NULL)
        g_debug("%s is not identified: %s", lookup->unique_name, problem);
    lookup->done(problem == NULL ? &credentials : NULL, FALSE, lookup->data);
}

/* Like finish(), for a lack of resources. */
static void
finish_for_want_of_room(CredentialsLookup *lookup)
{
    lookup->done(NULL, TRUE, lookup->data);
}

static gboolean
is_short_of_descriptors(void)
{
    return descriptors_are_scarce(DESCRIPTORS_FOR_LOOKUPS);
}

static int
ask_bus(CredentialsLookup *lookup, sd_bus_message_handler_t on_answer)
{
    g_clear_pointer(&lookup->slot, sd_bus_slot_unref);
    return sd_bus_call_method_async(lookup->bus, &lookup->slot, BUS_DRIVER_NAME, BUS_DRIVER_PATH,
                                    BUS_DRIVER_INTERFACE, "GetConnectionCredentials", on_answer,
                                    lookup, "s", lookup->unique_name);
}

static int
on_second_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    CredentialsLookup *lookup = userdata;
    g_auto(Answer) answer = {.pidfd = -1};
    const char *problem = NULL;

    if (!read_answer(reply, &answer) || !answer_is_same(&lookup->answer, &answer))
        problem = "the bus returns other credentials than before";
    else if (!process_is_running(&lookup->process))
        problem = "its process has ended";
    finish(lookup, problem);
    return 1;
}

/* Reads the process's name, while its pid can't have been reused. */
static void
take_name(CredentialsLookup *lookup)
{
    lookup->process_name = process_read_name(&lookup->process);
    if (lookup->process_name != NULL && !bus_string_is_valid(lookup->process_name))
        g_clear_pointer(&lookup->process_name, g_free);
}

/* Determines the sandbox. Returns NULL on success, otherwise a description of the problem. */
static const char *
look_at_process(CredentialsLookup *lookup)
{
    Answer *answer = &lookup->answer;
    int pidfd = answer->pidfd;

    answer->pidfd = -1;
    if (!process_open(&lookup->process, answer->pid, pidfd))
        return "its process has ended, or can't be accessed";
    if (!sandbox_identify(&lookup->process, answer->label, answer->label_size, &lookup->kind,
                          &lookup->app_id))
        return "its sandbox can't be determined";
    take_name(lookup);
    process_close_directory(&lookup->process);
    if (!process_is_running(&lookup->process))
        return "its process has ended";
    return NULL;
}

static int
on_first_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    CredentialsLookup *lookup = userdata;
    gboolean has_pidfd;
    const char *problem;
    int r = 0;

    if (!read_answer(reply, &lookup->answer)) {
        finish(lookup, "the bus does not return its credentials");
        return 1;
    }
    if (is_short_of_descriptors()) {
        finish_for_want_of_room(lookup);
        return 1;
    }
    has_pidfd = lookup->answer.pidfd >= 0;
    problem = look_at_process(lookup);
    if (problem != NULL || has_pidfd)
        finish(lookup, problem);
    else if (sd_bus_is_transient(r = ask_bus(lookup, on_second_answer)))
        finish_for_want_of_room(lookup);
    else if (r < 0)
        finish(lookup, "the bus can't be asked again");
    return 1;
}

CredentialsLookup *
credentials_look_up(sd_bus *bus, const char *unique_name, CredentialsDone done, gpointer data)
{
    g_autoptr(CredentialsLookup) lookup = NULL;

    if (is_short_of_descriptors())
        return NULL;
    lookup = g_new0(CredentialsLookup, 1);
    lookup->bus = bus;
    lookup->unique_name = g_strdup(unique_name);
    lookup->done = done;
    lookup->data = data;
    lookup->answer.pidfd = -1;
    lookup->process = PROCESS_NONE;
    return ask_bus(lookup, on_first_answer) < 0 ? NULL : g_steal_pointer(&lookup);
}

void
credentials_lookup_free(CredentialsLookup *lookup)
{
    if (lookup == NULL)
        return;
    sd_bus_slot_unref(lookup->slot);
    process_close(&lookup->process);
    answer_clear(&lookup->answer);
    g_free(lookup->process_name);
    g_free(lookup->app_id);
    g_free(lookup->unique_name);
    g_free(lookup);
}
