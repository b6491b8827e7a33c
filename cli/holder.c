/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/holder.h"

#include <errno.h>
#include <glib-unix.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "cli/language.h"
#include "cli/lock-output.h"
#include "cli/signals.h"
#include "cli/target.h"
#include "common/bus-names.h"

/* The protocol has 32 bits for a time-out in milliseconds, and 0 means no time-out. A longer time
 * is sent as 0. */
#define TIMEOUT_MS_MAX ((double)G_MAXUINT32)
/* How long to wait for the service's last answer before exiting. */
#define LAST_ANSWER_MS 3000
/* When the language is set, which takes longer than a lock. What is refused before, and would be
 * again, is tried once more, so that the library's message is in that language. */
#define LANGUAGE_MS 100
/* How often to ask whether the other hosts can be reached. */
#define CONTACT_MS 1000

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void
holder_add_name(Holder *self, const char *name)
{
    if (g_ptr_array_find_with_equal_func(self->names, name, g_str_equal, NULL))
        return;
    g_ptr_array_add(self->names, (char *)name);
    g_ptr_array_sort(self->names, compare_names);
}

WebLocksLock *
holder_get_lock(const Holder *self, const char *name)
{
    for (guint i = 0; i < self->locks->len; i++)
        if (g_str_equal(self->names->pdata[i], name))
            return self->locks->pdata[i];
    return NULL;
}

gboolean
holder_is_intact(const Holder *self)
{
    for (guint i = 0; i < self->locks->len; i++)
        if (!web_locks_lock_get_held(self->locks->pdata[i]))
            return FALSE;
    return TRUE;
}

/* The name that is requested next, or waited for. */
static const char *
get_name(const Holder *self)
{
    return self->names->pdata[self->locks->len];
}

static void
finish(Holder *self, int status)
{
    self->status = status;
    g_main_loop_quit(self->loop);
}

static gboolean
on_no_answer(gpointer data)
{
    Holder *self = data;

    complain(_("the service does not answer"));
    g_main_loop_quit(self->loop);
    return G_SOURCE_REMOVE;
}

static void
end_wait(Holder *self, int status)
{
    gboolean again = self->aborted;

    g_clear_pointer(&self->line, waiting_line_free);
    if (!again) {
        self->aborted = TRUE;
        self->status = status;
    }
    /* The second time, exit: disconnecting ends the request, too. */
    if (again) {
        g_main_loop_quit(self->loop);
        return;
    }
    g_timeout_add(LAST_ANSWER_MS, on_no_answer, self);
    g_cancellable_cancel(self->cancellable);
}

/* ---- loss of the lock */

/* Returns an owned text. */
static char *
describe_loss(const Holder *self, WebLocksLock *lock, const GError *error)
{
    const char *name = web_locks_lock_get_name(lock);

    if (g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN))
        return g_strdup_printf(_("the lock '%s' was stolen"), name);
    if (!web_locks_agent_get_connected(self->agent))
        return g_strdup_printf(_("the lock '%s' was lost: the connection to the bus has ended"),
                               name);
    if (target_is_clustered(&self->options.target))
        return g_strdup_printf(
            _("the lock '%s' was lost: this host had no contact with the cluster"), name);
    return g_strdup_printf(_("the lock '%s' was lost: the service has restarted without it"), name);
}

static void
on_lost(WebLocksLock *lock, const GError *error, gpointer data)
{
    Holder *self = data;
    g_autofree char *text = NULL;

    if (self->lost)
        return;
    self->lost = TRUE;
    text = describe_loss(self, lock, error);
    if (self->phase == PHASE_HOLD) {
        self->events->lost(self, text);
        return;
    }
    complain("%s", text);
    if (self->phase == PHASE_WAIT)
        end_wait(self, STATUS_LOST);
}

/* ---- release */

static int
status_at_end(Holder *self, int status)
{
    return self->lost && !self->options.ignore_loss ? STATUS_LOST : status;
}

static void
on_released(GObject *lock, GAsyncResult *result, gpointer data)
{
    Holder *self = data;
    g_autoptr(GError) error = NULL;

    /* After any error the lock may have been lost before the release. */
    if (!web_locks_lock_release_finish(WEB_LOCKS_LOCK(lock), result, &error) && !self->lost) {
        self->lost = TRUE;
        complain(_("the lock '%s' was lost: %s"), web_locks_lock_get_name(WEB_LOCKS_LOCK(lock)),
                 error->message);
    }
    if (--self->n_unanswered == 0)
        finish(self, status_at_end(self, self->status));
}

static void
start_release(Holder *self, int status)
{
    self->phase = PHASE_RELEASE;
    self->status = status_at_end(self, status);
    /* What is not released here ends with the connection. */
    if (self->lost || self->locks->len == 0) {
        finish(self, self->status);
        return;
    }
    g_timeout_add(LAST_ANSWER_MS, on_no_answer, self);
    self->n_unanswered = self->locks->len;
    for (guint i = 0; i < self->locks->len; i++)
        web_locks_lock_release_async(self->locks->pdata[i], NULL, on_released, self);
}

void
holder_end(Holder *self, int status)
{
    if (self->phase == PHASE_WAIT)
        end_wait(self, status);
    else if (self->phase == PHASE_HOLD)
        start_release(self, status);
}

gboolean
holder_has_released(const Holder *self)
{
    return self->phase == PHASE_RELEASE && !self->lost && self->n_unanswered == 0;
}

/* ---- contact with the other hosts */

static void
check_contact(Holder *self)
{
    gint64 since_us = g_get_monotonic_time() - self->reached_us;

    if (self->phase != PHASE_WAIT || self->aborted ||
        (double)since_us < self->options.connect_timeout * G_USEC_PER_SEC)
        return;
    complain(_("the cluster can't be reached; see 'weblocks cluster'"));
    end_wait(self, STATUS_UNAVAILABLE);
}

static void
on_cluster_read(GObject *bus, GAsyncResult *result, gpointer data)
{
    Holder *self = data;
    g_autoptr(GVariant) reply = g_dbus_connection_call_finish(G_DBUS_CONNECTION(bus), result, NULL);
    g_autoptr(GVariant) dict = NULL;
    const char *state = "";

    self->is_reading = FALSE;
    if (reply != NULL) {
        g_variant_get(reply, "(v)", &dict);
        g_variant_lookup(dict, "state", "&s", &state);
    }
    if (g_str_equal(state, "active"))
        self->reached_us = g_get_monotonic_time();
    else
        check_contact(self);
}

static gboolean
on_contact(gpointer data)
{
    Holder *self = data;

    if (self->phase != PHASE_WAIT || self->aborted)
        return G_SOURCE_REMOVE;
    if (self->is_reading) {
        check_contact(self);
        return G_SOURCE_CONTINUE;
    }
    self->is_reading = TRUE;
    g_dbus_connection_call(self->bus, BUS_SERVICE_NAME, BUS_SERVICE_PATH, BUS_PROPERTIES_INTERFACE,
                           "Get", g_variant_new("(ss)", BUS_SERVICE_INTERFACE, "Cluster"),
                           G_VARIANT_TYPE("(v)"), G_DBUS_CALL_FLAGS_NONE, LAST_ANSWER_MS, NULL,
                           on_cluster_read, self);
    return G_SOURCE_CONTINUE;
}

static void
on_bus(GObject *source, GAsyncResult *result, gpointer data)
{
    Holder *self = data;

    self->bus = g_bus_get_finish(result, NULL);
    if (self->bus == NULL)
        return; /* the agent has no connection either */
    g_timeout_add(CONTACT_MS, on_contact, self);
}

/* ---- waiting for the lock */

static void
on_inspected(GObject *manager, GAsyncResult *result, gpointer data)
{
    Holder *self = data;
    g_autoptr(WebLocksSnapshot) snapshot =
        web_locks_manager_inspect_finish(WEB_LOCKS_MANAGER(manager), result, NULL);
    GListModel *held = snapshot != NULL ? web_locks_snapshot_get_held(snapshot) : NULL;
    guint n = held != NULL ? g_list_model_get_n_items(held) : 0;

    for (guint i = 0; i < n; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(held, i);
        g_autofree char *who = lock_output_holder(info, TRUE);

        complain(_("'%s' is held by %s"), get_name(self), who);
    }
    g_main_loop_quit(self->loop);
}

static void
end_in_conflict(Holder *self)
{
    self->status = self->options.conflict_status;
    if (!self->options.verbose) {
        g_main_loop_quit(self->loop);
        return;
    }
    complain(_("could not acquire '%s' in %.6f s"), get_name(self),
             (double)(g_get_monotonic_time() - self->began_us) / G_USEC_PER_SEC);
    g_timeout_add(LAST_ANSWER_MS, on_no_answer, self);
    web_locks_manager_inspect_async(self->manager, get_name(self), NULL, on_inspected, self);
}

static void request(Holder *self);

static void
on_granted(Holder *self, WebLocksLock *take_lock)
{
    const char *name = web_locks_lock_get_name(take_lock);

    g_ptr_array_add(self->locks, take_lock);
    g_signal_connect(take_lock, "lost", G_CALLBACK(on_lost), self);
    if (self->options.verbose)
        complain(_("acquired '%s' in %.6f s, token %llu"), name,
                 (double)(g_get_monotonic_time() - self->began_us) / G_USEC_PER_SEC,
                 (unsigned long long)web_locks_lock_get_token(take_lock));
    if (!web_locks_lock_get_held(take_lock)) {
        /* The lock was granted and lost before the result was dispatched. */
        self->lost = TRUE;
        complain(_("the lock '%s' was lost immediately after the grant"), name);
        finish(self, STATUS_LOST);
    } else if (self->locks->len < self->names->len) {
        request(self);
    } else {
        self->phase = PHASE_HOLD;
        self->events->granted(self);
    }
}

static void
on_requested(GObject *manager, GAsyncResult *result, gpointer data)
{
    Holder *self = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock =
        web_locks_manager_request_finish(WEB_LOCKS_MANAGER(manager), result, &error);

    g_clear_pointer(&self->line, waiting_line_free);
    if (self->aborted)
        /* The request was aborted, or granted before the abort; then the lock is released when this
         * process disconnects. */
        g_main_loop_quit(self->loop);
    else if (lock != NULL)
        on_granted(self, g_steal_pointer(&lock));
    else if (error == NULL || g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT))
        end_in_conflict(self);
    else if (!g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE) &&
             language_set())
        request(self);
    else if (get_name(self)[0] == '-')
        finish(self, complain_of(error)); /* a reserved name, in every bucket */
    else
        finish(self, target_complain(&self->options.target, error));
}

static guint
timeout_ms(double seconds)
{
    double ms = ceil(seconds * 1000);

    return seconds < 0 || ms > TIMEOUT_MS_MAX ? 0 : (guint)ms;
}

/* The time-out is for all locks together. It stays one if it is over. */
static double
get_remaining_time(Holder *self)
{
    const gint64 now_us = g_get_monotonic_time();

    if (self->locks->len == 0)
        self->requested_us = now_us;
    if (self->options.wait < 0)
        return self->options.wait;
    return MAX(self->options.wait - (double)(now_us - self->requested_us) / G_USEC_PER_SEC, 0.001);
}

static void
request(Holder *self)
{
    g_autoptr(WebLocksOptions) options = web_locks_options_new();
    const char *name = get_name(self);

    if (self->options.shared)
        web_locks_options_set_mode(options, WEB_LOCKS_MODE_SHARED);
    web_locks_options_set_if_available(options, self->options.nonblock);
    web_locks_options_set_steal(options, self->options.steal);
    web_locks_options_set_slots(options, self->options.slots);
    if (!self->options.nonblock)
        web_locks_options_set_timeout(options, timeout_ms(get_remaining_time(self)));
    if (self->options.why != NULL)
        web_locks_options_set_why(options, self->options.why);
    web_locks_options_set_command(options, self->options.command);
    if (!self->options.nonblock && !self->options.steal)
        self->line = waiting_line_new(self->manager, name, self->options.verbose);
    web_locks_manager_request_async(self->manager, name, options, self->cancellable, on_requested,
                                    self);
}

static void start_connecting(Holder *self);

static void
on_connected(GObject *source, GAsyncResult *result, gpointer data)
{
    Holder *self = data;
    g_autoptr(GError) error = NULL;

    g_async_initable_init_finish(G_ASYNC_INITABLE(source), result, &error);
    if (self->aborted) {
        g_main_loop_quit(self->loop);
    } else if (error == NULL) {
        self->manager = web_locks_manager_new(self->agent, self->options.target.bucket);
        self->reached_us = g_get_monotonic_time();
        if (self->options.connect_timeout >= 0)
            g_bus_get(target_bus(&self->options.target), NULL, on_bus, self);
        request(self);
    } else if (language_set()) {
        start_connecting(self);
    } else {
        target_explain(&self->options.target, error);
        if (!self->options.needs_no_bus) {
            finish(self, complain_of(error));
            return;
        }
        complain(_("%s; running without the lock"), error->message);
        self->phase = PHASE_HOLD;
        self->events->granted(self);
    }
}

static gboolean
on_language_time(gpointer data)
{
    language_set();
    return G_SOURCE_REMOVE;
}

static void
start_connecting(Holder *self)
{
    g_async_initable_init_async(G_ASYNC_INITABLE(self->agent), G_PRIORITY_DEFAULT,
                                self->cancellable, on_connected, self);
}

/* ---- signals */

static void
take_signal(Holder *self, int number, gboolean from_terminal)
{
    if (self->phase == PHASE_HOLD)
        self->events->signalled(self, number, from_terminal);
    else if (number == SIGCHLD)
        return;
    else if (self->phase == PHASE_WAIT)
        end_wait(self, STATUS_SIGNALLED + number);
    else
        g_main_loop_quit(self->loop);
}

static gboolean
on_signal(int fd, GIOCondition condition, gpointer data)
{
    gboolean from_terminal;
    int number;

    while (signals_read(fd, &number, &from_terminal))
        take_signal(data, number, from_terminal);
    return G_SOURCE_CONTINUE;
}

void
holder_clear(Holder *self)
{
    g_clear_pointer(&self->line, waiting_line_free);
    for (guint i = 0; self->locks != NULL && i < self->locks->len; i++)
        g_signal_handlers_disconnect_by_data(self->locks->pdata[i], self);
    g_clear_pointer(&self->locks, g_ptr_array_unref);
    g_clear_object(&self->manager);
    g_clear_object(&self->agent);
    g_clear_object(&self->cancellable);
    g_clear_object(&self->bus);
    g_clear_pointer(&self->loop, g_main_loop_unref);
}

int
holder_main(Holder *self)
{
    int signals_fd;

    complain_in_thread();
    self->loop = g_main_loop_new(NULL, FALSE);
    self->cancellable = g_cancellable_new();
    self->locks = g_ptr_array_new_with_free_func(g_object_unref);
    self->began_us = g_get_monotonic_time();
    signals_fd = signals_open();
    if (signals_fd < 0) {
        complain(_("cannot watch signals: %s"), language_strerror(errno));
        return STATUS_SYSTEM;
    }
    g_unix_fd_add(signals_fd, G_IO_IN, on_signal, self);
    self->agent = web_locks_agent_new(target_bus(&self->options.target), NULL);
    g_timeout_add(LANGUAGE_MS, on_language_time, NULL);
    start_connecting(self);
    g_main_loop_run(self->loop);
    return self->status;
}
