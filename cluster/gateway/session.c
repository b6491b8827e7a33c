/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "session.h"

#include "boot-time.h"
#include "session-file.h"

/* Between attempts to begin a session. */
#define RETRY_MS 1000

/* How long after the end of the lease a session that has ended is closed, unless the lock service
 * has acknowledged before that it has notified its clients. */
#define GRACE_US (G_GINT64_CONSTANT(2) * G_USEC_PER_SEC)

/* What is asked for to learn the least time-out of a server, which is two ticks by default. */
#define PROBE_TIMEOUT_MS (2 * ENGINE_TICK_MAX_MS)

/* What a session counts as that a version has begun which did not store its time-out: the least
 * that was ever allowed. */
#define UNKNOWN_TIMEOUT_MS 9000

static void begin(Session *session);

static gboolean
may_have_nodes(const Session *session)
{
    return session->is_reattached || gateway_has_nodes(session->gateway);
}

/* ---- lease */

static void
report_lease(Session *session)
{
    gateway_lease_changed(session->gateway, lease_next_serial(&session->lease));
}

static void
set_state(Session *session, ClusterState state, ClusterReason reason)
{
    if (session->state == state && session->reason == reason)
        return;
    session->state = state;
    session->reason = reason;
    if (session->has_service)
        report_lease(session);
}

static void retry_later(Session *session);

/* Whether the lock service has not read the last message: it may be stopped. */
static gboolean
is_service_behind(const Session *session)
{
    return session->has_service && session->lease.last_ack < session->lease.last_serial;
}

/* Why the lease was not renewed in time. */
static ClusterReason
get_lease_reason(const Session *session, gint64 now_us)
{
    /* This process did not run meanwhile. */
    if (now_us >= session->lease.deadline_us + LEASE_RENEWAL_US)
        return CLUSTER_REASON_NOT_RENEWED;
    if (!session->has_service || is_service_behind(session))
        return CLUSTER_REASON_SERVICE;
    return session->is_ready ? CLUSTER_REASON_NOT_RENEWED : CLUSTER_REASON_UNREACHABLE;
}

static gboolean
on_retry(gpointer data)
{
    Session *session = data;

    session->retry_source = 0;
    if (session->old != NULL && (boot_time_get_us() >= session->closes_us ||
                                 (session->has_service && !is_service_behind(session))))
        engine_free(g_steal_pointer(&session->old), FALSE);
    /* A lock service that is stopped would only make the other hosts wait again. */
    if (session->old != NULL || is_service_behind(session))
        retry_later(session);
    else
        begin(session);
    return G_SOURCE_REMOVE;
}

static void
retry_later(Session *session)
{
    if (session->retry_source == 0)
        session->retry_source = g_timeout_add(RETRY_MS, on_retry, session);
}

/* The end of the lease that the lock service may have of a session that ends now, also from an
 * earlier process of this host; until then it takes its locks for valid. */
static gint64
get_last_deadline_us(const Session *session, gint64 now_us)
{
    if (session->lease.deadline_us != 0)
        return session->lease.deadline_us;
    return session->is_reattached ? now_us + session->lease.duration_us : now_us;
}

static void
note_lease_left(Session *session, gint64 now_us)
{
    double *least = &session->metrics[METRIC_LEAST_LEASE_LEFT];

    if (session->lease.deadline_us != 0)
        *least = MIN(*least, (double)MAX(session->lease.deadline_us - now_us, 0) / G_USEC_PER_SEC);
}

/* The engine of this session is not used any more. */
static void
forget(Session *session)
{
    g_clear_handle_id(&session->lease_source, g_source_remove);
    g_clear_handle_id(&session->unreachable_source, g_source_remove);
    session_file_delete(session->options->state_directory);
    session->is_ready = FALSE;
    session_set_found(session);
    session->has_probed = FALSE;
    session->lease.deadline_us = 0;
    session->lease.is_renewing = FALSE;
    gateway_session_ended(session->gateway);
}

void
session_end(Session *session, ClusterReason reason)
{
    gint64 now_us = boot_time_get_us();

    if (session->was_ready)
        g_message("the session with ZooKeeper has ended");
    session->metrics[METRIC_SESSIONS_LOST] += session->was_ready;
    note_lease_left(session, now_us);
    session->old = g_steal_pointer(&session->engine);
    session->closes_us = MAX(get_last_deadline_us(session, now_us), now_us) + GRACE_US;
    seen_store(session->options->seen);
    forget(session);
    session->state = CLUSTER_STATE_LOST;
    session->reason = reason;
    if (session->has_service)
        report_lease(session);
    retry_later(session);
}

/* Another session, without nodes, takes the place of this one, which has none. */
static void
replace(Session *session)
{
    g_message("a new session begins, since SessionTimeout= was changed");
    engine_free(g_steal_pointer(&session->engine), FALSE);
    forget(session);
    begin(session);
}

static void arm_lease(Session *session);

static void
on_renewed(const EngineAnswer *answer, gpointer data)
{
    Session *session = data;

    if (session_check_answer(session, answer, TRUE))
        arm_lease(session);
}

static gboolean
on_lease(gpointer data)
{
    Session *session = data;
    gint64 now_us = boot_time_get_us();

    session->lease_source = 0;
    if (session->lease.deadline_us != 0 && !may_have_nodes(session)) {
        session->lease.deadline_us = 0;
        if (!session->is_ready)
            set_state(session, CLUSTER_STATE_CONNECTING, CLUSTER_REASON_UNREACHABLE);
        else if (session->is_outdated)
            replace(session);
        return G_SOURCE_REMOVE;
    }
    if (lease_is_over(&session->lease, now_us)) {
        g_warning("the lease is over: all locks of this host are lost");
        session_end(session, get_lease_reason(session, now_us));
        return G_SOURCE_REMOVE;
    }
    if (now_us > session->lease.renewal_us + LEASE_RENEWAL_US)
        set_state(session, CLUSTER_STATE_SUSPECT, get_lease_reason(session, now_us));
    if (session->is_ready && session->has_service && lease_begin_renewal(&session->lease, now_us))
        engine_renew(session->engine, on_renewed, session);
    arm_lease(session);
    return G_SOURCE_REMOVE;
}

/* Wakes up for the next renewal, or for the end of the lease. While the renewal is due and can't
 * be made, twice a second. */
static void
arm_lease(Session *session)
{
    gint64 next_us = lease_get_next_us(&session->lease);
    gint64 delay_us;

    g_clear_handle_id(&session->lease_source, g_source_remove);
    if (next_us < 0)
        return;
    delay_us = next_us - boot_time_get_us();
    if (delay_us <= 0 && !lease_is_over(&session->lease, boot_time_get_us()))
        delay_us = G_USEC_PER_SEC / 2;
    /* Before answers of the engine, each of which may begin further reads. */
    session->lease_source = g_timeout_add_full(
        G_PRIORITY_HIGH, (guint)(MAX(delay_us, 0) / 1000 + 1), on_lease, session, NULL);
}

gboolean
session_is_first_failure(Session *session)
{
    gboolean is_first = !session->has_failed;

    session->has_failed = TRUE;
    return is_first;
}

/* Why the session ends with this answer. */
static ClusterReason
get_answer_reason(const Session *session, const EngineAnswer *answer, gint64 now_us)
{
    if (answer->result == ENGINE_DENIED)
        return CLUSTER_REASON_DENIED;
    if (answer->result == ENGINE_OTHER)
        return CLUSTER_REASON_UNEXPECTED;
    return get_lease_reason(session, now_us);
}

gboolean
session_check_answer(Session *session, const EngineAnswer *answer, gboolean is_write)
{
    gint64 now_us = boot_time_get_us();

    if (answer->result == ENGINE_SESSION_LOST || session->engine == NULL)
        return FALSE;
    if (answer->result == ENGINE_DENIED && session_is_first_failure(session))
        g_warning("the ZooKeeper servers deny access to %s: the credential is not the one with "
                  "which it was made",
                  session->options->config->root);
    if (lease_is_over(&session->lease, now_us) || answer->result == ENGINE_DENIED ||
        answer->result == ENGINE_OTHER) {
        session_end(session, get_answer_reason(session, answer, now_us));
        return FALSE;
    }
    if (answer->result == ENGINE_CONNECTION_LOST) {
        lease_renewal_failed(&session->lease);
        return TRUE;
    }
    if (is_write)
        note_lease_left(session, now_us);
    if (lease_answered(&session->lease, answer->sent_us, answer->touched_us, is_write)) {
        if (session->is_ready) {
            session->state = CLUSTER_STATE_ACTIVE;
            session->reason = CLUSTER_REASON_NONE;
        }
        report_lease(session);
        arm_lease(session);
    }
    return TRUE;
}

/* ---- beginning */

void
session_become_ready(Session *session)
{
    session->is_ready = TRUE;
    session->was_ready = TRUE;
    session->has_failed = FALSE;
    set_state(session, CLUSTER_STATE_ACTIVE, CLUSTER_REASON_NONE);
    gateway_session_ready(session->gateway);
    /* Without a lease, nodes that were made before would stay as long as this process, if the lock
     * service doesn't connect any more. */
    if (session->lease.deadline_us == 0 && may_have_nodes(session))
        engine_renew(session->engine, on_renewed, session);
}

static void
check_ticks(Session *session, guint least_ms)
{
    session->is_probing = FALSE;
    session->has_probed = least_ms <= PROBE_TIMEOUT_MS;
    if (!session->has_probed) {
        if (session_is_first_failure(session))
            g_critical("the ZooKeeper server %s has no session of less than %u ms, which is two "
                       "ticks: the promises are not kept with tickTime above %u",
                       engine_get_server(session->engine), least_ms, ENGINE_TICK_MAX_MS);
        session_end(session, CLUSTER_REASON_LONG_TICKS);
        return;
    }
    /* It has no nodes. To close it would mean to wait for the server. */
    engine_free(g_steal_pointer(&session->engine), TRUE);
    begin(session);
}

static void
on_connected(Session *session)
{
    gint64 timeout_us = (gint64)engine_get_session(session->engine)->timeout_ms * 1000;

    if (session->is_probing) {
        check_ticks(session, engine_get_session(session->engine)->timeout_ms);
        return;
    }
    if (timeout_us < LEASE_TIMEOUT_MIN_US) {
        if (session_is_first_failure(session))
            g_critical(
                "the ZooKeeper servers allow sessions of only %.1f s, which is too short to keep "
                "the promises: raise maxSessionTimeout",
                (double)timeout_us / G_USEC_PER_SEC);
        session_end(session, CLUSTER_REASON_SHORT_SESSIONS);
        return;
    }
    lease_set_timeout(&session->lease, timeout_us);
    g_clear_handle_id(&session->unreachable_source, g_source_remove);
    session->metrics[METRIC_RECONNECTS] += session->was_ready;
    if (session->was_ready)
        session_become_ready(session);
    else
        session_join(session);
}

/* The engine has ended the session by now. It would not report that if its data were replaced by
 * older data: then its servers refuse a client that has seen newer ones. */
static gboolean
on_unreachable(gpointer data)
{
    Session *session = data;

    session->unreachable_source = 0;
    session_end(session, CLUSTER_REASON_UNREACHABLE);
    return G_SOURCE_REMOVE;
}

static void
on_state_changed(EngineState state, gpointer data)
{
    Session *session = data;

    if (session->engine == NULL) /* it is of the old session */
        return;
    if (state == ENGINE_ENDED) {
        session_end(session, CLUSTER_REASON_EXPIRED);
    } else if (state == ENGINE_CONNECTED) {
        on_connected(session);
    } else if (session->is_ready) {
        session->is_ready = FALSE;
        lease_renewal_failed(&session->lease);
        session->unreachable_source =
            g_timeout_add(engine_get_session(session->engine)->timeout_ms, on_unreachable, session);
        if (session->lease.deadline_us == 0)
            set_state(session, CLUSTER_STATE_CONNECTING, CLUSTER_REASON_UNREACHABLE);
        gateway_session_interrupted(session->gateway);
    }
}

static void
on_changed(const char *name_path, G_GNUC_UNUSED const char *claim, gpointer data)
{
    Session *session = data;

    if (session->is_ready)
        gateway_node_changed(session->gateway, name_path);
}

static const EngineEvents engine_events = {on_state_changed, on_changed};

/* A session keeps its time-out as long as it has nodes: a new leader counts by the one with which
 * it was made, and the lock service may still count by the lease of the process before. */
static void
use_stored(EngineConfig *config, EngineSession *stored)
{
    if (stored->timeout_ms == 0)
        stored->timeout_ms = UNKNOWN_TIMEOUT_MS;
    else
        config->timeout_ms = stored->timeout_ms;
    config->session = stored;
}

static void
begin(Session *session)
{
    EngineSession stored;
    EngineConfig config = {
        .servers = session->options->config->servers,
        .root = session->options->config->root,
        .credential = session->options->credential,
        .timeout_ms = session->options->config->session_timeout_secs * 1000,
    };
    g_autoptr(GError) error = NULL;

    session->was_ready = FALSE;
    if (seen_is_refused(session->options->seen)) {
        /* There is no other attempt in this process. */
        if (session_is_first_failure(session))
            g_critical("the data of the ZooKeeper servers were older than those that this host has "
                       "used before. See weblocks-clusterd(8)");
        set_state(session, CLUSTER_STATE_LOST, CLUSTER_REASON_OLDER_DATA);
        return;
    }
    session->is_reattached =
        !session->has_begun &&
        session_file_load(session->options->state_directory, &stored, &session->left);
    session->is_outdated = session->is_reattached && stored.timeout_ms != config.timeout_ms;
    session->is_probing = !session->is_reattached && !session->has_probed;
    if (session->is_reattached)
        use_stored(&config, &stored);
    else if (session->is_probing)
        config.timeout_ms = PROBE_TIMEOUT_MS;
    lease_set_timeout(&session->lease, (gint64)config.timeout_ms * 1000);
    session->engine = engine_new(&config, &engine_events, session, &error);
    if (session->engine == NULL) {
        if (session_is_first_failure(session))
            g_warning("could not connect to ZooKeeper: %s", error->message);
        set_state(session, CLUSTER_STATE_CONNECTING, CLUSTER_REASON_ADDRESSES);
        retry_later(session);
        return;
    }
    session->has_begun = TRUE;
    /* What an attempt has failed for remains the reason until one succeeds. */
    set_state(session, CLUSTER_STATE_CONNECTING,
              session->has_failed ? session->reason : CLUSTER_REASON_UNREACHABLE);
}

/* ---- */

Session *
session_new(const GatewayOptions *options, Gateway *gateway)
{
    Session *session = g_new0(Session, 1);

    session->options = options;
    session->gateway = gateway;
    session->state = CLUSTER_STATE_CONNECTING;
    session->reason = CLUSTER_REASON_UNREACHABLE;
    session->metrics[METRIC_LEAST_LEASE_LEFT] = options->config->session_timeout_secs;
    session->retry_source = g_idle_add(on_retry, session);
    return session;
}

void
session_leave(Session *session, GHashTable *paths)
{
    if (session->is_ready && !session->is_reattached)
        session_file_save(session->options->state_directory, engine_get_session(session->engine),
                          paths);
}

void
session_free(Session *session)
{
    gboolean keeps_session = may_have_nodes(session);

    g_clear_handle_id(&session->retry_source, g_source_remove);
    g_clear_handle_id(&session->unreachable_source, g_source_remove);
    g_clear_handle_id(&session->lease_source, g_source_remove);
    if (session->engine != NULL) {
        session->is_ready = FALSE;
        if (!keeps_session)
            session_file_delete(session->options->state_directory);
        engine_free(g_steal_pointer(&session->engine), keeps_session);
    }
    if (session->old != NULL)
        engine_free(g_steal_pointer(&session->old), TRUE);
    g_strfreev(session->left);
    g_free(session);
}

Engine *
session_get_engine(const Session *session)
{
    return session->is_ready ? session->engine : NULL;
}

guint64
session_get_id(const Session *session)
{
    return engine_get_session(session->engine)->id;
}

void
session_set_found(Session *session)
{
    session->is_reattached = FALSE;
    g_clear_pointer(&session->left, g_strfreev);
}

void
session_service_connected(Session *session)
{
    session->has_service = TRUE;
    /* The renewal waits for the acknowledgement of this. */
    report_lease(session);
}

void
session_service_disconnected(Session *session)
{
    session->has_service = FALSE;
}

void
session_acknowledge(Session *session, guint64 serial)
{
    lease_acknowledge(&session->lease, serial);
    arm_lease(session);
}
