/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SEC 1000000000ULL
#define NS_PER_US  1000.0
#define BATCH      10

/* ---- time */

static guint64
read_clock(clockid_t clock)
{
    struct timespec time;

    bench_check_errno(clock_gettime(clock, &time) == 0, "clock");
    return (guint64)time.tv_sec * NS_PER_SEC + (guint64)time.tv_nsec;
}

guint64
bench_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

void
bench_pause(guint us)
{
    struct timespec time = {.tv_nsec = (long)us * 1000};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

double
bench_cpu_time(pid_t pid)
{
    clockid_t clock;

    bench_check(-clock_getcpuclockid(pid, &clock), "processor time of a process");
    return (double)read_clock(clock) / NS_PER_US;
}

/* ---- failing */

void
bench_die(const char *what, const char *reason)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, reason);
    exit(EXIT_FAILURE);
}

void
bench_check(int r, const char *what)
{
    if (r < 0)
        bench_die(what, g_strerror(-r));
}

void
bench_check_errno(gboolean good, const char *what)
{
    if (!good)
        bench_die(what, g_strerror(errno));
}

void
bench_check_error(const GError *error, const char *what)
{
    if (error != NULL)
        bench_die(what, error->message);
}

void
bench_check_usage(gboolean good, const char *arguments)
{
    if (good)
        return;
    fprintf(stderr, "usage: %s %s\n", program_invocation_short_name, arguments);
    exit(2);
}

guint
bench_number(const char *text)
{
    guint64 number;

    if (!g_ascii_string_to_unsigned(text, 10, 1, G_MAXINT32, &number, NULL))
        bench_die(text, "not a number from 1 on");
    return (guint)number;
}

/* ---- figures */

void
bench_print(const char *name, double value)
{
    printf("%s %.4f\n", name, value);
    fflush(stdout);
}

static gsize
samples_size(guint capacity)
{
    return sizeof(BenchSamples) + capacity * sizeof(double);
}

BenchSamples *
bench_samples_new_shared(guint capacity)
{
    BenchSamples *samples = mmap(NULL, samples_size(capacity), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    bench_check_errno(samples != MAP_FAILED, "shared memory");
    samples->capacity = capacity;
    return samples;
}

void
bench_samples_free(BenchSamples *samples)
{
    munmap(samples, samples_size(samples->capacity));
}

void
bench_samples_add(BenchSamples *samples, guint64 begin, guint64 end)
{
    if (samples->length == samples->capacity)
        bench_die("samples", "more than expected");
    samples->us[samples->length++] = (double)(end - begin) / NS_PER_US;
}

static int
compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double
mean(const double *us, guint n)
{
    double sum = 0;

    for (guint i = 0; i < n; i++)
        sum += us[i];
    return sum / n;
}

double
bench_samples_steady(const BenchSamples *samples)
{
    guint n = samples->length / BATCH;
    g_autoptr(GArray) means = g_array_sized_new(FALSE, FALSE, sizeof(double), n);

    if (n == 0)
        bench_die("samples", "too few");
    for (guint i = 0; i < n; i++) {
        double value = mean(samples->us + i * BATCH, BATCH);

        g_array_append_val(means, value);
    }
    g_array_sort(means, compare_doubles);
    return g_array_index(means, double, n / 2);
}

static void
print_with_prefix(const char *prefix, const char *name, double value)
{
    g_autofree char *full = g_strconcat(prefix, name, NULL);

    bench_print(full, value);
}

void
bench_samples_print(BenchSamples *samples, const char *prefix)
{
    print_with_prefix(prefix, "steady", bench_samples_steady(samples));
    print_with_prefix(prefix, "mean", mean(samples->us, samples->length));
    qsort(samples->us, samples->length, sizeof samples->us[0], compare_doubles);
    print_with_prefix(prefix, "p50", samples->us[samples->length / 2]);
    print_with_prefix(prefix, "p99", samples->us[(guint64)samples->length * 99 / 100]);
}

/* ---- processes */

pid_t
bench_fork(void)
{
    pid_t parent = getpid();
    pid_t child = fork();

    bench_check_errno(child >= 0, "fork");
    if (child == 0) {
        bench_check_errno(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "dying with the parent");
        if (getppid() != parent)
            _exit(EXIT_FAILURE);
    }
    return child;
}

void
bench_notify(int fd)
{
    bench_check_errno(write(fd, "+", 1) == 1, "telling another process");
}

void
bench_wait_notified(int fd)
{
    char byte;
    ssize_t n = read(fd, &byte, 1);

    bench_check_errno(n >= 0, "hearing from another process");
    if (n == 0)
        bench_die("hearing from another process", "it has ended");
}

void
bench_echo_twice(gpointer data)
{
    const int *fd = data;

    for (guint i = 0; i < 2; i++) {
        bench_notify(*fd);
        bench_wait_notified(*fd);
    }
}

void
bench_make_pair(int pair[2])
{
    bench_check_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0,
                      "socketpair");
}

void
bench_kill(pid_t pid)
{
    bench_check_errno(kill(pid, SIGKILL) == 0, "ending a child");
    bench_check_errno(waitpid(pid, NULL, 0) == pid, "waiting for a child");
}

void
bench_join(pid_t pid)
{
    int status;

    bench_check_errno(waitpid(pid, &status, 0) == pid, "waiting for a child");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_die("child", "ended badly");
}

/* ---- the library */

GDBusConnection *
bench_connect(const char *address)
{
    g_autoptr(GError) error = NULL;
    GDBusConnection *connection =
        g_dbus_connection_new_for_address_sync(address,
                                               G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                                   G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                               NULL, NULL, &error);

    bench_check_error(error, "the bus");
    return connection;
}

pid_t
bench_get_service_pid(GDBusConnection *connection)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GVariant) reply = g_dbus_connection_call_sync(
        connection, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
        "GetConnectionUnixProcessID", g_variant_new("(s)", "org.w3.WebLocks"), NULL,
        G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);
    guint32 pid = 0;

    if (g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_NAME_HAS_NO_OWNER))
        return 0;
    bench_check_error(error, "the service's pid");
    g_variant_get(reply, "(u)", &pid);
    return (pid_t)pid;
}

WebLocksAgent *
bench_agent_new(const char *address)
{
    g_autoptr(GError) error = NULL;
    WebLocksAgent *agent = web_locks_agent_new(G_BUS_TYPE_NONE, address);

    g_initable_init(G_INITABLE(agent), NULL, &error);
    bench_check_error(error, "connecting");
    return agent;
}

WebLocksManager *
bench_manager_new(WebLocksAgent *agent, const char *bucket)
{
    return web_locks_manager_new(agent, bucket);
}

void
bench_barrier(WebLocksAgent *agent)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) buckets = web_locks_agent_list_observable_sync(agent, NULL, &error);

    if (buckets == NULL)
        bench_die("listing buckets", error->message);
}

WebLocksLock *
bench_request(WebLocksManager *manager, const char *name)
{
    g_autoptr(GError) error = NULL;
    WebLocksLock *lock = web_locks_manager_request_sync(manager, name, NULL, NULL, &error);

    bench_check_error(error, "request");
    return lock;
}

void
bench_release(WebLocksLock *lock)
{
    g_autoptr(GError) error = NULL;

    web_locks_lock_release_sync(lock, NULL, &error);
    bench_check_error(error, "release");
}

WebLocksLock *
bench_request_finish(GObject *source, GAsyncResult *result)
{
    g_autoptr(GError) error = NULL;
    WebLocksLock *lock =
        web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);

    bench_check_error(error, "request");
    return lock;
}

void
bench_release_finish(GObject *source, GAsyncResult *result)
{
    g_autoptr(WebLocksLock) lock = WEB_LOCKS_LOCK(source);
    g_autoptr(GError) error = NULL;

    web_locks_lock_release_finish(lock, result, &error);
    bench_check_error(error, "release");
}

#define CACHE_BYTES (16UL * 1024 * 1024)
#define CACHE_LINE  64

void
bench_fill_caches(void)
{
    static guint8 memory[CACHE_BYTES];

    for (gsize i = 0; i < sizeof memory; i += CACHE_LINE)
        ((volatile guint8 *)memory)[i]++;
}
