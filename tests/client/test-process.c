/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* fork() while another thread has one of the library's mutexes: it waits for that, and the child
 * can use all of them, and what they protect. */

#include "client-lib/engine/process.h"
#include "tests/lib/case.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SECONDS 60

typedef struct {
    ProcessMutex mutex;
    int is_locked;   /* atomic */
    int is_unlocked; /* atomic; set before the mutex is unlocked */
} Holder;

static gpointer
hold(gpointer data)
{
    Holder *holder = data;

    process_lock(holder->mutex);
    g_atomic_int_set(&holder->is_locked, TRUE);
    /* Long enough for the fork() to begin meanwhile, which can't be observed; if it begins later,
     * nothing is tested, but nothing fails either. */
    g_usleep(50 * G_TIME_SPAN_MILLISECOND);
    g_atomic_int_set(&holder->is_unlocked, TRUE);
    process_unlock(holder->mutex);
    return NULL;
}

static int
use_all(const Holder *holder)
{
    alarm(CHILD_SECONDS);
    for (guint i = 0; i < N_PROCESS_MUTEXES; i++) {
        process_lock((ProcessMutex)i);
        process_unlock((ProcessMutex)i);
    }
    return g_atomic_int_get(&holder->is_unlocked) ? 0 : 1;
}

static void
test_fork(gconstpointer mutex)
{
    Holder holder = {.mutex = (ProcessMutex)GPOINTER_TO_INT(mutex)};
    GThread *thread = g_thread_new("holder", hold, &holder);
    int status = -1;
    pid_t pid;

    while (!g_atomic_int_get(&holder.is_locked))
        g_thread_yield();
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0)
        _exit(use_all(&holder));
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_false(WIFSIGNALED(status)); /* it has hung */
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    g_thread_join(thread);
    g_assert_cmpint(use_all(&holder), ==, 0);
    alarm(0);
}

/* In the child, guarded descriptors are replaced; others are not. */
TEST("/process/descriptors", test_descriptors)
{
    int guarded[2], other[2], status = -1;
    const int n_forks = process_n_forks;
    pid_t pid;

    g_assert_cmpint(pipe(guarded), ==, 0);
    g_assert_cmpint(pipe(other), ==, 0);
    process_guard_fd(guarded[1]);
    process_guard_fd(other[1]);
    process_unguard_fd(other[1]);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        g_assert_cmpint(write(guarded[1], "x", 1), ==, 1);
        g_assert_cmpint(write(other[1], "y", 1), ==, 1);
        _exit(process_n_forks == n_forks + 1 ? 0 : 1);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_cmpint(status, ==, 0);
    g_assert_cmpint(process_n_forks, ==, n_forks);
    for (guint i = 0; i < 2; i++) {
        char byte = '\0';

        close(i == 0 ? guarded[1] : other[1]);
        g_assert_cmpint(read(i == 0 ? guarded[0] : other[0], &byte, 1), ==, (int)i);
        g_assert_true(byte == (i == 0 ? '\0' : 'y'));
        close(i == 0 ? guarded[0] : other[0]);
    }
    process_unguard_fd(guarded[1]);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    for (guint i = 0; i < N_PROCESS_MUTEXES; i++) {
        g_autofree char *path = g_strdup_printf("/process/fork-beside-mutex-%u", i);

        g_test_add_data_func(path, GINT_TO_POINTER(i), test_fork);
    }
    return g_test_run();
}
