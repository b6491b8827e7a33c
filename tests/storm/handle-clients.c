/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Processes that enter and leave handles, and are killed again and again; handles.py runs this.
 *
 *     handle-clients ADDRESS DIRECTORY CLIENTS SEED
 *     handle-clients ADDRESS DIRECTORY first|last       see show_ending()
 *
 * What the processes believe proves nothing, so the kernel judges: whoever has entered takes an
 * flock() of the name's file, with LOCK_NB. A refusal is a violation, unless
 *
 *   - the process that the kernel says has the flock() is ending: a killed process has left the bus
 *     when its descriptors are closed, and the flock() may be among the last of them;
 *   - it had entered before a steal was begun: then it has lost the lock, and not noticed yet.
 *
 * A killed process ends step by step, in no order that matters to it: it leaves the bus when its
 * connections are freed, which Linux does from the highest descriptor to the lowest, and has the
 * flock() until that of the file is freed. Meanwhile kill() still finds it. So that clients with an
 * odd number, which open the files before they connect, can be found to be ending, and others not.
 *
 * A line of counters, `NAME VALUE ...`, follows each line on standard input; at its end, all end.
 */

#include <weblocks/weblocks.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_SHARED      3 /* names that all clients take; each has one more of its own */
#define CLIENTS_MAX   32
#define N_THREADS     2
#define PAIRS_MAX     400 /* at a time */
#define OWN_PAIRS_MAX 8000
#define TIMEOUT_MS    20000
#define PF_EXITING    0x4u
#define RETRIES_MAX   20000
#define GRACE_NS      1000000000
#define STAY_NS       300000000
/* So many that freeing them takes longer than a message to the service and back. */
#define N_DESCRIPTORS 15000

typedef struct {
    guint64 entered_ns; /* by the process that has the flock(), just before that */
    guint64 stolen_ns;  /* until when a steal may have been served; may be in the future */
    pid_t pid;
} Name;

typedef struct {
    guint64 pairs, pairs_in_cells, kills, errors, forks, steals, queries, watches;
    guint64 ending_first,
        ending_last; /* refused by a process that ends, by when it has opened the file */
    guint64 excused, violations;
    guint stealing[CLIENTS_MAX][N_THREADS]; /* 1 + the name that a thread is stealing; 0: none */
    Name names[N_SHARED + CLIENTS_MAX];
} Shared;

static Shared *shared;
static const char *address, *directory;

typedef struct {
    guint number;
    guint thread;
    GRand *random;
    WebLocksManager *manager;
    WebLocksHandle *handles[N_SHARED + 1];
    int fds[N_SHARED + 1];
} Client;

static void
count(guint64 *counter)
{
    __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

static guint64
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (guint64)now.tv_sec * 1000000000 + (guint64)now.tv_nsec;
}

/* ---- the judge */

/* The file's number in `shared`. */
static guint
get_name(const Client *self, guint index)
{
    return index < N_SHARED ? index : N_SHARED + self->number;
}

/* Returns the process that has an flock() of this file; 0: none. */
static pid_t
find_holder(int fd)
{
    g_autofree char *locks = NULL, *inode = NULL;
    g_auto(GStrv) lines = NULL;
    struct stat file;

    if (fstat(fd, &file) != 0 || !g_file_get_contents("/proc/locks", &locks, NULL, NULL))
        g_error("can't read the kernel's list of locks");
    inode = g_strdup_printf(":%" G_GUINT64_FORMAT " ", (guint64)file.st_ino);
    lines = g_strsplit(locks, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++) {
        int pid = 0;

        if (strstr(lines[i], inode) != NULL && strstr(lines[i], "->") == NULL &&
            sscanf(lines[i], "%*d: FLOCK ADVISORY WRITE %d", &pid) == 1)
            return pid;
    }
    return 0;
}

/* Whether it has called exit(), or is being ended by a signal: from then on it runs no code of a
 * program. */
static gboolean
is_ending(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid), *stat = NULL;
    const char *after;
    guint flags = 0;
    char state = 0;

    if (!g_file_get_contents(path, &stat, NULL, NULL) || (after = strrchr(stat, ')')) == NULL)
        return TRUE;
    if (sscanf(after, ") %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2)
        return TRUE;
    return state == 'Z' || state == 'X' || (flags & PF_EXITING) != 0;
}

/* Whether the lock of whoever entered then may have been stolen. */
static gboolean
may_be_stolen(guint index, guint64 entered_ns)
{
    for (guint i = 0; i < CLIENTS_MAX; i++)
        for (guint thread = 0; thread < N_THREADS; thread++)
            if (__atomic_load_n(&shared->stealing[i][thread], __ATOMIC_SEQ_CST) == index + 1)
                return TRUE;
    return entered_ns <= __atomic_load_n(&shared->names[index].stolen_ns, __ATOMIC_SEQ_CST);
}

static void
end_steal(guint number, guint thread, guint64 grace_ns)
{
    const guint index = shared->stealing[number][thread];

    if (index > 0)
        __atomic_store_n(&shared->names[index - 1].stolen_ns, now_ns() + grace_ns,
                         __ATOMIC_SEQ_CST);
    __atomic_store_n(&shared->stealing[number][thread], 0, __ATOMIC_SEQ_CST);
}

/* Decides about a refusal; afterwards the flock() is there, or it is a violation. */
static gboolean
judge(const Client *self, guint index, guint64 token)
{
    Name *name = &shared->names[get_name(self, index)];
    const guint64 now = now_ns();

    for (guint i = 0; i < RETRIES_MAX; i++) {
        const pid_t holder = find_holder(self->fds[index]);

        if (holder == 0) {
            /* It has been released between the refusal and now. */
        } else if (is_ending(holder)) {
            if (i == 0)
                count(self->number % 2 != 0 ? &shared->ending_first : &shared->ending_last);
        } else if (name->pid == holder && !may_be_stolen(get_name(self, index), name->entered_ns)) {
            break;
        } else if (name->pid == holder && i == 0) {
            count(&shared->excused);
        }
        if (flock(self->fds[index], LOCK_EX | LOCK_NB) == 0)
            return TRUE;
        sched_yield();
    }
    count(&shared->violations);
    g_printerr("violation: %d has entered name %u with token %" G_GUINT64_FORMAT
               ", while %d has its flock(), which says it entered %" G_GINT64_FORMAT
               " ns before, and that the last steal was %" G_GINT64_FORMAT " ns before\n",
               (int)getpid(), get_name(self, index), token, (int)find_holder(self->fds[index]),
               (gint64)(now - name->entered_ns), (gint64)(now - name->stolen_ns));
    return FALSE;
}

/* To be called by whoever has the lock. */
static void
be_inside(const Client *self, guint index, guint64 token)
{
    Name *name = &shared->names[get_name(self, index)];
    const guint64 entered_ns = now_ns();
    gboolean is_mine = flock(self->fds[index], LOCK_EX | LOCK_NB) == 0;

    if (!is_mine && errno != EWOULDBLOCK)
        g_error("flock() failed: %s", g_strerror(errno));
    if (!is_mine && !judge(self, index, token))
        return;
    name->entered_ns = entered_ns;
    name->pid = getpid();
    if (g_rand_int_range(self->random, 0, 64) == 0)
        sched_yield();
    /* Long enough for a grant to another process to arrive. */
    if (g_rand_int_range(self->random, 0, 2000) == 0)
        g_usleep(4000);
    flock(self->fds[index], LOCK_UN);
}

/* ---- what a client does */

static void
enter_and_leave(const Client *self)
{
    const guint index = (guint)g_rand_int_range(self->random, 0, N_SHARED + 1);
    const guint n_pairs =
        (guint)g_rand_int_range(self->random, 1, index < N_SHARED ? PAIRS_MAX : OWN_PAIRS_MAX);
    WebLocksHandle *handle = self->handles[index];

    for (guint i = 0; i < n_pairs; i++) {
        g_autoptr(GError) error = NULL;
        const gboolean is_in_cell = web_locks_handle_try_enter(handle);

        if (!is_in_cell && !web_locks_handle_enter_sync(handle, NULL, &error)) {
            count(&shared->errors);
            if (!g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE) &&
                !g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE))
                g_printerr("enter: %s\n", error->message);
            return;
        }
        be_inside(self, index, web_locks_handle_get_token(handle));
        web_locks_handle_leave(handle);
        count(&shared->pairs);
        if (is_in_cell)
            count(&shared->pairs_in_cells);
    }
}

/* Takes a lock without any message for as long as that is possible, as a program does that calls
 * nothing else of the library: also while no service runs, and when the next one does. */
static void
stay(const Client *self)
{
    const guint index = (guint)g_rand_int_range(self->random, 0, N_SHARED);
    const guint64 end_ns = now_ns() + STAY_NS;
    WebLocksHandle *handle = self->handles[index];

    if (!web_locks_handle_enter_sync(handle, NULL, NULL))
        return;
    do {
        be_inside(self, index, web_locks_handle_get_token(handle));
        web_locks_handle_leave(handle);
        count(&shared->pairs);
        count(&shared->pairs_in_cells);
        sched_yield();
    } while (now_ns() < end_ns && web_locks_handle_try_enter(handle));
}

static void
request(const Client *self, gboolean is_steal)
{
    const guint index = (guint)g_rand_int_range(self->random, 0, N_SHARED);
    g_autoptr(WebLocksOptions) options =
        g_object_new(WEB_LOCKS_TYPE_OPTIONS, "steal", is_steal, "timeout", TIMEOUT_MS, NULL);
    g_autofree char *name = g_strdup_printf("%u", index);
    g_autoptr(WebLocksLock) lock = NULL;

    if (is_steal) {
        __atomic_store_n(&shared->stealing[self->number][self->thread], index + 1,
                         __ATOMIC_SEQ_CST);
        count(&shared->steals);
    }
    lock = web_locks_manager_request_sync(self->manager, name, options, NULL, NULL);
    if (is_steal)
        end_steal(self->number, self->thread, 0);
    if (lock == NULL) {
        count(&shared->errors);
        return;
    }
    be_inside(self, index, web_locks_lock_get_token(lock));
    web_locks_lock_release(lock);
}

static void
look(const Client *self)
{
    g_autoptr(WebLocksSnapshot) snapshot = web_locks_manager_query_sync(self->manager, NULL, NULL);

    count(snapshot != NULL ? &shared->queries : &shared->errors);
}

/* While somebody watches, no lock gets a cell. */
static void
watch(const Client *self)
{
    g_autoptr(WebLocksMonitor) monitor = web_locks_monitor_new_sync(self->manager, NULL, NULL);

    count(monitor != NULL ? &shared->watches : &shared->errors);
    g_usleep(1000);
}

/* The child closes its copies of the files before this process can have their flock() and end. */
static void
make_child(const Client *self)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        gboolean is_wrong = FALSE;

        for (guint i = 0; i <= N_SHARED; i++) {
            close(self->fds[i]);
            is_wrong |= web_locks_handle_try_enter(self->handles[i]) ||
                        web_locks_handle_enter_sync(self->handles[i], NULL, NULL) ||
                        web_locks_handle_get_held(self->handles[i]);
            web_locks_handle_leave(self->handles[i]);
        }
        _exit(is_wrong ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        count(&shared->violations);
        g_printerr("violation: the child of a fork() has entered, or ended with %d\n", status);
    }
    count(&shared->forks);
}

static void
open_files(Client *self)
{
    for (guint i = 0; i <= N_SHARED; i++) {
        g_autofree char *path = g_strdup_printf("%s/%u", directory, get_name(self, i));

        self->fds[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (self->fds[i] < 0)
            g_error("%s: %s", path, g_strerror(errno));
    }
}

static gpointer
work(gpointer data)
{
    Client *self = data;

    for (;;) {
        const int what = g_rand_int_range(self->random, 0, 1000);

        if (what < 20)
            request(self, FALSE);
        else if (what < 25)
            request(self, TRUE);
        else if (what < 40)
            look(self);
        else if (what < 44)
            watch(self);
        else if (what < 500)
            stay(self);
        else
            enter_and_leave(self);
    }
    return NULL;
}

/* A second thread uses the same handles, and has descriptors of its own. */
static gpointer
work_too(gpointer data)
{
    Client *self = g_memdup2(data, sizeof *self);

    self->thread = 1;
    self->random = g_rand_new_with_seed(g_rand_int(self->random));
    open_files(self);
    return work(self);
}

static void
run_client(guint number, guint32 seed)
{
    Client self = {.number = number, .random = g_rand_new_with_seed(seed)};
    g_autoptr(WebLocksOptions) options =
        g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", TIMEOUT_MS, NULL);
    g_autoptr(WebLocksAgent) agent = NULL;

    if (number % 2 != 0)
        open_files(&self);
    agent = web_locks_agent_new(G_BUS_TYPE_NONE, address);
    self.manager = web_locks_manager_new(agent, "storm");
    for (guint i = 0; i <= N_SHARED; i++) {
        g_autofree char *name = g_strdup_printf("%u", get_name(&self, i));

        self.handles[i] = web_locks_manager_prepare(self.manager, name, options);
    }
    while (!g_initable_init(G_INITABLE(agent), NULL, NULL))
        g_usleep(1000);
    if (number % 2 == 0)
        open_files(&self);
    /* Only with one thread: else a copy of the other one's descriptors would be in the child. */
    for (guint i = 0; i < 3; i++) {
        enter_and_leave(&self);
        make_child(&self);
    }
    if (number % 4 >= 2)
        g_thread_unref(g_thread_new("second", work_too, &self));
    work(&self);
}

/* ---- one holder that is killed, in the sight of the next one */

static WebLocksHandle *
prepare_alone(void)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, address);
    g_autoptr(WebLocksManager) manager = web_locks_manager_new(agent, "storm");

    return web_locks_manager_prepare(manager, "0", NULL);
}

static void
make_descriptors(void)
{
    for (guint i = 0; i < N_DESCRIPTORS; i++)
        if (eventfd(0, EFD_CLOEXEC) < 0)
            break;
}

static void
hold_until_killed(Client *self, gboolean is_first, int fd)
{
    WebLocksHandle *handle = prepare_alone();

    if (is_first) {
        open_files(self);
        make_descriptors();
    }
    if (!web_locks_handle_enter_sync(handle, NULL, NULL))
        _exit(EXIT_FAILURE);
    if (!is_first) {
        make_descriptors();
        open_files(self);
    }
    if (flock(self->fds[0], LOCK_EX | LOCK_NB) != 0 || write(fd, "+", 1) != 1)
        _exit(EXIT_FAILURE);
    for (;;)
        pause();
}

/* Prints whether the killed holder still had the flock() when the next client was granted the lock,
 * whether kill() then found a process, and whether the judge finds that it is ending. */
static int
show_ending(gboolean is_first)
{
    Client self = {.number = 0};
    gboolean is_refused;
    int ready[2];
    pid_t pid, holder;
    char byte;

    if (pipe(ready) != 0)
        g_error("pipe() failed: %s", g_strerror(errno));
    pid = fork();
    if (pid == 0)
        hold_until_killed(&self, is_first, ready[1]);
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        g_error("the holder has failed");
    open_files(&self);
    {
        g_autoptr(WebLocksHandle) handle = prepare_alone();
        g_autoptr(WebLocksRequest) request = web_locks_handle_request(handle, NULL);

        kill(pid, SIGKILL);
        while (!web_locks_request_wait(request))
            continue;
        if (!web_locks_handle_take(handle, request, NULL))
            g_error("could not enter");
        is_refused = flock(self.fds[0], LOCK_EX | LOCK_NB) != 0;
        holder = is_refused ? find_holder(self.fds[0]) : 0;
        printf("refused %d found %d ending %d\n", is_refused, kill(pid, 0) == 0,
               holder == 0 || is_ending(holder));
    }
    return EXIT_SUCCESS;
}

/* ---- the parent, which only forks and kills */

static pid_t
start_client(guint number, guint32 seed)
{
    const pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0)
        g_error("fork() failed: %s", g_strerror(errno));
    if (pid > 0)
        return pid;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
    run_client(number, seed);
    _exit(EXIT_FAILURE);
}

static void
print_counters(void)
{
    printf("pairs %" G_GUINT64_FORMAT " pairs_in_cells %" G_GUINT64_FORMAT
           " kills %" G_GUINT64_FORMAT " errors %" G_GUINT64_FORMAT " forks %" G_GUINT64_FORMAT
           " steals %" G_GUINT64_FORMAT " queries %" G_GUINT64_FORMAT " watches %" G_GUINT64_FORMAT
           " ending_first %" G_GUINT64_FORMAT " ending_last %" G_GUINT64_FORMAT
           " excused %" G_GUINT64_FORMAT " violations %" G_GUINT64_FORMAT "\n",
           shared->pairs, shared->pairs_in_cells, shared->kills, shared->errors, shared->forks,
           shared->steals, shared->queries, shared->watches, shared->ending_first,
           shared->ending_last, shared->excused, shared->violations);
    fflush(stdout);
}

/* Returns whether standard input has a line; ends the program at its end. */
static gboolean
is_asked(int timeout_ms)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char line[64];
    ssize_t n;

    if (poll(&input, 1, timeout_ms) <= 0)
        return FALSE;
    n = read(STDIN_FILENO, line, sizeof line);
    if (n <= 0)
        exit(EXIT_SUCCESS);
    return TRUE;
}

int
main(int argc, char **argv)
{
    pid_t clients[CLIENTS_MAX];
    guint n_clients;
    GRand *random;

    if (argc == 4) {
        address = argv[1];
        directory = argv[2];
        return show_ending(g_str_equal(argv[3], "first"));
    }
    if (argc != 5 || (n_clients = (guint)atoi(argv[3])) < 1 || n_clients > CLIENTS_MAX) {
        g_printerr("usage: handle-clients ADDRESS DIRECTORY CLIENTS SEED\n");
        return 64;
    }
    address = argv[1];
    directory = argv[2];
    random = g_rand_new_with_seed((guint32)strtoul(argv[4], NULL, 10));
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        g_error("mmap() failed: %s", g_strerror(errno));
    for (guint i = 0; i < n_clients; i++)
        clients[i] = start_client(i, g_rand_int(random));
    for (;;) {
        const guint i = (guint)g_rand_int_range(random, 0, (gint32)n_clients);
        int status = 0;

        if (is_asked(g_rand_int_range(random, 1, 40)))
            print_counters();
        kill(clients[i], SIGKILL);
        if (waitpid(clients[i], &status, 0) == clients[i] &&
            !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
            count(&shared->violations);
            g_printerr("violation: a client has ended by itself: %d\n", status);
        }
        count(&shared->kills);
        /* The service may serve what it has sent a little later. */
        for (guint thread = 0; thread < N_THREADS; thread++)
            end_steal(i, thread, GRACE_NS);
        clients[i] = start_client(i, g_rand_int(random));
    }
}
