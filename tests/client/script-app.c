/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The application's side of a script: its calls, and their results. */

#include <stdio.h>

#include "client-lib/evidence/evidence.h"
#include "tests/client/script.h"

/* ---- operations */

static WebLocksManager *
get_manager(Script *s, const Label *label)
{
    g_autoptr(GError) error = NULL;
    WebLocksManager *manager = web_locks_manager_new(s->agent, label->bucket);

    g_assert_no_error(error);
    return manager;
}

static void
start(Script *s, Operation *operation, OperationKind kind, gpointer target)
{
    *operation = (Operation){
        .kind = kind,
        .target = target,
        .name = operation->name,
        .options = operation->options,
        .cancellable = operation->cancellable,
        .losses = operation->losses,
    };
    operation_start(operation, s->is_sync);
}

static void
do_connect(Script *s, char **words)
{
    s->connect.cancellable = g_cancellable_new();
    start(s, &s->connect, OPERATION_CONNECT, s->agent);
}

/* LABEL [name NAME] [bucket NAME] [shared] [ifAvailable] [steal] [cancellable] [timeout MS]
 * [slots N] [why WORD] [command WORD] */
static void
do_request(Script *s, char **words)
{
    Label *label = script_get_label(s, words[1]);
    WebLocksOptions *options = web_locks_options_new();
    g_autoptr(WebLocksManager) manager = NULL;

    for (words += 2; words[0] != NULL; words++) {
        if (g_str_equal(words[0], "name")) {
            g_free(label->resource);
            label->resource = g_strdup(*++words);
        } else if (g_str_equal(words[0], "bucket")) {
            g_free(label->bucket);
            label->bucket = g_strdup(*++words);
        } else if (g_str_equal(words[0], "shared")) {
            web_locks_options_set_mode(options, WEB_LOCKS_MODE_SHARED);
        } else if (g_str_equal(words[0], "ifAvailable")) {
            web_locks_options_set_if_available(options, TRUE);
        } else if (g_str_equal(words[0], "steal")) {
            web_locks_options_set_steal(options, TRUE);
        } else if (g_str_equal(words[0], "cancellable")) {
            label->request.cancellable = g_cancellable_new();
        } else if (g_str_equal(words[0], "cancelled")) {
            label->request.cancellable = g_cancellable_new();
            g_cancellable_cancel(label->request.cancellable);
        } else if (g_str_equal(words[0], "timeout")) {
            web_locks_options_set_timeout(options, (guint)g_ascii_strtoull(*++words, NULL, 10));
        } else if (g_str_equal(words[0], "slots")) {
            web_locks_options_set_slots(options, (guint)g_ascii_strtoull(*++words, NULL, 10));
        } else if (g_str_equal(words[0], "why")) {
            web_locks_options_set_why(options, *++words);
        } else if (g_str_equal(words[0], "command")) {
            web_locks_options_set_command(options, *++words);
        } else {
            script_fail(s, "unknown option '%s'", words[0]);
        }
    }
    label->request.name = g_strdup(label->resource);
    label->request.options = options;
    label->request.losses = &label->losses;
    manager = get_manager(s, label);
    start(s, &label->request, OPERATION_REQUEST, manager);
}

static void
do_release(Script *s, char **words)
{
    Label *label = script_get_label(s, words[1]);

    start(s, &label->release, OPERATION_RELEASE, label->lock);
}

static void
do_downgrade(Script *s, char **words)
{
    Label *label = script_get_label(s, words[1]);

    start(s, &label->downgrade, OPERATION_DOWNGRADE, label->lock);
}

/* LABEL [cancellable]: of the kind that the verb names. */
static void
do_start(Script *s, char **words)
{
    static const struct {
        const char *verb;
        OperationKind kind;
        gboolean is_of_agent;
    } kinds[] = {
        {"query", OPERATION_QUERY, FALSE},     {"inspect", OPERATION_INSPECT, FALSE},
        {"break", OPERATION_BREAK, FALSE},     {"buckets", OPERATION_BUCKETS, TRUE},
        {"monitor", OPERATION_MONITOR, FALSE}, {"monitor-all", OPERATION_MONITOR_ALL, TRUE},
    };
    Label *label = script_get_label(s, words[1]);
    g_autoptr(WebLocksManager) manager = get_manager(s, label);
    guint i = 0;

    while (!g_str_equal(kinds[i].verb, words[0]))
        i++;
    if (words[2] != NULL)
        label->request.cancellable = g_cancellable_new();
    label->request.name = g_strdup(label->resource);
    start(s, &label->request, kinds[i].kind,
          kinds[i].is_of_agent ? (gpointer)s->agent : (gpointer)manager);
}

/* LABEL: a monitor of the name, which exists immediately. */
static void
do_monitor_of(Script *s, char **words)
{
    Label *label = script_get_label(s, words[1]);
    g_autoptr(WebLocksManager) manager = get_manager(s, label);
    g_autoptr(GError) error = NULL;

    label->request.object =
        G_OBJECT(web_locks_monitor_new_for_name(manager, label->resource, &error));
    g_assert_no_error(error);
}

/* LABEL or "connect" */
static void
do_cancel(Script *s, char **words)
{
    g_cancellable_cancel(g_str_equal(words[1], "connect")
                             ? s->connect.cancellable
                             : script_get_label(s, words[1])->request.cancellable);
}

static void
do_drop(Script *s, char **words)
{
    g_clear_object(&script_get_label(s, words[1])->lock);
}

static void
do_close(Script *s, char **words)
{
    web_locks_agent_close(s->agent);
}

/* Drops all references, without closing the agent. */
static void
do_abandon(Script *s, char **words)
{
    script_clear_app(s);
}

void
script_clear_app(Script *s)
{
    operation_clear(&s->connect);
    for (guint i = 0; i < s->labels->len; i++) {
        Label *label = s->labels->pdata[i];

        operation_clear(&label->request);
        operation_clear(&label->release);
        operation_clear(&label->downgrade);
        g_clear_object(&label->lock);
    }
    g_clear_object(&s->agent);
}

/* ---- results */

static const char *
describe_error(const GError *error)
{
    static char text[64];

    if (error == NULL)
        return "no error";
    if (error->domain == WEB_LOCKS_ERROR) {
        g_autoptr(GEnumClass) class = g_type_class_ref(WEB_LOCKS_TYPE_ERROR);

        return g_enum_get_value(class, error->code)->value_nick;
    }
    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        return "cancelled";
    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT))
        return "invalid-argument";
    snprintf(text, sizeof text, "%s-%d", g_quark_to_string(error->domain), error->code);
    return text;
}

/* `words`, NULL-terminated: the error, and what its message contains; empty: success. */
static void
check_result(Script *s, Operation *operation, char **words)
{
    test_wait_for(operation_has_ended, operation, s->where);
    if (words[0] == NULL ? operation->error != NULL
                         : g_strcmp0(words[0], describe_error(operation->error)) != 0)
        script_fail(s, "the result is %s: %s", describe_error(operation->error),
                    operation->error != NULL ? operation->error->message : "");
    for (guint i = 1; words[0] != NULL && words[i] != NULL; i++)
        if (strstr(operation->error->message, words[i]) == NULL)
            script_fail(s, "the message is %s", operation->error->message);
}

static void
do_connected(Script *s, char **words)
{
    check_result(s, &s->connect, words + 1);
    operation_clear(&s->connect);
}

/* LABEL TOKEN: it got the lock, which may have been lost since. */
static void
do_got(Script *s, char **words)
{
    static char *no_error[] = {NULL};
    Label *label = script_get_label(s, words[1]);

    check_result(s, &label->request, no_error);
    if (label->request.object == NULL)
        script_fail(s, "no lock was granted");
    label->lock = WEB_LOCKS_LOCK(g_steal_pointer(&label->request.object));
    g_assert_cmpuint(web_locks_lock_get_token(label->lock), ==,
                     g_ascii_strtoull(words[2], NULL, 10));
    g_assert_cmpstr(web_locks_lock_get_name(label->lock), ==, label->resource);
}

static void
do_held(Script *s, char **words)
{
    Label *label = script_get_label(s, words[1]);

    do_got(s, words);
    if (!web_locks_lock_get_held(label->lock))
        script_fail(s, "the lock is not held");
}

/* LABEL [ERROR]: the lock was unavailable, or the request has failed. */
static void
do_none(Script *s, char **words)
{
    Label *label = script_get_label(s, words[1]);

    check_result(s, &label->request, words + 2);
    g_assert_null(label->request.object);
}

static void
do_done(Script *s, char **words)
{
    check_result(s, &script_get_label(s, words[1])->request, words + 2);
}

static void
do_released(Script *s, char **words)
{
    check_result(s, &script_get_label(s, words[1])->release, words + 2);
}

/* LABEL [ERROR]: the lock is shared, unless there is an error. */
static void
do_downgraded(Script *s, char **words)
{
    Label *label = script_get_label(s, words[1]);

    check_result(s, &label->downgrade, words + 2);
    g_assert_cmpint(web_locks_lock_get_mode(label->lock), ==,
                    words[2] == NULL ? WEB_LOCKS_MODE_SHARED : WEB_LOCKS_MODE_EXCLUSIVE);
    operation_clear(&label->downgrade);
}

/* LABEL [release]: there is no result yet. */
static void
do_waiting(Script *s, char **words)
{
    Label *label = script_get_label(s, words[1]);

    test_iterate();
    if (operation_has_ended(words[2] != NULL ? &label->release : &label->request))
        script_fail(s, "the operation has ended");
}

/* LABEL REASON: the signal, exactly once, emitted when the lock was no longer held. */
static void
do_lost(Script *s, char **words)
{
    Label *label = script_get_label(s, words[1]);

    script_wait(s, test_is_set, &label->losses.n_lost);
    g_assert_cmpuint(label->losses.n_lost, ==, 1);
    g_assert_cmpstr(label->losses.reason, ==, words[2]);
    g_assert_cmpuint(label->losses.n_held_notifies, ==, 1);
    g_assert_false(web_locks_lock_get_held(label->lock));
}

static void
do_still(Script *s, char **words)
{
    Label *label = script_get_label(s, words[1]);

    test_iterate();
    g_assert_cmpuint(label->losses.n_lost, ==, 0);
    if (!web_locks_lock_get_held(label->lock))
        script_fail(s, "the lock is not held");
}

/* LABEL "HELD | PENDING" */
static void
do_shows(Script *s, char **words)
{
    Shown shown = {WEB_LOCKS_MONITOR(script_get_label(s, words[1])->request.object), test_list,
                   words[2]};

    script_wait(s, test_is_shown, &shown);
}

/* LABEL TEXT: the evidence about the first held lock of a monitor. */
static void
do_evidence(Script *s, char **words)
{
    WebLocksMonitor *monitor = WEB_LOCKS_MONITOR(script_get_label(s, words[1])->request.object);
    g_autoptr(WebLocksLockInfo) info =
        g_list_model_get_item(web_locks_monitor_get_held(monitor), 0);

    evidence_update(monitor, info);
    g_assert_cmpstr(evidence_get_text(info), ==, words[2]);
}

static void
do_quiet(Script *s, char **words)
{
    script_check_quiet(s);
}

/* MILLISECONDS */
static void
do_pass(Script *s, char **words)
{
    const gint64 until_us =
        g_get_monotonic_time() + g_ascii_strtoll(words[1], NULL, 10) * G_TIME_SPAN_MILLISECOND;

    while (g_get_monotonic_time() < until_us)
        test_iterate();
}

/* MILLISECONDS without any iteration of a main context, as if the process were stopped */
static void
do_stall(Script *s, char **words)
{
    const gint64 until_us =
        g_get_monotonic_time() + g_ascii_strtoll(words[1], NULL, 10) * G_TIME_SPAN_MILLISECOND;

    while (g_get_monotonic_time() < until_us)
        g_thread_yield();
}

const ScriptVerb script_app_verbs[] = {
    {"connect", do_connect},
    {"connected", do_connected},
    {"request", do_request},
    {"release", do_release},
    {"downgrade", do_downgrade},
    {"query", do_start},
    {"inspect", do_start},
    {"break", do_start},
    {"buckets", do_start},
    {"monitor", do_start},
    {"monitor-all", do_start},
    {"monitor-of", do_monitor_of},
    {"cancel", do_cancel},
    {"drop", do_drop},
    {"close", do_close},
    {"abandon", do_abandon},
    {"got", do_got},
    {"held", do_held},
    {"none", do_none},
    {"done", do_done},
    {"failed", do_none},
    {"released", do_released},
    {"downgraded", do_downgraded},
    {"waiting", do_waiting},
    {"lost", do_lost},
    {"still", do_still},
    {"shows", do_shows},
    {"evidence", do_evidence},
    {"quiet", do_quiet},
    {"pass", do_pass},
    {"stall", do_stall},
    {NULL, NULL},
};
