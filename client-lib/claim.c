/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The class, and what the application sets. */

#include "config.h"

#include "client-lib/claim-private.h"

/* The default of the property. */
#define GRACE_MS 10000

/**
 * WebLocksClaim:
 *
 * A persistent request for one lock: "one of us may edit".
 *
 * After web_locks_claim_start() a claim requests its lock (section 4.1 of the standard), and holds
 * it once it is granted, until web_locks_claim_stop() or the loss of the lock. All of this is in
 * its properties, so a user interface needs no code but bindings:
 *
 * ```c
 * claim = web_locks_claim_new (manager, name);
 * g_object_bind_property (claim, "held", view, "editable", G_BINDING_SYNC_CREATE);
 * web_locks_claim_start (claim);
 * ```
 *
 * Without a lock service the state is [enum@WebLocks.ClaimState.UNAVAILABLE]: an application whose
 * users may go on at their own risk binds [property@WebLocks.Claim:state] instead.
 *
 * While it waits, [property@WebLocks.Claim:holder] describes the holder, and
 * [property@WebLocks.Claim:position] the place in the queue. They follow the signals of the lock
 * service, which are watched only then.
 *
 * web_locks_claim_new_for_file() makes a claim on a document, by which the editors of a user
 * exclude each other, also those in sandboxes: see web_locks_agent_open_document_async().
 *
 * A restart of the service changes nothing: what was held or requested still is.
 * With [property@WebLocks.Claim:reclaim] a lock that was lost is requested again.
 *
 * A claim is used in one thread: its properties change, and "notify" is emitted, in the main
 * context that was thread-default when it was created. Each change causes one "notify", when all
 * properties have their new values. Dropping the last reference has the effect of
 * web_locks_claim_stop().
 *
 * Since: 0.1
 */
G_DEFINE_FINAL_TYPE(WebLocksClaim, web_locks_claim, G_TYPE_OBJECT)

#define INSTALL(member, type, name, ...) \
    PROPERTY_INSTALL(WebLocksClaim, member, type, name, __VA_ARGS__, flags)

/**
 * web_locks_claim_new:
 * @manager: the bucket
 * @name: the resource name, see web_locks_manager_request_async()
 *
 * Creates a claim on an exclusive lock. Nothing is requested before web_locks_claim_start().
 *
 * Returns: (transfer full): a new claim
 * Since: 0.1
 */
WebLocksClaim *
web_locks_claim_new(WebLocksManager *manager, const char *name)
{
    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(manager), NULL);
    g_return_val_if_fail(name != NULL, NULL);
    return g_object_new(WEB_LOCKS_TYPE_CLAIM, "manager", manager, "name", name, NULL);
}

/**
 * web_locks_claim_new_for_file:
 * @agent: (nullable): an agent; %NULL for the default agent of the session bus
 * @file: a document, which need not exist
 *
 * Creates a claim on the exclusive lock of a document, by which its editors exclude each other.
 * Nothing is requested before web_locks_claim_start(), which opens the document first, without
 * blocking: see web_locks_agent_open_document_async().
 *
 * Returns: (transfer full): a new claim
 * Since: 0.1
 */
WebLocksClaim *
web_locks_claim_new_for_file(WebLocksAgent *agent, GFile *file)
{
    g_return_val_if_fail(agent == NULL || WEB_LOCKS_IS_AGENT(agent), NULL);
    g_return_val_if_fail(G_IS_FILE(file), NULL);
    return g_object_new(WEB_LOCKS_TYPE_CLAIM, "agent", agent, "file", file, NULL);
}

/* ---- settings */

/**
 * web_locks_claim_get_mode:
 * @self: a claim
 *
 * Gets the lock mode (section 2.3 of the standard).
 *
 * Returns: the mode
 * Since: 0.1
 */
GETTER(WebLocksMode, mode, WEB_LOCKS_MODE_EXCLUSIVE)

/**
 * web_locks_claim_get_why:
 * @self: a claim
 *
 * Gets the description of the lock's purpose, see [property@WebLocks.Options:why].
 *
 * Returns: (transfer none) (nullable): the description, or %NULL
 * Since: 0.1
 */
GETTER(const char *, why, NULL)

/**
 * web_locks_claim_get_reclaim:
 * @self: a claim
 *
 * Gets whether the claim requests the lock again after it was lost.
 *
 * Returns: whether it requests the lock again
 * Since: 0.1
 */
GETTER(gboolean, reclaim, FALSE)

/**
 * web_locks_claim_set_reclaim:
 * @self: a claim
 * @reclaim: whether to request the lock again
 *
 * Sets whether the claim requests the lock again after it was lost, and when there is a lock
 * service if there was none. It has no effect on what has happened already.
 *
 * Since: 0.1
 */
PROPERTY_SETTER(WebLocksClaim, web_locks_claim, WEB_LOCKS_IS_CLAIM, gboolean, reclaim, "reclaim")

/**
 * web_locks_claim_get_grace:
 * @self: a claim
 *
 * Gets for how long web_locks_claim_take_over_async() only asks the holders.
 *
 * Returns: the time in milliseconds
 * Since: 0.1
 */
GETTER(guint, grace, 0)

/**
 * web_locks_claim_set_grace:
 * @self: a claim
 * @grace: a time in milliseconds; 0: the lock is stolen immediately
 *
 * Sets for how long web_locks_claim_take_over_async() only asks the holders. It has no effect on a
 * take-over that is in progress.
 *
 * Since: 0.1
 */
PROPERTY_SETTER(WebLocksClaim, web_locks_claim, WEB_LOCKS_IS_CLAIM, guint, grace, "grace")

/* ---- GObject */

static void
web_locks_claim_constructed(GObject *object)
{
    WebLocksClaim *self = WEB_LOCKS_CLAIM(object);

    G_OBJECT_CLASS(web_locks_claim_parent_class)->constructed(object);
    if (self->manager != NULL)
        g_set_object(&self->agent, web_locks_manager_get_agent(self->manager));
    else if (self->agent == NULL)
        self->agent = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
}

static void
web_locks_claim_dispose(GObject *object)
{
    WebLocksClaim *self = WEB_LOCKS_CLAIM(object);

    web_locks_claim_drop(self);
    G_OBJECT_CLASS(web_locks_claim_parent_class)->dispose(object);
}

static void
web_locks_claim_finalize(GObject *object)
{
    WebLocksClaim *self = WEB_LOCKS_CLAIM(object);

    claim_ref_unref(self->ref);
    g_clear_error(&self->error);
    g_clear_object(&self->manager);
    g_clear_object(&self->file);
    g_clear_object(&self->agent);
    g_free(self->name);
    g_free(self->why);
    G_OBJECT_CLASS(web_locks_claim_parent_class)->finalize(object);
}

static void
install_settings(GObjectClass *object_class, GParamFlags flags)
{
    const GParamFlags settable =
        G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;

    /**
     * WebLocksClaim:agent:
     *
     * The agent of the claim; that of [property@WebLocks.Claim:manager] if that is given, otherwise
     * by default the default agent of the session bus.
     *
     * Since: 0.1
     */
    INSTALL(agent, object, "agent", WEB_LOCKS_TYPE_AGENT);
    /**
     * WebLocksClaim:file:
     *
     * The document that is claimed, instead of a manager and a name; these have values when it has
     * been opened, which web_locks_claim_start() does.
     *
     * Since: 0.1
     */
    INSTALL(file, object, "file", G_TYPE_FILE);
    /**
     * WebLocksClaim:manager:
     *
     * The manager with which the lock is requested; %NULL until the document has been opened.
     *
     * Since: 0.1
     */
    INSTALL(manager, object, "manager", WEB_LOCKS_TYPE_MANAGER);
    /**
     * WebLocksClaim:name:
     *
     * The resource name; %NULL until the document has been opened.
     *
     * Since: 0.1
     */
    INSTALL(name, string, "name", NULL);
    /**
     * WebLocksClaim:mode:
     *
     * The lock mode.
     *
     * Since: 0.1
     */
    INSTALL(mode, enum, "mode", WEB_LOCKS_TYPE_MODE, WEB_LOCKS_MODE_EXCLUSIVE);
    /**
     * WebLocksClaim:why:
     *
     * A description of the lock's purpose, for users: at most 256 bytes of UTF-8.
     *
     * Since: 0.1
     */
    INSTALL(why, string, "why", NULL);
    /**
     * WebLocksClaim:reclaim:
     *
     * Whether the claim requests the lock again after it was lost, and when there is a lock service
     * if there was none. The state [enum@WebLocks.ClaimState.LOST] is then followed by
     * [enum@WebLocks.ClaimState.WAITING] immediately, and
     * [enum@WebLocks.ClaimState.UNAVAILABLE] as soon as the service has the request;
     * [property@WebLocks.Claim:error] remains.
     *
     * Since: 0.1
     */
    PROPERTY_INSTALL(WebLocksClaim, reclaim, boolean, "reclaim", FALSE, settable);
    /**
     * WebLocksClaim:grace:
     *
     * For how long, in milliseconds, web_locks_claim_take_over_async() only asks the holders before
     * it steals the lock; 0: it steals immediately.
     *
     * Since: 0.1
     */
    PROPERTY_INSTALL(WebLocksClaim, grace, uint, "grace", 0, G_MAXUINT, GRACE_MS, settable);
}

static void
install_results(GObjectClass *object_class, GParamFlags flags)
{
    /**
     * WebLocksClaim:excludes-all:
     *
     * Whether the claim on a document excludes all editors of the user that claim it as well. If
     * not, it excludes only those of the same sandboxed application: it has not been opened yet, or
     * the application could not prove to the service that it may write the document.
     *
     * Since: 0.1
     */
    INSTALL(excludes_all, boolean, "excludes-all", FALSE);
    /**
     * WebLocksClaim:state:
     *
     * The state.
     *
     * Since: 0.1
     */
    INSTALL(state, enum, "state", WEB_LOCKS_TYPE_CLAIM_STATE, WEB_LOCKS_CLAIM_STATE_IDLE);
    /**
     * WebLocksClaim:held:
     *
     * Whether the lock is held.
     *
     * Since: 0.1
     */
    INSTALL(held, boolean, "held", FALSE);
    /**
     * WebLocksClaim:lock:
     *
     * The lock; %NULL if it is not held.
     *
     * Since: 0.1
     */
    INSTALL(lock, object, "lock", WEB_LOCKS_TYPE_LOCK);
    /**
     * WebLocksClaim:token:
     *
     * The fencing token of the lock; 0 if it is not held.
     *
     * Since: 0.1
     */
    INSTALL(token, uint64, "token", 0, G_MAXUINT64, 0);
    /**
     * WebLocksClaim:wanted:
     *
     * Whether the lock is held and somebody waits for it, so that the application can finish its
     * work, for example save, and call web_locks_claim_stop().
     *
     * Since: 0.1
     */
    INSTALL(wanted, boolean, "wanted", FALSE);
    /**
     * WebLocksClaim:holder:
     *
     * The first holder of the lock, while the claim waits; %NULL if there is none, or that is not
     * known yet. In a sandbox it is not known of a document that is shared with other editors.
     *
     * Since: 0.1
     */
    INSTALL(holder, object, "holder", WEB_LOCKS_TYPE_LOCK_INFO);
    /**
     * WebLocksClaim:position:
     *
     * The position in the queue while the claim waits: 1 is next; 0 if it doesn't wait, or that is
     * not known yet.
     *
     * Since: 0.1
     */
    INSTALL(position, uint, "position", 0, G_MAXUINT, 0);
    /**
     * WebLocksClaim:error:
     *
     * Why the lock was lost or the request failed; %NULL if neither has happened.
     *
     * Since: 0.1
     */
    INSTALL(error, boxed, "error", G_TYPE_ERROR);
}

static void
web_locks_claim_class_init(WebLocksClaimClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);

    object_class->get_property = property_get;
    object_class->set_property = property_set;
    object_class->constructed = web_locks_claim_constructed;
    object_class->dispose = web_locks_claim_dispose;
    object_class->finalize = web_locks_claim_finalize;
    install_settings(object_class, G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY |
                                       G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
    install_results(object_class,
                    G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
}

static void
web_locks_claim_init(WebLocksClaim *self)
{
    self->ref = claim_ref_new(self);
    self->grace = GRACE_MS;
}
