/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* ZooKeeper without WebLocks: the cost of locks of several hosts for its own clients. ADDRESS is
 * its servers: see load.h. WAY is
 *   commits  what a gateway commits for a lock, by a bare client, each step awaited: create a claim
 *            and read the others, grant it, delete it;
 *   recipe   the usual lock, as in Curator: each request is a node, which waits until the one
 * before it is deleted. All clients take one lock. */

#include <poll.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#include "load.h"

#define ROOT       "/bench"
#define NAME       ROOT "/name"
#define HOST       ROOT "/host"
#define COUNTER    ROOT "/counter"
#define CLAIM      NAME "/e-0123456789abcdef-00000001-"
#define TIMEOUT_MS 15000
#define PATH_SIZE  128

/* One request at a time. */
typedef struct {
    zhandle_t *zh;
    gboolean is_done;
    int result;
    char path[PATH_SIZE];   /* created */
    char before[PATH_SIZE]; /* the last of the children below `own` */
    const char *own;        /* sequence number; NULL: the children are ignored */
    gboolean has_changed;   /* a watch has fired */
} Client;

static void
run_once(Client *self)
{
    struct timeval timeout = {0};
    int fd = -1, interest = 0, events = 0;
    struct pollfd wait = {0};

    zookeeper_interest(self->zh, &fd, &interest, &timeout);
    wait.fd = fd;
    wait.events = (short)((interest & ZOOKEEPER_READ ? POLLIN : 0) |
                          (interest & ZOOKEEPER_WRITE ? POLLOUT : 0));
    if (poll(&wait, 1, (int)(timeout.tv_sec * 1000 + timeout.tv_usec / 1000)) > 0) {
        events |= wait.revents & POLLIN ? ZOOKEEPER_READ : 0;
        events |= wait.revents & (POLLOUT | POLLHUP) ? ZOOKEEPER_WRITE : 0;
    }
    zookeeper_process(self->zh, events);
    if (is_unrecoverable(self->zh))
        bench_die("zookeeper", "the session has ended");
}

static int
finish(Client *self, int r)
{
    if (r != ZOK)
        bench_die("zookeeper", zerror(r));
    while (!self->is_done)
        run_once(self);
    self->is_done = FALSE;
    return self->result;
}

static void
check(int r, const char *what)
{
    if (r != ZOK)
        bench_die(what, zerror(r));
}

static void
on_done(int r, const void *data)
{
    Client *self = (Client *)data;

    self->result = r;
    self->is_done = TRUE;
}

static void
on_created(int r, const char *path, const void *data)
{
    if (r == ZOK)
        g_strlcpy(((Client *)data)->path, path, PATH_SIZE);
    on_done(r, data);
}

static void
on_stat(int r, const struct Stat *stat, const void *data)
{
    on_done(r, data);
}

static const char *
sequence(const char *node)
{
    return strrchr(node, '-') + 1;
}

static void
on_children(int r, const struct String_vector *children, const struct Stat *stat, const void *data)
{
    Client *self = (Client *)data;

    self->before[0] = '\0';
    for (int i = 0; r == ZOK && self->own != NULL && i < children->count; i++) {
        const char *node = children->data[i];

        if (strcmp(sequence(node), self->own) < 0 &&
            (self->before[0] == '\0' || strcmp(sequence(node), sequence(self->before)) > 0))
            g_strlcpy(self->before, node, PATH_SIZE);
    }
    on_done(r, data);
}

static void
on_watch(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    if (type != ZOO_SESSION_EVENT && context != NULL)
        ((Client *)context)->has_changed = TRUE;
}

static int
create(Client *self, const char *path, int mode)
{
    return finish(self,
                  zoo_acreate(self->zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, mode, on_created, self));
}

static void
delete_node(Client *self, const char *path)
{
    check(finish(self, zoo_adelete(self->zh, path, -1, on_done, self)), "delete");
}

static void
read_children(Client *self, const char *own)
{
    self->own = own;
    check(finish(self, zoo_awget_children2(self->zh, NAME, NULL, NULL, on_children, self)),
          "children");
}

static gpointer
connect_client(const Load *load)
{
    static const char *const paths[] = {ROOT, NAME, HOST, COUNTER};
    Client *self = g_new0(Client, 1);

    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    self->zh = zookeeper_init2(load->address, on_watch, TIMEOUT_MS, NULL, NULL,
                               ZOO_NO_LOG_CLIENTENV, NULL);
    if (self->zh == NULL)
        bench_die(load->address, "no such servers");
    zoo_set_servers_resolution_delay(self->zh, -1);
    while (zoo_state(self->zh) != ZOO_CONNECTED_STATE)
        run_once(self);
    for (guint i = 0; i < G_N_ELEMENTS(paths); i++) {
        int r = create(self, paths[i], ZOO_PERSISTENT);

        if (r != ZNODEEXISTS)
            check(r, "create");
    }
    return self;
}

static void
grant(Client *self, const char *claim)
{
    zoo_op_t parts[4];
    zoo_op_result_t results[G_N_ELEMENTS(parts)] = {0};

    zoo_check_op_init(&parts[0], claim, -1);
    zoo_check_op_init(&parts[1], ROOT, -1);
    zoo_set_op_init(&parts[2], HOST, "", 0, -1, NULL);
    zoo_set_op_init(&parts[3], COUNTER, "", 0, -1, NULL);
    check(
        finish(self, zoo_amulti(self->zh, (int)G_N_ELEMENTS(parts), parts, results, on_done, self)),
        "grant");
}

static void
commit(gpointer client)
{
    Client *self = client;

    check(create(self, CLAIM, ZOO_EPHEMERAL_SEQUENTIAL), "claim");
    read_children(self, NULL);
    grant(self, self->path);
    delete_node(self, self->path);
}

/* Returns when the node before this one has been deleted. */
static void
wait_for_turn(Client *self, const char *own_path)
{
    for (;;) {
        char path[2 * PATH_SIZE];
        int r;

        read_children(self, sequence(own_path));
        if (self->before[0] == '\0')
            return;
        g_snprintf(path, sizeof(path), "%s/%s", NAME, self->before);
        self->has_changed = FALSE;
        r = finish(self, zoo_awexists(self->zh, path, on_watch, self, on_stat, self));
        if (r == ZNONODE)
            continue;
        check(r, "exists");
        while (!self->has_changed)
            run_once(self);
    }
}

static void
take_lock(gpointer client)
{
    Client *self = client;
    char own[PATH_SIZE];

    check(create(self, CLAIM, ZOO_EPHEMERAL_SEQUENTIAL), "claim");
    g_strlcpy(own, self->path, sizeof(own));
    wait_for_turn(self, own);
    delete_node(self, own);
}

int
main(int argc, char **argv)
{
    static const LoadWay ways[] = {
        {"commits", connect_client, commit, .n_warm_up = 100},
        {"recipe", connect_client, take_lock},
    };

    return load_main(argc, argv, ways, G_N_ELEMENTS(ways));
}
