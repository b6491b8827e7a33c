/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the measuring programs share: a clock, errors, samples, and agents.
 *
 * A program prints `NAME VALUE` lines; times are in microseconds. Any error ends the program with a
 * message on standard error, since the time of a failed operation is meaningless. */

#pragma once

#include <weblocks/weblocks.h>

/* Nanoseconds; the same clock in every process. */
guint64 bench_now(void);
void bench_pause(guint us);
/* Microseconds of processor time that a process has used; 0: this one. */
double bench_cpu_time(pid_t pid);

void bench_die(const char *what, const char *reason) G_GNUC_NORETURN;
/* For negative errnos, and for -1 with errno. */
void bench_check(int r, const char *what);
void bench_check_errno(gboolean good, const char *what);
void bench_check_error(const GError *error, const char *what);
/* Ends the program if its arguments are not as in that text. */
void bench_check_usage(gboolean good, const char *arguments);
/* A number from 1 on, of the command line. */
guint bench_number(const char *text);

void bench_print(const char *name, double value);

/* Durations, one for each operation. They may be in shared memory. */
typedef struct {
    guint length;
    guint capacity;
    double us[];
} BenchSamples;

BenchSamples *bench_samples_new_shared(guint capacity);
void bench_samples_free(BenchSamples *samples);
void bench_samples_add(BenchSamples *samples, guint64 begin, guint64 end);
/* The median of the means of ten successive samples: includes all regular costs, but not the rare
 * moments in which another process uses the processor. */
double bench_samples_steady(const BenchSamples *samples);
/* Prints PREFIXsteady, PREFIXmean, PREFIXp50 and PREFIXp99, and sorts the samples. */
void bench_samples_print(BenchSamples *samples, const char *prefix);

/* fork() with a child that is killed when its parent ends. */
pid_t bench_fork(void);
/* Send and receive one byte between processes, on a socketpair of the same type as lock sockets. */
void bench_notify(int fd);
void bench_wait_notified(int fd);
/* Two round trips of a byte (`data` points to the descriptor), the least that a request and a
 * release cost. */
void bench_echo_twice(gpointer data);
void bench_make_pair(int pair[2]);
/* Kills a child and waits for its end. */
void bench_kill(pid_t pid);
/* Waits for a child, which must exit successfully. */
void bench_join(pid_t pid);

/* Fills the processor's caches with other data than those of the processes on this core. */
void bench_fill_caches(void);

/* A connection without the library. */
GDBusConnection *bench_connect(const char *address);
/* The process that owns the service's name; 0: there is none. */
pid_t bench_get_service_pid(GDBusConnection *connection);

/* A connected agent on the bus at that address. */
WebLocksAgent *bench_agent_new(const char *address);
WebLocksManager *bench_manager_new(WebLocksAgent *agent, const char *bucket);
/* Returns when the service has processed everything that the agent sent before. */
void bench_barrier(WebLocksAgent *agent);
WebLocksLock *bench_request(WebLocksManager *manager, const char *name);
void bench_release(WebLocksLock *lock);
/* The ends of asynchronous calls; the second one drops the reference to the lock. */
WebLocksLock *bench_request_finish(GObject *source, GAsyncResult *result);
void bench_release_finish(GObject *source, GAsyncResult *result);
