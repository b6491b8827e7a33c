// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

/*
 * Starts a private dbus-broker for the tests, without systemd.
 *
 * dbus-broker only passes messages: a controller sends it the listening sockets
 * and the policy over an inherited socket. This is a minimal controller: one
 * listening socket, and a policy that allows everything.
 *
 * Usage: broker-launcher SOCKET-PATH [--refuse-statistics] [DBUS-BROKER-OPTION...]
 *
 * With --refuse-statistics the policy denies org.freedesktop.DBus.Debug.Stats to everybody.
 *
 * Prints two lines, the address of the bus and the pid of the broker, and stays
 * until its standard input closes; then it ends the broker and exits with 0.
 * If the broker ends first, it exits with 1.
 */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define CONTROLLER_FD 3
#define MACHINE_ID    "00000000000000000000000000000001"

/* What may be done: connect, own names, send, receive. Each rule carries a
 * verdict and a priority; the last match with the highest priority counts. */
#define RULES_SIGNATURE "bta(btbs)a(btssssuutt)a(btssssuutt)"
/* Rules by uid, by group or uid range, SELinux labels, AppArmor, kind of bus. */
#define POLICY_SIGNATURE          \
    "a(u(" RULES_SIGNATURE "))"   \
    "a(buu(" RULES_SIGNATURE "))" \
    "a(ss)bs"

static void
fail(const char *what, int error)
{
    fprintf(stderr, "broker-launcher: %s: %s\n", what, strerror(error));
    exit(1);
}

static int
listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(address.sun_path))
        fail(path, ENAMETOOLONG);
    memcpy(address.sun_path, path, strlen(path) + 1);

    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        fail("socket", errno);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        fail(path, errno);
    /* Tests of two users need a socket that both may open. */
    if (chmod(path, 0666) < 0 || listen(fd, SOMAXCONN) < 0)
        fail(path, errno);
    return fd;
}

static void
exec_broker(int controller_fd, char **options, int n_options)
{
    static const char *const fixed[] = {
        "dbus-broker", "--controller",  "3",         "--machine-id", MACHINE_ID,
        "--max-bytes", "1000000000",    "--max-fds", "1000000",      "--max-matches",
        "1000000",     "--max-objects", "100000000",
    };
    size_t n_fixed = sizeof(fixed) / sizeof(fixed[0]);
    const char **argv = calloc(n_fixed + (size_t)n_options + 1, sizeof(*argv));

    if (argv == NULL)
        _exit(127);
    memcpy(argv, fixed, sizeof(fixed));
    /* The options of the command line come last, so they take precedence. */
    for (int i = 0; i < n_options; i++)
        argv[n_fixed + (size_t)i] = options[i];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* dup2() to the same number would leave close-on-exec set. */
    if (controller_fd == CONTROLLER_FD)
        controller_fd = dup(controller_fd);
    if (controller_fd < 0 || dup2(controller_fd, CONTROLLER_FD) < 0)
        _exit(127);
    execvp("dbus-broker", (char *const *)argv);
    fprintf(stderr, "broker-launcher: dbus-broker: %s\n", strerror(errno));
    _exit(127);
}

static pid_t
start_broker(sd_bus **controller, char **options, int n_options)
{
    int pair[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        fail("socketpair", errno);
    pid_t pid = fork();
    if (pid < 0)
        fail("fork", errno);
    if (pid == 0)
        exec_broker(pair[1], options, n_options);
    close(pair[1]);

    if ((r = sd_bus_new(controller)) < 0 ||
        (r = sd_bus_set_fd(*controller, pair[0], pair[0])) < 0 ||
        (r = sd_bus_start(*controller)) < 0)
        fail("controller connection", -r);
    return pid;
}

static int
append_policy(sd_bus_message *m, bool refuses_statistics)
{
    const uint32_t any_uid = UINT32_MAX;
    const uint64_t priority = 1;
    const uint64_t no_fds = 0, many_fds = UINT64_MAX;
    const int allow = 1;
    /* A second rule that allows, or denies, messages to the bus's own interface. */
    const int second = !refuses_statistics;

    return sd_bus_message_append(
        m, "v", "(" POLICY_SIGNATURE ")",
        /* one batch of rules, for every uid */
        1, any_uid, allow, priority,
        /* own any name: the empty prefix */
        1, allow, priority, 1, "",
        /* send and receive: any name, path, interface, member, type, broadcast or not */
        2, allow, priority, "", "", "", "", 0, 0, no_fds, many_fds, second, priority + 1,
        "org.freedesktop.DBus", "", "org.freedesktop.DBus.Debug.Stats", "", 0, 0, no_fds, many_fds,
        1, allow, priority, "", "", "", "", 0, 0, no_fds, many_fds,
        /* no groups, no SELinux, no AppArmor */
        0, 0, 0, "session");
}

static void
add_listener(sd_bus *controller, int listen_fd, bool refuses_statistics)
{
    sd_bus_message *call = NULL;
    sd_bus_error error = SD_BUS_ERROR_NULL;
    int r;

    if ((r = sd_bus_message_new_method_call(controller, &call, NULL, "/org/bus1/DBus/Broker",
                                            "org.bus1.DBus.Broker", "AddListener")) < 0 ||
        (r = sd_bus_message_append(call, "oh", "/org/bus1/DBus/Listener/0", listen_fd)) < 0 ||
        (r = append_policy(call, refuses_statistics)) < 0)
        fail("AddListener message", -r);
    r = sd_bus_call(controller, call, 0, &error, NULL);
    if (r < 0) {
        fprintf(stderr, "broker-launcher: AddListener: %s\n", error.message ? error.message : "");
        fail("AddListener", -r);
    }
    sd_bus_message_unref(call);
}

/* Returns 0 when standard input closed, 1 when the broker went away. */
static int
stay(sd_bus *controller)
{
    for (;;) {
        int r;
        while ((r = sd_bus_process(controller, NULL)) > 0)
            ;
        if (r < 0)
            return 1;

        struct pollfd fds[] = {
            {.fd = STDIN_FILENO, .events = POLLIN},
            {.fd = sd_bus_get_fd(controller), .events = (short)sd_bus_get_events(controller)},
        };
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            fail("poll", errno);
        if (fds[0].revents != 0) {
            char ignored[64];
            if (read(STDIN_FILENO, ignored, sizeof(ignored)) <= 0)
                return 0;
        }
    }
}

int
main(int argc, char **argv)
{
    sd_bus *controller = NULL;

    if (argc < 2) {
        fprintf(stderr, "usage: broker-launcher SOCKET-PATH [--refuse-statistics] "
                        "[DBUS-BROKER-OPTION...]\n");
        return 2;
    }
    int listen_fd = listen_at(argv[1]);
    bool refuses_statistics = argc > 2 && strcmp(argv[2], "--refuse-statistics") == 0;
    int n_own = refuses_statistics ? 3 : 2;
    pid_t pid = start_broker(&controller, argv + n_own, argc - n_own);
    add_listener(controller, listen_fd, refuses_statistics);
    close(listen_fd);

    printf("unix:path=%s\n%d\n", argv[1], (int)pid);
    fflush(stdout);

    int result = stay(controller);

    kill(pid, SIGTERM);
    sd_bus_unref(controller);
    waitpid(pid, NULL, 0);
    unlink(argv[1]);
    return result;
}
