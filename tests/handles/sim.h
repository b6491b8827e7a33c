/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the service and two clients, A and B, share in test-interleavings: the memory of the cells,
 * the packets on their way, the calls on the bus, the state on disk; and the model of the standard
 * that all of this is compared with.
 *
 * The service and the libraries are the real ones. Where these call the kernel or the bus, they
 * call functions of this header instead (stepped-*.c), which yield if another actor may be
 * affected, and note what has been read (steps.h). */

#pragma once

#include <glib.h>
#include <poll.h>
#include <sys/types.h>

#include "common/lock-cell.h"
#include "tests/handles/stepped-cell.h"

#define SIM_CLIENTS 2
#define SIM_CELL    1 /* of each page */

/* Time stands still, but for a client that waits to try again. */
#define SIM_NOW_US      (5 * G_USEC_PER_SEC)
#define SIM_REALTIME_US G_GINT64_CONSTANT(1700000000000000)

/* ---- objects of steps (steps.h), for client `i` */

#define OBJECT_TO_SERVICE(i) (1U << (i))       /* packets, at their end; and whether there is one */
#define OBJECT_TO_CLIENT(i)  (1U << (2 + (i))) /* likewise */
#define OBJECT_BUS(i)        (1U << (4 + (i)))
#define OBJECT_DISK          (1U << 6) /* whether the directory was removed */
#define OBJECTS_OF_SERVICE   ((1U << 6) - 1)
#define OBJECT_MEMORY(i, n)  (1U << (8 + 8 * (i) + (n)))
#define OBJECTS_MEMORY       (((1U << 16) - 1) << 8)

/* ---- memory; steps on it are those of stepped-cell.h */

/* The service has made a page for the client; it does not use one any more; it has removed the
 * files of such pages, or of all. */
void sim_add_page(guint client, const LockCell *service_memory, int fd);
void sim_end_page(const LockCell *service_memory);
gboolean sim_has_ended_pages(void);
void sim_remove_pages(gboolean is_all);
guint sim_count_pages(guint client);
/* A run is over. */
void sim_forget_pages(void);
guint64 sim_describe_pages(void);

/* ---- sockets
 *
 * Packets are in the kernel; here is only what is needed to say who affects whom. What an actor
 * takes from the head of a queue would be there later, too, so that is no step; to find nothing
 * is. */

typedef enum { DIRECTION_TO_SERVICE, DIRECTION_TO_CLIENT } Direction;

ssize_t sim_send(guint client, Direction to, int fd, const void *bytes, size_t size, int flags);
ssize_t sim_receive(guint client, Direction to, int fd, void *bytes, size_t size, int flags);
gboolean sim_has_packet(guint client, Direction to);
/* The service has made a socket for this client: nothing is on its way. */
void sim_begin_socket(guint client);
/* The receiver of this direction will find that it has ended. */
void sim_end_sending(guint client, Direction to);
gboolean sim_has_ended(guint client, Direction to);
/* A client has closed a socket that it has not used. */
void sim_drop_socket(guint client);
/* The service reads nothing any more. */
void sim_end_receiving(guint client);

/* ---- the library: stepped-session.c, stepped-client-socket.c, client-bus.c */

/* The client whose step it is. */
guint sim_get_client(void);
int sim_poll(struct pollfd *fds, nfds_t n_fds, int timeout_ms);
int sim_count_bytes(int fd, int *out_bytes);
/* A socket of a client, which stays open when the service is killed. */
void sim_keep_fd(int fd);
int sim_close(int fd);
int sim_shut_down(int fd);

/* ---- the bus between them: client-bus.c, service-bus.c */

typedef enum {
    BUS_CALL_OPEN_SOCKET,
    BUS_CALL_OPEN_SOCKET_WITHOUT_CELLS,
    BUS_CALL_QUERY,
} BusCallKind;

typedef struct {
    BusCallKind kind;
    gboolean is_unanswered; /* the service has ended */
    int fd, page_fd;        /* owned; -1: none */
    guint socket;           /* set by sim_reply() */
} SimReply;

void sim_call(guint client, BusCallKind kind);
gboolean sim_has_call(guint client);
BusCallKind sim_take_call(guint client);
void sim_reply(guint client, const SimReply *reply);
gboolean sim_has_reply(guint client);
/* Whether it has made a call and not read the reply. */
gboolean sim_is_calling(guint client);
SimReply sim_take_reply(guint client);
/* Becomes readable when there is a reply. */
int sim_get_bus_fd(guint client);

/* ---- runs */

/* Before there are steps, `settle` lets the service do what there is to do while a client waits,
 * which is the one that is named here. */
void sim_begin(void (*settle)(void));
void sim_let_begin(guint client);
/* The service has started: it is later now, and locks have cells. */
void sim_note_start(void);
void sim_end(void);

/* They are killed: their descriptors are closed. */
void sim_lose_service(void);
void sim_lose_client(guint client);

/* A hash of all this. */
guint64 sim_describe(void);
