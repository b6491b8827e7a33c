/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/resync.h"

#include "client-lib/call.h"
#include "client-lib/connection.h"
#include "client-lib/error-private.h"
#include "client-lib/request.h"
#include "common/wire-names.h"

/* How often the service is asked while somebody waits. A test is built with less. */
#ifndef RESYNC_INTERVAL_MS
#define RESYNC_INTERVAL_MS 30000
#endif

/* When the service can't be had, it is called again after the first, then twice that, up to the
 * last. */
#define RETRY_FIRST_MS 1000
#define RETRY_LAST_MS  30000

typedef enum {
    STATE_IN_STEP,   /* what we know is what it knows; or there is nothing to know */
    STATE_DUE,       /* it has to be asked */
    STATE_ASKED,     /* so it was */
    STATE_REPEATING, /* it has answered, and is told what was kept */
} State;

struct Resync {
    Connection *connection; /* not ours: it has us */
    State state;
    guint n_owner_changes; /* when we were in step */
    guint retry_ms;

    Letter letter; /* the question */
    gboolean is_asking;
    char *asked; /* unique name of the one who is to answer; NULL: the one that it starts */
    guint64 asked_number;

    GQueue items; /* of ResyncItem, by number */
    guint64 last_number;
    guint64 forgotten; /* the number of the last that went without an answer */
    guint64 confirmed; /* all up to here was read */
    GHashTable *keys;

    GSource *timer; /* NULL until it is needed */
    gint64 wake_us; /* of the monotonic clock; 0: never */
};

static void try_now(Resync *self);

static Route *
get_route(const Resync *self)
{
    return connection_get_route(self->connection);
}

static Ledger *
get_ledger(const Resync *self)
{
    return connection_get_ledger(self->connection);
}

/* ---- the timer */

typedef struct {
    GSource parent;
    Gate *gate; /* the source may outlive the connection */
    Resync *resync;
} Timer;

static gboolean
timer_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    Timer *self = (Timer *)source;
    Gate *gate = self->gate;

    gate_enter(gate);
    if (!g_source_is_destroyed(source)) {
        Connection *connection = connection_ref(self->resync->connection);

        resync_tick(self->resync);
        connection_unref(connection);
    }
    gate_leave(gate);
    return G_SOURCE_CONTINUE;
}

static void
timer_finalize(GSource *source)
{
    gate_unref(((Timer *)source)->gate);
}

static GSourceFuncs timer_funcs = {.dispatch = timer_dispatch, .finalize = timer_finalize};

static void
start_timer(Resync *self)
{
    Timer *timer;

    self->timer = g_source_new(&timer_funcs, sizeof(Timer));
    timer = (Timer *)self->timer;
    timer->gate = gate_ref(connection_get_gate(self->connection));
    timer->resync = self;
    g_source_set_static_name(self->timer, "weblocks-resync");
    g_source_attach(self->timer, connection_get_context(self->connection));
}

/* 0: never. Sync calls are woken, to wait for that too. */
static void
wake_at(Resync *self, gint64 wake_us)
{
    if (wake_us == self->wake_us)
        return;
    self->wake_us = wake_us;
    if (self->timer == NULL)
        start_timer(self);
    g_source_set_ready_time(self->timer, wake_us != 0 ? wake_us : -1);
    connection_wires_changed(self->connection);
}

static void
wake_in(Resync *self, guint ms)
{
    wake_at(self, g_get_monotonic_time() + ms * G_TIME_SPAN_MILLISECOND);
}

gint64
resync_get_time(const Resync *self)
{
    return self->wake_us != 0 ? self->wake_us : G_MAXINT64;
}

void
resync_watch_over(Resync *self)
{
    if (self->state == STATE_IN_STEP && self->wake_us == 0)
        wake_in(self, RESYNC_INTERVAL_MS);
}

/* ---- what is said */

/* Nobody would notice if the service had lost it. */
static gboolean
is_forgotten(const Resync *self)
{
    return self->forgotten > self->confirmed;
}

static gboolean
somebody_waits(const Resync *self)
{
    return self->items.length > 0 || !ledger_is_empty(get_ledger(self));
}

static gboolean
is_at_stake(const Resync *self)
{
    return somebody_waits(self) || is_forgotten(self);
}

static void
be_in_step(Resync *self)
{
    self->state = STATE_IN_STEP;
    self->n_owner_changes = connection_get_owner_changes(self->connection);
    self->retry_ms = 0;
}

gboolean
resync_may_send(Resync *self)
{
    if (self->state == STATE_DUE && !is_at_stake(self))
        be_in_step(self);
    return self->state == STATE_IN_STEP || self->state == STATE_REPEATING;
}

gboolean
resync_is_in_step(const Resync *self)
{
    return self->state == STATE_IN_STEP;
}

static void
enter_queue(ResyncItem *item, GQueue *queue)
{
    item->queue = queue;
    item->link.data = item;
    g_queue_push_tail_link(queue, &item->link);
}

static void
add(Resync *self, ResyncItem *item)
{
    item->number = ++self->last_number;
    item->n_owner_changes = connection_get_owner_changes(self->connection);
    enter_queue(item, &self->items);
}

void
resync_add(Resync *self, ResyncItem *item)
{
    item->is_kept = !resync_may_send(self);
    add(self, item);
    if (item->is_kept)
        try_now(self); /* somebody needs it now, however long ago it was called in vain */
}

void
resync_add_for_next(Resync *self, ResyncItem *item)
{
    item->is_kept = TRUE;
    add(self, item);
    if (!resync_may_send(self))
        try_now(self);
}

void
resync_remove(Resync *self, ResyncItem *item)
{
    if (item->queue != NULL)
        g_queue_unlink(item->queue, &item->link);
    item->queue = NULL;
}

/* If nobody says that the owner has changed, the one that is there is asked. */
void
resync_keep(Resync *self, ResyncItem *item, gboolean is_sent)
{
    item->is_kept = TRUE;
    item->is_sent = is_sent;
    if (self->state != STATE_IN_STEP)
        return;
    self->state = STATE_DUE;
    try_now(self);
}

void
resync_forget(Resync *self)
{
    self->forgotten = ++self->last_number;
}

void
resync_confirm(Resync *self, const ResyncItem *item)
{
    self->confirmed = MAX(self->confirmed, item->number);
}

void
resync_add_key(Resync *self, const guint64 *key)
{
    g_hash_table_add(self->keys, (gpointer)key);
}

void
resync_remove_key(Resync *self, const guint64 *key)
{
    g_hash_table_remove(self->keys, key);
}

/* ---- the answer */

typedef struct {
    LedgerRecord record; /* at first */
    char *path;
    char *name;
    WebLocksMode mode;
} Listed;

static void
listed_free(gpointer data)
{
    Listed *self = data;

    g_free(self->path);
    g_free(self->name);
    g_free(self);
}

/* NULL: there are no more, or `*error` is negative. */
static Listed *
read_listed(sd_bus_message *reply, int *error)
{
    const char *bucket, *name, *mode;
    LedgerRecord record;
    guint64 left_ms;
    Listed *self;

    *error = sd_bus_message_read(reply, "(sttsstt)", &bucket, &record.id, &record.key, &name, &mode,
                                 &record.token, &left_ms);
    if (*error <= 0)
        return NULL;
    self = g_new0(Listed, 1);
    self->record = record;
    self->name = g_strdup(name);
    self->mode = g_str_equal(mode, "shared") ? WEB_LOCKS_MODE_SHARED : WEB_LOCKS_MODE_EXCLUSIVE;
    *error = sd_bus_path_encode(WIRE_BUCKET_PREFIX, bucket, &self->path);
    if (*error >= 0)
        return self;
    listed_free(self);
    return NULL;
}

static GHashTable *
listing_new(void)
{
    return g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, listed_free);
}

/* By id; NULL: it makes no sense. */
static GHashTable *
read_listing(sd_bus_message *reply)
{
    g_autoptr(GHashTable) listing = listing_new();
    Listed *listed;
    int r = sd_bus_message_enter_container(reply, 'a', "(sttsstt)");

    if (r <= 0)
        return NULL;
    while ((listed = read_listed(reply, &r)) != NULL)
        g_hash_table_replace(listing, &listed->record.id, listed);
    return r < 0 ? NULL : g_steal_pointer(&listing);
}

static int
compare_listed(gconstpointer a, gconstpointer b)
{
    guint64 id_a = ((const Listed *)a)->record.id, id_b = ((const Listed *)b)->record.id;

    return id_a < id_b ? -1 : id_a > id_b;
}

/* A request whose answer never came is there by its key, and gets the answer when it is said
 * again. Else: it was let go, or given up, and the service has not heard of it. */
static gboolean
is_unwanted(const Resync *self, const Listed *listed)
{
    return !ledger_has(get_ledger(self), listed->record.id) &&
           !g_hash_table_contains(self->keys, &listed->record.key);
}

static void
give_back_unwanted(Resync *self, GHashTable *listing)
{
    g_autoptr(GList) rest = g_list_sort(g_hash_table_get_values(listing), compare_listed);

    for (GList *l = rest; l != NULL; l = l->next) {
        const Listed *listed = l->data;

        if (is_unwanted(self, listed))
            request_give_back(self->connection, listed->path, listed->record.id,
                              listed->record.token, listed->name, listed->mode);
    }
}

static void
take_in(Resync *self, GHashTable *listing)
{
    self->confirmed = MAX(self->confirmed, self->asked_number);
    ledger_compare(get_ledger(self), listing);
    give_back_unwanted(self, listing);
}

/* Also what was sent to one that is not there any more, and that nobody has said anything about. */
static void
say_what_is_kept(Resync *self)
{
    guint n_owner_changes = connection_get_owner_changes(self->connection);
    GQueue kept = G_QUEUE_INIT;

    for (GList *link = self->items.head, *next; link != NULL; link = next) {
        ResyncItem *item = link->data;

        next = link->next;
        if (!item->is_kept && item->n_owner_changes == n_owner_changes)
            continue;
        item->is_sent = item->is_sent || !item->is_kept;
        g_queue_unlink(&self->items, link);
        enter_queue(item, &kept);
    }
    while (!g_queue_is_empty(&kept)) {
        ResyncItem *item = g_queue_peek_head(&kept);

        item->say(item->call);
    }
}

/* `listing` NULL: there is nothing to compare with. */
static void
get_in_step(Resync *self, GHashTable *listing)
{
    self->state = STATE_REPEATING;
    if (listing != NULL)
        take_in(self, listing);
    say_what_is_kept(self);
    be_in_step(self);
    wake_at(self, 0);
    if (ledger_has_waiting(get_ledger(self)))
        resync_watch_over(self);
    route_start(get_route(self));
}

/* ---- no answer */

static gboolean
is_patience_over(const ResyncItem *item, gboolean can_be_had)
{
    if (item->patience_us == 0)
        return !can_be_had;
    return item->patience_us <= g_get_monotonic_time();
}

/* `can_be_had`: it is there, or was a moment ago, but has not answered. */
static void
give_up(Resync *self, const GError *error, gboolean can_be_had)
{
    for (GList *link = self->items.head, *next; link != NULL; link = next) {
        ResyncItem *item = link->data;

        next = link->next;
        if (item->is_kept && is_patience_over(item, can_be_had))
            item->give_up(item->call, error);
    }
}

static void
fail(Resync *self, const GError *error, gboolean can_be_had)
{
    self->state = STATE_DUE;
    self->retry_ms = CLAMP(self->retry_ms * 2, RETRY_FIRST_MS, RETRY_LAST_MS);
    give_up(self, error, can_be_had);
    if (somebody_waits(self) || connection_get_owner(self->connection) != NULL)
        wake_in(self, self->retry_ms);
}

static void
fail_by_message(Resync *self, sd_bus_message *reply)
{
    const sd_bus_error *wire_error = sd_bus_message_get_error(reply);
    g_autoptr(GError) error = wire_error != NULL
                                  ? error_new_from_wire(wire_error->name, wire_error->message)
                                  : error_new_unreadable();

    fail(self, error,
         sd_bus_message_is_method_error(reply, WIRE_ERROR_NO_REPLY) > 0 ||
             sd_bus_message_is_method_error(reply, WIRE_ERROR_INVALID_STATE) > 0);
}

/* ---- the question */

static void
stop_asking(Resync *self)
{
    if (self->is_asking)
        route_forget(get_route(self), &self->letter);
    self->is_asking = FALSE;
    g_clear_pointer(&self->asked, g_free);
}

/* One of those that keep nothing and know of no Resync. */
static gboolean
keeps_nothing(sd_bus_message *reply)
{
    return sd_bus_message_is_method_error(reply, WIRE_ERROR_UNKNOWN_METHOD) > 0;
}

/* While we are in step it is only a look, and no answer is no harm. */
static void
take_answer(Resync *self, sd_bus_message *reply, gboolean is_look)
{
    gboolean is_error = sd_bus_message_get_error(reply) != NULL;
    g_autoptr(GHashTable) listing = is_error ? NULL : read_listing(reply);

    if (listing != NULL && is_look) {
        take_in(self, listing);
    } else if (listing != NULL) {
        get_in_step(self, listing);
    } else if (!is_look && keeps_nothing(reply)) {
        if (self->n_owner_changes != connection_get_owner_changes(self->connection))
            listing = listing_new();
        get_in_step(self, listing);
    } else if (!is_look) {
        fail_by_message(self, reply);
    }
}

static int
on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Resync *self = userdata;
    Route *route = get_route(self);
    gboolean is_look = self->state != STATE_ASKED;
    gboolean is_of_service, is_error;

    if (!route_takes_answer(route, &self->letter, reply))
        return 1;
    stop_asking(self);
    if (!is_look)
        self->state = STATE_DUE;
    is_of_service =
        route_is_of_socket(route, reply) || connection_believes_signal(self->connection, reply);
    is_error = sd_bus_message_get_error(reply) != NULL;
    if (is_of_service || (is_error && connection_believes_reply(self->connection, reply)))
        take_answer(self, reply, is_look);
    else
        try_now(self);
    return 1;
}

static void
on_no_answer(gpointer data)
{
    Resync *self = data;

    stop_asking(self);
    if (self->state == STATE_ASKED)
        self->state = STATE_DUE;
    try_now(self);
}

static void
ask(Resync *self)
{
    g_autoptr(SdBusMessage) message = call_new_to_service(self->connection, "Resync");
    int r;

    stop_asking(self);
    self->letter = (Letter){.answered = on_answer, .unanswered = on_no_answer, .data = self};
    self->is_asking = TRUE;
    self->asked = g_strdup(connection_get_owner(self->connection));
    self->asked_number = ++self->last_number;
    ledger_begin_comparison(get_ledger(self));
    r = route_send(get_route(self), &self->letter, message, CALL_DEFAULT_TIMEOUT);
    if (r < 0) {
        g_autoptr(GError) error = error_new_from_errno(r);

        stop_asking(self);
        if (self->state == STATE_ASKED)
            fail(self, error, TRUE);
    }
}

/* What was forgotten starts nobody: it can wait until somebody else does. */
static void
try_now(Resync *self)
{
    if (self->state != STATE_DUE)
        return;
    wake_at(self, 0);
    if (!is_at_stake(self)) {
        be_in_step(self);
    } else if (connection_get_owner(self->connection) != NULL || somebody_waits(self)) {
        self->state = STATE_ASKED;
        ask(self);
    }
}

gboolean
resync_tick(Resync *self)
{
    if (self->wake_us == 0 || g_get_monotonic_time() < self->wake_us)
        return FALSE;
    wake_at(self, 0);
    if (self->state == STATE_IN_STEP && ledger_has_waiting(get_ledger(self))) {
        if (!self->is_asking)
            ask(self);
        resync_watch_over(self);
    }
    try_now(self);
    return TRUE;
}

/* ---- the service comes and goes */

/* One that goes without having answered may have died of our question: it is not called again at
 * once. */
static void
fail_by_loss(Resync *self)
{
    g_autoptr(GError) error = g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                                                  "The lock service went away");

    stop_asking(self);
    fail(self, error, TRUE);
}

/* It is the one that we were in step with that goes. */
static gboolean
is_first_change(const Resync *self)
{
    return connection_get_owner_changes(self->connection) == self->n_owner_changes + 1;
}

void
resync_owner_changed(Resync *self, gboolean was_served)
{
    const char *owner = connection_get_owner(self->connection);

    if (self->state == STATE_IN_STEP) {
        stop_asking(self);
        wake_at(self, 0);
        if (was_served && is_at_stake(self))
            self->state = STATE_DUE;
        else
            be_in_step(self);
    } else if (self->state == STATE_ASKED && self->asked == NULL && owner != NULL) {
        self->asked = g_strdup(owner); /* it is the one that we have started */
    } else if (owner == NULL && !is_first_change(self)) {
        fail_by_loss(self);
    } else {
        stop_asking(self);
        wake_at(self, 0);
        self->state = STATE_DUE;
    }
}

void
resync_go_on(Resync *self)
{
    if (self->wake_us == 0)
        try_now(self);
}

/* ---- life */

Resync *
resync_new(Connection *connection)
{
    Resync *self = g_new0(Resync, 1);

    self->connection = connection;
    self->keys = g_hash_table_new(g_int64_hash, g_int64_equal);
    return self;
}

void
resync_close(Resync *self)
{
    stop_asking(self);
    self->wake_us = 0;
    if (self->timer != NULL)
        g_source_destroy(self->timer);
    g_clear_pointer(&self->timer, g_source_unref);
    self->state = STATE_IN_STEP;
}

void
resync_free(Resync *self)
{
    g_assert(g_queue_is_empty(&self->items));
    resync_close(self);
    g_hash_table_unref(self->keys);
    g_free(self);
}
