/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/engine/question.h"

#include "client-lib/error-private.h"

/* How often the service may end, or somebody else answer, before a question fails. */
#define ATTEMPTS_MAX 16

typedef enum {
    WAIT_READY, /* until everything before has been sent */
    WAIT_ANSWER,
    WAIT_CHANGE, /* of the owner of the service's name */
    WAIT_OWNER,  /* until there is one */
} Wait;

struct Questions {
    Session *session;
    Bus *bus;
    const QuestionsFuncs *funcs;
    gpointer data;
    GQueue questions; /* of Question */
};

typedef struct {
    GList link;
    Questions *owner;
    const QuestionKind *kind;
    gpointer data;
    Completion completion;
    Wait wait;
    BusCall *call;
    SessionTimer timer;
    gboolean was_served; /* there was a service when it was asked */
    guint n_attempts;
} Question;

static void question_try(Question *self);

/* ---- the result */

static void
question_free(Question *self)
{
    g_clear_pointer(&self->call, bus_call_forget);
    session_stop_timer(self->owner->session, &self->timer);
    g_queue_unlink(&self->owner->questions, &self->link);
    session_remove_user(self->owner->session);
    g_free(self);
}

/* Takes the error. */
static void
question_fail(Question *self, GError *error)
{
    completion_return_error(&self->completion, error);
    question_free(self);
}

static void
on_cancelled(gpointer data)
{
    question_free(data);
}

static void
on_expired(gpointer data)
{
    question_fail(data, error_new_unavailable("there was no answer in time"));
}

static void
question_next(Question *self)
{
    Questions *owner = self->owner;

    self->wait = WAIT_READY;
    session_start_timer(owner->session, &self->timer, g_get_monotonic_time() + BUS_TIMEOUT_US);
    question_try(self);
}

/* The call ends with the question, or after it. */
static gboolean
on_large_reply(const BusReply *reply, gpointer data)
{
    Question *self = data;
    g_autoptr(GBytes) body = g_bytes_new(reply->body, reply->body_size);
    GError *error = NULL;
    gpointer result = self->kind->read_bytes(reply->signature, body, self->data, &error);

    if (result == NULL && error == NULL)
        return FALSE;
    self->call = NULL;
    if (error != NULL) {
        question_fail(self, error);
    } else {
        completion_return_pointer(&self->completion, result, self->kind->result_free);
        question_free(self);
    }
    return TRUE;
}

static void
question_take(Question *self, GDBusMessage *reply)
{
    GVariant *body = g_dbus_message_get_body(reply);
    g_autoptr(GVariant) tuple =
        g_variant_ref_sink(body != NULL ? body : g_variant_new_tuple(NULL, 0));
    GError *error = NULL;
    gpointer result = self->kind->read(tuple, self->data, &error);

    if (error != NULL) {
        question_fail(self, error);
    } else if (result == NULL) {
        question_next(self);
    } else {
        completion_return_pointer(&self->completion, result, self->kind->result_free);
        question_free(self);
    }
}

/* ---- asking */

static void
question_wait(Question *self, Wait wait, const GError *error)
{
    self->wait = wait;
    if (++self->n_attempts == ATTEMPTS_MAX)
        question_fail(self, g_error_copy(error));
    else if (wait == WAIT_READY)
        question_try(self);
}

static void
on_answered(BusOutcome outcome, GDBusMessage *reply, const GError *error, gpointer data)
{
    Question *self = data;

    self->call = NULL;
    switch (outcome) {
    case BUS_ANSWERED:
        question_take(self, reply);
        break;
    case BUS_UNANSWERED:
        question_wait(self, WAIT_READY, error);
        break;
    case BUS_LEAVING:
        question_wait(self, WAIT_CHANGE, error);
        break;
    case BUS_ABSENT:
        if (self->was_served) {
            question_wait(self, WAIT_OWNER, error);
            break;
        }
        question_fail(self, g_error_copy(error));
        break;
    case BUS_REFUSED:
    case BUS_TIMED_OUT:
    case BUS_ENDED:
    default:
        question_fail(self, g_error_copy(error));
        break;
    }
}

static void
question_try(Question *self)
{
    Questions *owner = self->owner;
    QuestionCall call;

    if (!owner->funcs->is_ready(owner->data))
        return;
    self->was_served = self->was_served || bus_get_owner(owner->bus) != NULL;
    self->wait = WAIT_ANSWER;
    call = self->kind->build(self->data);
    self->call = bus_call(owner->bus, call.path, call.interface, call.method, call.body, 0,
                          on_answered, self);
    if (self->kind->read_bytes != NULL)
        bus_call_set_take(self->call, on_large_reply);
}

void
questions_ask(Questions *self, const QuestionKind *kind, gpointer data, Caller caller)
{
    Question *question = g_new0(Question, 1);

    question->owner = self;
    question->kind = kind;
    question->data = data;
    question->timer.data = question;
    question->timer.expired = on_expired;
    completion_init(&question->completion, self->session, caller);
    if (!completion_listen(&question->completion, caller.cancellable, on_cancelled, question)) {
        g_free(question);
        return;
    }
    session_add_user(self->session);
    question->link.data = question;
    g_queue_push_tail_link(&self->questions, &question->link);
    question_next(question);
}

/* ---- all of them */

/* None of them begins or ends by that. */
void
questions_try(Questions *self)
{
    for (GList *link = self->questions.head; link != NULL; link = link->next) {
        Question *question = link->data;

        if (question->wait == WAIT_READY)
            question_try(question);
    }
}

static gboolean
is_for_owner(const Questions *self, Wait wait)
{
    return wait == WAIT_CHANGE || (wait == WAIT_OWNER && bus_get_owner(self->bus) != NULL);
}

/* If something has to be sent again first, they wait for that. */
void
questions_owner_changed(Questions *self)
{
    for (GList *link = self->questions.head; link != NULL; link = link->next) {
        Question *question = link->data;

        if (is_for_owner(self, question->wait))
            question->wait = WAIT_READY;
    }
    questions_try(self);
}

void
questions_finish(Questions *self, const GError *error)
{
    while (!g_queue_is_empty(&self->questions))
        question_fail(g_queue_peek_head(&self->questions), g_error_copy(error));
}

Questions *
questions_new(Session *session, Bus *bus, const QuestionsFuncs *funcs, gpointer data)
{
    Questions *self = g_new0(Questions, 1);

    self->session = session;
    self->bus = bus;
    self->funcs = funcs;
    self->data = data;
    return self;
}

void
questions_free(Questions *self)
{
    g_assert(g_queue_is_empty(&self->questions));
    g_free(self);
}
