/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* identity/security-label: which labels belong to a Snap. */

#include <glib.h>
#include <string.h>

#include "service/identity/security-label.h"
#include "tests/lib/case.h"

#define REFUSED "refused"

typedef struct {
    const char *label;
    const char *snap; /* NULL: not a Snap; REFUSED: can't be identified */
} LabelRow;

#define TEN   "abcdefghij"
#define FORTY TEN TEN TEN TEN

static const LabelRow rows[] = {
    {"snap.firefox.firefox (enforce)", "firefox"},
    {"snap.firefox.geckodriver (enforce)", "firefox"},
    {"snap.firefox.hook.configure (enforce)", "firefox"},
    {"snap.code.code (complain)", "code"},
    {"snap.x.y (kill)", "x"},
    {"snap.x.y (unconfined)", "x"},
    {"snap.gnome-calculator.gnome-calculator (enforce)", "gnome-calculator"},
    {"snap.hello_two.hello (enforce)", "hello_two"},
    {"snap.hello_2.Hello-World (enforce)", "hello_2"},
    {"snap.0ad.0ad (enforce)", "0ad"},
    {"snap." FORTY ".x (enforce)", FORTY},
    {"snap." FORTY "_" TEN ".x (enforce)", FORTY "_" TEN},

    {"unconfined", NULL},
    {"", NULL},
    {"/usr/bin/evince (enforce)", NULL},
    {"snap-update-ns.firefox (enforce)", NULL},
    {"snap", NULL},
    {"Snap.firefox.firefox (enforce)", NULL},
    {"/snap.firefox.firefox (enforce)", NULL},
    {" snap.firefox.firefox (enforce)", NULL},
    {"unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023", NULL},
    {"flatpak//&unconfined (mixed)", NULL},

    {"snap.", REFUSED},
    {"snap..", REFUSED},
    {"snap.. (enforce)", REFUSED},
    {"snap.firefox", REFUSED},
    {"snap.firefox (enforce)", REFUSED},
    {"snap.firefox. (enforce)", REFUSED},
    {"snap..firefox (enforce)", REFUSED},
    {"snap.firefox.firefox", REFUSED},
    {"snap.firefox.firefox ", REFUSED},
    {"snap.firefox.firefox (", REFUSED},
    {"snap.firefox.firefox ()", REFUSED},
    {"snap.firefox.firefox (enf", REFUSED},
    {"snap.firefox.firefox (enforce) ", REFUSED},
    {"snap.firefox.firefox  (enforce)", REFUSED},
    {"snap.firefox.firefox (Enforce)", REFUSED},
    {"snap.firefox.firefox (enforce)\n", REFUSED},
    {"snap.firefox.fire.fox (enforce)", REFUSED},
    {"snap.firefox.hook. (enforce)", REFUSED},
    {"snap.firefox.firefox//child (enforce)", REFUSED},
    {"snap.firefox.firefox//&unconfined (enforce)", REFUSED},
    {"unconfined//&snap.firefox.firefox (mixed)", REFUSED},
    {"unconfined//&:lxd:snap.firefox.firefox (mixed)", REFUSED},
    {"snap.Firefox.firefox (enforce)", REFUSED},
    {"snap.fire/fox.firefox (enforce)", REFUSED},
    {"snap.../etc.x (enforce)", REFUSED},
    {"snap.-firefox.firefox (enforce)", REFUSED},
    {"snap.firefox-.firefox (enforce)", REFUSED},
    {"snap.fire--fox.firefox (enforce)", REFUSED},
    {"snap.123.firefox (enforce)", REFUSED},
    {"snap.firefox_.firefox (enforce)", REFUSED},
    {"snap._x.firefox (enforce)", REFUSED},
    {"snap.firefox_a_b.firefox (enforce)", REFUSED},
    {"snap.firefox_a-b.firefox (enforce)", REFUSED},
    {"snap.firefox_" TEN "k.firefox (enforce)", REFUSED},
    {"snap." FORTY "k.firefox (enforce)", REFUSED},
    {"snap.f\xc3\xa4.firefox (enforce)", REFUSED},
    {"snap.firefox.fire fox (enforce)", REFUSED},
};

static const char *
parse(const char *label, gsize size, char **snap)
{
    return security_label_parse(label, size, snap) ? *snap : REFUSED;
}

TEST("/security-label/rows", test_rows)
{
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *snap = NULL;
        const char *got = parse(rows[i].label, strlen(rows[i].label) + 1, &snap);

        if (g_strcmp0(got, rows[i].snap) != 0)
            g_error("'%s': expected %s, got %s", rows[i].label, rows[i].snap, got);
    }
}

/* No label, one without a terminator, and one with an earlier terminator. */
TEST("/security-label/bytes", test_bytes)
{
    const char whole[] = "snap.firefox.firefox (enforce)";
    const char with_nul[] = "snap.firefox.firefox (enforce)\0more";
    char *snap = NULL;

    g_assert_cmpstr(parse(NULL, 0, &snap), ==, NULL);
    for (gsize size = 1; size < sizeof whole; size++)
        g_assert_cmpstr(parse(whole, size, &snap), ==, REFUSED);
    g_assert_cmpstr(parse(with_nul, sizeof with_nul, &snap), ==, REFUSED);
    g_assert_cmpstr(parse("unconfined\0", 12, &snap), ==, REFUSED);
    g_assert_cmpstr(parse("unconfined", 10, &snap), ==, REFUSED);
    g_assert_null(snap);
}

/* Each label truncated at each length, with a terminator: a Snap's or refused, never
 * unsandboxed. */
TEST("/security-label/truncated", test_truncated)
{
    const char whole[] = "snap.firefox.firefox (enforce)";

    for (gsize size = strlen("snap."); size < sizeof whole - 1; size++) {
        g_autofree char *cut = g_strndup(whole, size);
        char *snap = NULL;

        g_assert_cmpstr(parse(cut, size + 1, &snap), ==, REFUSED);
        g_assert_null(snap);
    }
}

TEST_MAIN(g_test_run())
