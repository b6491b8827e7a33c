/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/storm/story.h"

static gint
compare_spans(gconstpointer a, gconstpointer b)
{
    const Span *one = a;
    const Span *other = b;

    return one->from < other->from ? -1 : one->from > other->from;
}

SpanSet *
span_set_new(GArray *spans)
{
    SpanSet *self = g_new0(SpanSet, 1);
    GArray *joined = g_array_new(FALSE, FALSE, sizeof(Span));
    guint64 length = 0;

    g_array_sort(spans, compare_spans);
    for (guint i = 0; i < spans->len; i++) {
        const Span span = g_array_index(spans, Span, i);
        Span *last = joined->len == 0 ? NULL : &g_array_index(joined, Span, joined->len - 1);

        if (span.to <= span.from)
            continue;
        if (last != NULL && span.from <= last->to)
            last->to = MAX(last->to, span.to);
        else
            g_array_append_val(joined, span);
    }
    g_array_unref(spans);
    self->spans = joined;
    self->before = g_array_new(FALSE, FALSE, sizeof(guint64));
    for (guint i = 0; i < joined->len; i++) {
        const Span *span = &g_array_index(joined, Span, i);

        g_array_append_val(self->before, length);
        length += span->to - span->from;
    }
    return self;
}

void
span_set_free(SpanSet *self)
{
    g_array_unref(self->spans);
    g_array_unref(self->before);
    g_free(self);
}

/* The first span that ends after `time`. */
static guint
first_after(const SpanSet *self, guint64 time)
{
    guint low = 0;
    guint high = self->spans->len;

    while (low < high) {
        const guint middle = low + (high - low) / 2;

        if (g_array_index(self->spans, Span, middle).to <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The length of what they cover before `time`. */
static guint64
covered_before(const SpanSet *self, guint64 time)
{
    const guint i = first_after(self, time);
    const Span *span;
    const Span *last;

    if (self->spans->len == 0)
        return 0;
    if (i == self->spans->len) {
        last = &g_array_index(self->spans, Span, i - 1);
        return g_array_index(self->before, guint64, i - 1) + last->to - last->from;
    }
    span = &g_array_index(self->spans, Span, i);
    return g_array_index(self->before, guint64, i) + (time > span->from ? time - span->from : 0);
}

guint64
span_set_covers(const SpanSet *self, guint64 from, guint64 to)
{
    if (to <= from)
        return 0;
    return covered_before(self, to) - covered_before(self, from);
}

Span
span_set_longest_gap(const SpanSet *self, guint64 from, guint64 to)
{
    Span longest = {from, from};
    guint64 at = from;

    for (guint i = first_after(self, from); at < to; i++) {
        const Span *span = i < self->spans->len ? &g_array_index(self->spans, Span, i) : NULL;
        const guint64 until = span == NULL || span->from > to ? to : span->from;

        if (until > at && until - at > longest.to - longest.from)
            longest = (Span){at, until};
        if (span == NULL)
            break;
        at = MAX(at, span->to);
    }
    return longest;
}
