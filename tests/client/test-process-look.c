/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Looks at processes of this test: which state is read, how long a process has not run, and that it
 * is never another process. The time of a look is an argument, so the test never waits. */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client-lib/evidence/process-look.h"
#include "common/boot-time.h"
#include "tests/lib/case.h"

#define SECOND G_USEC_PER_SEC
#define LATER  (3600 * (gint64)SECOND)
/* The time limit for a child to reach a state. */
#define PATIENCE_US (30 * SECOND)

/* Terminates this process when its parent ends, also if that has already ended. */
static void
end_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
}

/* Forks a child that calls the function. */
static pid_t
spawn(void (*then)(void))
{
    pid_t parent = getpid(), pid = fork();

    g_assert_cmpint(pid, >=, 0);
    if (pid > 0)
        return pid;
    end_with(parent);
    then();
    _exit(0);
}

static void
pause_forever(void)
{
    for (;;)
        pause();
}

static void
end(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int
look_at(ProcessLook *look, pid_t pid, const char *name, gint64 now_us, gint64 *out_idle_us)
{
    return (guchar)process_look(look, (guint)pid, name, boot_time_get_us(), now_us, out_idle_us);
}

/* Waits until a child has reached that state. */
static void
wait_for_state(pid_t pid, char state)
{
    const gint64 deadline_us = boot_time_get_us() + PATIENCE_US;

    for (;;) {
        ProcessLook look = {0};
        gint64 idle_us;
        int now = look_at(&look, pid, "", boot_time_get_us(), &idle_us);

        if (now == state)
            return;
        if (boot_time_get_us() > deadline_us)
            g_error("process %d is in state '%c', not '%c'", pid, now, state);
        g_usleep(1000);
    }
}

TEST("/process-look/sleeping", test_sleeping)
{
    pid_t pid = spawn(pause_forever);
    ProcessLook look = {0};
    gint64 idle_us = -1;

    wait_for_state(pid, 'S');
    g_assert_cmpint(look_at(&look, pid, "", SECOND, &idle_us), ==, 'S');
    g_assert_cmpint(look_at(&look, pid, "", 100 * SECOND, &idle_us), ==, 'S');
    g_assert_cmpint(idle_us, ==, 0);
    end(pid);
    g_assert_cmpint(look_at(&look, pid, "", SECOND, &idle_us), ==, '\0');
}

static void
be_traced(void)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
}

TEST("/process-look/traced", test_traced)
{
    pid_t pid = spawn(be_traced);
    ProcessLook look = {0};
    gint64 idle_us;
    int status;

    g_assert_cmpint(waitpid(pid, &status, WUNTRACED), ==, pid);
    g_assert_cmpint(look_at(&look, pid, "", SECOND, &idle_us), ==, 't');
    end(pid);
}

/* Like the parent of a vfork(), which is in uninterruptible sleep until the child ends; but with
 * its own memory. */
static void
sleep_uninterruptibly(void)
{
    pid_t parent = getpid();

    if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, 0) == 0)
        end_with(parent);
    pause_forever();
}

TEST("/process-look/uninterruptible", test_uninterruptible)
{
    const gint64 deadline_us = boot_time_get_us() + PATIENCE_US;
    pid_t pid = spawn(sleep_uninterruptibly);
    ProcessLook look = {0};
    gint64 idle_us = -1;

    wait_for_state(pid, 'D');
    /* It may still be running on its way into the sleep. */
    do {
        look = (ProcessLook){0};
        g_assert_cmpint(look_at(&look, pid, "", 5 * SECOND, &idle_us), ==, 'D');
        g_assert_cmpint(idle_us, ==, 0);
        g_assert_cmpint(look_at(&look, pid, "", 20 * SECOND, &idle_us), ==, 'D');
    } while (idle_us != 15 * SECOND && boot_time_get_us() < deadline_us);
    g_assert_cmpint(idle_us, ==, 15 * SECOND);
    /* As if it had run since. */
    look.run_ns--;
    look_at(&look, pid, "", 40 * SECOND, &idle_us);
    g_assert_cmpint(idle_us, ==, 0);
    look_at(&look, pid, "", 41 * SECOND, &idle_us);
    g_assert_cmpint(idle_us, ==, SECOND);
    end(pid);
    g_assert_cmpint(look_at(&look, pid, "", 50 * SECOND, &idle_us), ==, '\0');
    g_assert_cmpint(idle_us, ==, 0);
}

/* A running process is runnable at each look, and has run between them. */
static void
run_forever(void)
{
    for (volatile guint i = 0;; i++)
        ;
}

TEST("/process-look/running", test_running)
{
    pid_t pid = spawn(run_forever);
    ProcessLook look = {0};
    gint64 idle_us;
    guint64 run_ns = 0;

    wait_for_state(pid, 'R');
    for (guint n_changes = 0; n_changes < 3;) {
        gint64 at_us = (gint64)n_changes * 100 * SECOND + SECOND;

        g_assert_cmpint(look_at(&look, pid, "", at_us, &idle_us), ==, 'R');
        if (look.run_ns != run_ns) {
            g_assert_cmpint(idle_us, ==, 0);
            n_changes++;
        }
        run_ns = look.run_ns;
    }
    end(pid);
}

/* ---- control groups */

#define GROUPS "/sys/fs/cgroup"

/* In a mount namespace of this process, so that the unified hierarchy is mounted on any system. */
static gboolean
mount_groups(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("cgroup2", GROUPS, "cgroup2", 0, NULL) == 0;
}

static void
write_to(const char *group, const char *name, const char *text)
{
    g_autofree char *file = g_build_filename(group, name, NULL);
    int fd = open(file, O_WRONLY | O_CLOEXEC);

    g_assert_cmpint(write(fd, text, strlen(text)), ==, (gssize)strlen(text));
    close(fd);
}

/* The kernel freezes a group some time after the write. */
static void
freeze(const char *group, pid_t pid, gboolean is_frozen)
{
    write_to(group, "cgroup.freeze", is_frozen ? "1" : "0");
    wait_for_state(pid, is_frozen ? PROCESS_LOOK_FROZEN : 'S');
}

TEST("/process-look/frozen", test_frozen)
{
    g_autofree char *outer = g_strdup_printf(GROUPS "/weblocks-test-%d", getpid());
    g_autofree char *inner = g_build_filename(outer, "inner", NULL);
    g_autofree char *pid_text = NULL;
    ProcessLook look = {0};
    gint64 idle_us = -1;
    pid_t pid;

    if (!mount_groups() || mkdir(outer, 0755) != 0) {
        g_test_skip("making a control group is not permitted");
        return;
    }
    g_assert_cmpint(mkdir(inner, 0755), ==, 0);
    pid = spawn(pause_forever);
    pid_text = g_strdup_printf("%d", pid);
    write_to(inner, "cgroup.procs", pid_text);
    wait_for_state(pid, 'S');
    freeze(inner, pid, TRUE);
    g_assert_cmpint(look_at(&look, pid, "", SECOND, &idle_us), ==, PROCESS_LOOK_FROZEN);
    g_assert_cmpint(look_at(&look, pid, "", 100 * SECOND, &idle_us), ==, PROCESS_LOOK_FROZEN);
    g_assert_cmpint(idle_us, ==, 0);
    freeze(inner, pid, FALSE);
    freeze(outer, pid, TRUE);
    freeze(outer, pid, FALSE);
    end(pid);
    g_assert_cmpint(rmdir(inner), ==, 0);
    g_assert_cmpint(rmdir(outer), ==, 0);
}

/* ---- identification of the process */

TEST("/process-look/started-later", test_started_later)
{
    const gint64 before_us = boot_time_get_us();
    pid_t pid = spawn(pause_forever);
    ProcessLook look = {0};
    gint64 idle_us;

    /* The start time has a resolution of 10 ms, rounded down. */
    g_assert_true(process_look(&look, (guint)pid, "", before_us - SECOND / 10, LATER, &idle_us) ==
                  '\0');
    wait_for_state(pid, 'S');
    g_assert_true(process_look(&look, (guint)pid, "", boot_time_get_us(), LATER, &idle_us) == 'S');
    end(pid);
}

/* The pid is given to another process between two looks. */
TEST("/process-look/reused", test_reused)
{
    pid_t pid = spawn(pause_forever);
    ProcessLook look = {0};
    gint64 idle_us;

    g_assert_cmpint(look_at(&look, pid, "", SECOND, &idle_us), !=, '\0');
    look.start_ticks--;
    g_assert_cmpint(look_at(&look, pid, "", SECOND, &idle_us), ==, '\0');
    end(pid);
}

static void
rename_and_pause(void)
{
    prctl(PR_SET_NAME, "a (b) R 1\t");
    kill(getpid(), SIGSTOP);
    pause_forever();
}

TEST("/process-look/name", test_name)
{
    pid_t pid = spawn(rename_and_pause);
    ProcessLook look = {0};
    gint64 idle_us;
    int status;

    g_assert_cmpint(waitpid(pid, &status, WUNTRACED), ==, pid);
    g_assert_cmpint(look_at(&look, pid, "a (b) R 1", SECOND, &idle_us), ==, 'T');
    g_assert_cmpint(look_at(&look, pid, "a (b) R", SECOND, &idle_us), ==, '\0');
    g_assert_cmpint(look_at(&look, pid, "", SECOND, &idle_us), ==, 'T');
    end(pid);
}

TEST("/process-look/none", test_none)
{
    ProcessLook look = {0};
    gint64 idle_us = -1;

    g_assert_cmpint(look_at(&look, 0, "", SECOND, &idle_us), ==, '\0');
    g_assert_cmpint(idle_us, ==, 0);
    g_assert_cmpint(look_at(&look, G_MAXINT, "", SECOND, &idle_us), ==, '\0');
    g_assert_cmpint(look_at(&look, -1, "", SECOND, &idle_us), ==, '\0');
}

TEST_MAIN(g_test_run())
