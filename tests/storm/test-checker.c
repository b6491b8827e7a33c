/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The checker on histories written by hand: for each check, correct ones, violations, and uncertain
 * ones, which have to pass. */

#include "tests/storm/scene.h"

/* The service runs from the start. */
#define UP "0 S service-ready\n"

/* A waits behind B, is listed as waiting, and is granted. */
#define A_BEHIND_B                        \
    UP "1 B request 1\n"                  \
       "2 B enter 1 10\n"                 \
       "3 A request 1\n"                  \
       "4 A query 1\n"                    \
       "4 A row 1 B held token 10\n"      \
       "4 A row 1 A pending position 1\n" \
       "5 A rows 1\n"

typedef struct {
    const char *name;
    const char *found; /* the violated check */
    const char *text;
} Case;

static const Case cases[] = {
    /* exclusion */
    {"exclusion/one-after-the-other", "",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n4 A release 1\n"
        "1 B request 1\n5 B enter 1 11\n6 B leave 1\n7 B release 1"},
    {"exclusion/two-inside", "exclusion",
     UP "1 A request 1\n2 A enter 1 10\n5 A leave 1\n"
        "1 B request 1\n4 B enter 1 11\n6 B leave 1\n7 A release 1\n7 B release 1"},
    {"exclusion/shared-beside-shared", "",
     UP "1 A request 1 shared\n2 A enter 1 10\n5 A leave 1\n6 A release 1\n"
        "1 B request 1 shared\n4 B enter 1 11\n6 B leave 1\n7 B release 1"},
    {"exclusion/shared-beside-exclusive", "exclusion",
     UP "1 A request 1 shared\n2 A enter 1 10\n5 A leave 1\n6 A release 1\n"
        "1 B request 1\n4 B enter 1 11\n6 B leave 1\n7 B release 1"},
    {"exclusion/long-one-below-short-one", "exclusion",
     UP "1 A request 1 shared\n2 A enter 1 10\n90 A leave 1\n91 A release 1\n"
        "1 B request 1 shared\n3 B enter 1 11\n4 B leave 1\n5 B release 1\n"
        "1 C request 1\n50 C enter 1 12\n51 C leave 1\n52 C release 1"},
    {"exclusion/other-name", "",
     UP "1 A request 1\n2 A enter 1 10\n5 A leave 1\n7 A release 1\n"
        "1 B request 1 lock 2\n4 B enter 1 11 lock 2\n6 B leave 1 lock 2\n7 B release 1 lock 2"},
    {"exclusion/other-principal", "",
     UP "1 A request 1\n2 A enter 1 10\n5 A leave 1\n7 A release 1\n"
        "1 E request 1\n4 E enter 1 10\n6 E leave 1\n7 E release 1"},
    {"exclusion/killed-inside", "",
     UP "1 A request 1\n2 A enter 1 10\n3 S kill A\n5 S reaped A\n"
        "1 B request 1\n4 B enter 1 11\n6 B leave 1\n7 B release 1"},
    {"exclusion/before-the-kill", "exclusion",
     UP "1 A request 1\n2 A enter 1 10\n5 S kill A\n6 S reaped A\n"
        "1 B request 1\n4 B enter 1 11\n6 B leave 1\n7 B release 1"},
    {"exclusion/by-the-answer", "exclusion",
     UP "1 A request 1\n2 A enter 1 10\n1 B request 1\n3 A query 1\n"
        "3 A row 1 A held token 10\n3 A row 1 B held token 11\n4 A rows 1\n"
        "5 A leave 1\n6 A release 1\n7 B enter 1 11\n8 B leave 1\n9 B release 1"},
    {"exclusion/after-the-service", "exclusion fifo",
     UP "1 A request 1\n2 A enter 1 10\n3 S service-kill\n4 S service-dead\n5 S service-ready\n"
        "6 B request 1\n7 B enter 1 20\n8 B leave 1\n9 A leave 1\n9 A release 1\n9 B release 1"},

    /* steals */
    {"steal/beside-the-stolen", "",
     UP "1 A request 1\n2 A enter 1 10\n9 A leave 1\n9 A release 1 stolen\n"
        "3 B request 1 steal\n4 B enter 1 11\n6 B leave 1\n7 B release 1"},
    {"steal/no-answer-yet", "",
     UP "1 A request 1\n2 A enter 1 10\n9 A leave 1\n9 A release 1 stolen\n"
        "3 B request 1 steal\n4 C request 1\n5 S kill B\n"
        "6 C enter 1 12\n7 C leave 1\n8 C release 1"},
    {"steal/before-the-steal", "exclusion",
     UP "1 A request 1\n2 A enter 1 10\n9 A leave 1\n9 A release 1 stolen\n"
        "1 C request 1\n3 C enter 1 12\n5 C leave 1\n6 C release 1\n"
        "7 B request 1 steal\n8 B enter 1 13\n8 B leave 1\n9 B release 1"},
    {"steal/was-before", "exclusion fifo",
     UP "1 B request 1 steal\n2 B enter 1 9\n3 B leave 1\n4 B release 1\n"
        "1 A request 1\n5 A enter 1 10\n9 A leave 1\n9 A release 1\n"
        "6 C request 1\n7 C enter 1 12\n8 C leave 1\n9 C release 1"},
    {"steal/in-no-run-of-steals", "not-lost",
     UP "1 A request 1\n2 A enter 1 10\n3 A lost 1 stolen\n4 A leave 1\n5 A release 1"},
    {"steal/lost-before-it", "not-lost answered",
     UP "1 A request 1\n2 A enter 1 10\n3 A lost 1 stolen\n4 A leave 1\n5 A release 1 stolen\n"
        "5 B request 1 steal\n6 B enter 1 11\n7 B leave 1\n8 B release 1"},
    {"steal/lost-while-it-was-released", "",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n4 B request 1 steal\n"
        "5 B enter 1 11\n6 A release 1 stolen\n7 B leave 1\n8 B release 1"},
    {"steal/forgotten-by-the-service", "",
     UP "1 A request 1\n2 A enter 1 10\n3 B request 1 steal\n4 B enter 1 11\n5 S service-kill\n"
        "6 S service-dead\n7 S service-ready\n8 A lost 1 gone\n9 A leave 1\n"
        "9 A release 1 unreachable\n9 B leave 1\n9 B release 1"},
    {"steal/granted-stolen-and-asked-anew", "",
     A_BEHIND_B "6 B leave 1\n7 B release 1\n8 C query 1\n8 C row 1 A held token 11\n9 C rows 1\n"
                "9 S service-kill\n9 S service-dead\n9 S service-ready\n10 D request 1 steal\n"
                "11 D enter 1 12\n12 C request 1\n13 D leave 1\n14 D release 1\n"
                "15 C enter 1 13\n16 C leave 1\n17 C release 1\n18 A enter 1 14\n19 A leave 1\n"
                "20 A release 1"},
    {"steal/granted-stolen-asked-anew-and-timed-out", "",
     UP "1 B request 1\n2 B enter 1 10\n3 A request 1 timeout 50\n4 B leave 1\n5 B release 1\n"
        "6 C query 1\n6 C row 1 A held token 11\n7 C rows 1\n8 D request 1 steal\n"
        "9 D enter 1 12\n10 S service-kill\n10 S service-dead\n10 S service-ready\n"
        "60 A end 1 timeout\n61 D leave 1\n62 D release 1"},
    {"steal/granted-unnoticed-and-stolen", "",
     UP "1 B request 1\n2 B enter 1 10\n3 A request 1\n4 B leave 1\n5 B release 1\n"
        "6 C query 1\n6 C row 1 A held token 11\n7 C rows 1\n"
        "8 S service-kill\n8 S service-dead\n8 S service-ready\n9 D request 1 steal\n"
        "10 D enter 1 12\n11 A end 1 stolen\n12 D leave 1\n13 D release 1"},
    {"steal/notified-while-pending", "answered", UP "1 A request 1\n2 A end 1 stolen"},
    {"steal/lost-to-it", "",
     UP "1 A request 1\n2 A enter 1 10\n3 B request 1 steal\n4 A lost 1 stolen\n"
        "5 B enter 1 11\n6 B leave 1\n7 B release 1"},

    /* tokens */
    {"tokens/same-twice", "tokens",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n4 A release 1\n"
        "1 B request 1\n5 B enter 1 10\n6 B leave 1\n7 B release 1"},
    {"tokens/smaller", "tokens",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n4 A release 1\n"
        "1 B request 1\n5 B enter 1 9\n6 B leave 1\n7 B release 1"},
    {"tokens/smaller-after-the-service", "tokens fifo",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n4 A release 1\n"
        "5 S service-kill\n6 S service-dead\n7 S service-ready\n"
        "8 B request 1\n9 B enter 1 1\n10 B leave 1\n11 B release 1"},
    {"tokens/shared-in-any-order", "",
     UP "1 A request 1 shared\n2 A enter 1 11\n5 A leave 1\n6 A release 1\n"
        "1 B request 1 shared\n3 B enter 1 10\n6 B leave 1\n7 B release 1"},
    {"tokens/jump", "",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n4 A release 1\n"
        "5 B request 1\n6 B enter 1 9999999999999\n7 B leave 1\n8 B release 1"},

    /* fifo */
    {"fifo/in-turn", "",
     A_BEHIND_B "6 C request 1\n7 B leave 1\n8 B release 1\n9 A enter 1 11\n10 A leave 1\n"
                "11 A release 1\n12 C enter 1 12\n13 C leave 1\n14 C release 1"},
    {"fifo/overtaken", "fifo",
     A_BEHIND_B "6 C request 1\n7 B leave 1\n8 B release 1\n9 C enter 1 11\n10 C leave 1\n"
                "11 C release 1\n12 A enter 1 12\n13 A leave 1\n14 A release 1"},
    {"fifo/overtaken-and-killed", "fifo",
     A_BEHIND_B "6 C request 1\n7 B leave 1\n8 B release 1\n9 C enter 1 11\n10 C leave 1\n"
                "11 C release 1\n12 S kill A\n13 S reaped A"},
    {"fifo/asked-at-the-same-time", "",
     UP "1 B request 1\n2 B enter 1 10\n3 A request 1\n4 C request 1\n7 B leave 1\n8 B release 1\n"
        "9 C enter 1 11\n10 C leave 1\n11 C release 1\n12 A enter 1 12\n13 A leave 1\n"
        "14 A release 1"},
    {"fifo/aborted-in-time", "",
     A_BEHIND_B "6 C request 1\n7 B leave 1\n7 A abort 1\n7 A end 1 cancelled\n8 B release 1\n"
                "9 C enter 1 11\n10 C leave 1\n11 C release 1"},
    {"fifo/killed-in-time", "",
     A_BEHIND_B "6 C request 1\n7 B leave 1\n7 S kill A\n8 B release 1\n"
                "9 C enter 1 11\n10 C leave 1\n11 C release 1\n12 S reaped A"},
    {"fifo/may-have-timed-out", "",
     UP
     "1 B request 1\n2 B enter 1 10\n3 A request 1 timeout 20\n4 A query 1\n"
     "4 A row 1 B held token 10\n4 A row 1 A pending position 1\n5 A rows 1\n"
     "6 C request 1\n24 B leave 1\n25 B release 1\n26 C enter 1 11\n27 C leave 1\n28 C release 1\n"
     "29 A end 1 timeout"},
    {"fifo/timed-out-and-not-notified", "",
     UP "1 B request 1\n2 B enter 1 10\n3 A request 1 timeout 20\n4 A query 1\n"
        "4 A row 1 B held token 10\n4 A row 1 A pending position 1\n5 A rows 1\n"
        "24 S service-kill\n25 S service-dead\n26 S service-ready\n27 C request 1\n28 D query 1\n"
        "28 D row 1 B held token 10\n28 D row 1 C pending position 1\n"
        "28 D row 1 A pending position 2\n29 D rows 1\n30 A end 1 timeout\n31 B leave 1\n"
        "32 B release 1\n33 C enter 1 11\n34 C leave 1\n35 C release 1"},
    {"fifo/stolen-goes-first", "",
     A_BEHIND_B "6 C request 1 steal\n7 C enter 1 11\n8 B lost 1 stolen\n9 C leave 1\n"
                "10 C release 1\n11 A enter 1 12\n12 A leave 1\n13 A release 1"},
    {"fifo/if-available-before-pending", "fifo",
     A_BEHIND_B "6 B leave 1\n6 B release 1\n7 C request 1 if\n8 C enter 1 11\n9 C leave 1\n"
                "10 C release 1\n11 A enter 1 12\n12 A leave 1\n13 A release 1"},
    {"fifo/shared-past-exclusive", "fifo",
     UP "1 B request 1 shared\n2 B enter 1 10\n3 A request 1\n4 A query 1\n"
        "4 A row 1 B held shared token 10\n4 A row 1 A pending position 1\n5 A rows 1\n"
        "6 C request 1 shared\n7 C enter 1 11\n8 C leave 1\n9 C release 1\n"
        "10 B leave 1\n10 B release 1\n11 A enter 1 12\n12 A leave 1\n13 A release 1"},
    {"fifo/by-the-answer", "fifo",
     A_BEHIND_B "6 C request 1\n7 B query 2\n7 B row 2 B held token 10\n"
                "7 B row 2 C pending position 1\n7 B row 2 A pending position 2\n8 B rows 2\n"
                "9 B leave 1\n9 B release 1\n10 A abort 1\n10 A end 1 cancelled\n"
                "11 C enter 1 11\n12 C leave 1\n13 C release 1"},

    /* once */
    {"once/shown-twice", "once",
     A_BEHIND_B "6 C query 1\n6 C row 1 B held token 10\n6 C row 1 A pending position 1\n"
                "6 C row 1 A pending position 2\n7 C rows 1\n"
                "8 B leave 1\n9 B release 1\n10 A enter 1 11\n11 A leave 1\n12 A release 1"},
    {"once/aborted-and-asked-again", "",
     A_BEHIND_B "6 A abort 1\n6 A end 1 cancelled\n7 A request 2\n8 C query 1\n"
                "8 C row 1 B held token 10\n8 C row 1 A pending position 1\n"
                "8 C row 1 A pending position 2\n9 C rows 1\n"
                "10 B leave 1\n11 B release 1\n12 A enter 2 11\n13 A leave 2\n14 A release 2"},
    {"once/granted-after-the-end", "once",
     UP
     "1 A request 1\n2 A abort 1\n3 A end 1 cancelled\n4 A enter 1 10\n5 A leave 1\n6 A release 1"},

    /* not lost */
    {"not-lost/notified", "not-lost",
     UP "1 A request 1\n2 A enter 1 10\n3 S service-kill\n4 S service-dead\n5 S service-ready\n"
        "6 A lost 1 gone"},
    {"not-lost/not-shown", "not-lost",
     UP "1 A request 1\n2 A enter 1 10\n3 S service-kill\n4 S service-dead\n5 S service-ready\n"
        "6 S query 1 \n7 S rows 1\n8 A leave 1\n9 A release 1"},
    {"not-lost/shown-with-another-token", "not-lost not-risen",
     UP "1 A request 1\n2 A enter 1 10\n3 B query 1\n3 B row 1 A held token 12\n4 B rows 1\n"
        "5 A leave 1\n6 A release 1"},
    {"not-lost/waiting-is-not-shown", "not-lost",
     A_BEHIND_B "6 C query 1\n6 C row 1 B held token 10\n7 C rows 1\n"
                "8 B leave 1\n9 B release 1\n10 A enter 1 11\n11 A leave 1\n12 A release 1"},
    {"not-lost/may-not-have-come-yet", "",
     UP "1 B request 1\n2 B enter 1 10\n3 A request 1\n4 B query 1\n4 B row 1 B held token 10\n"
        "5 B rows 1\n6 B leave 1\n7 B release 1\n8 A enter 1 11\n9 A leave 1\n10 A release 1"},
    {"not-lost/left-meanwhile", "",
     UP "1 A request 1\n2 A enter 1 10\n3 B query 1\n4 A leave 1\n5 B rows 1\n6 A release 1"},
    {"not-lost/killed-meanwhile", "",
     UP "1 A request 1\n2 A enter 1 10\n3 B query 1\n4 S kill A\n5 B rows 1\n6 S reaped A"},

    /* not risen */
    {"not-risen/held-again", "not-risen",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n4 A release 1\n"
        "5 S service-kill\n6 S service-dead\n7 S service-ready\n"
        "8 B query 1\n8 B row 1 A held token 10\n9 B rows 1"},
    {"not-risen/release-without-answer", "",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n"
        "5 S service-kill\n6 S service-dead\n7 S service-ready\n"
        "8 B query 1\n8 B row 1 A held token 10\n9 B rows 1\n10 A release 1"},
    {"not-risen/timed-out-and-waits", "not-risen",
     A_BEHIND_B "6 C request 1 timeout 10\n17 C end 1 timeout\n18 A query 2\n"
                "18 A row 2 B held token 10\n18 A row 2 A pending position 1\n"
                "18 A row 2 C pending position 2\n19 A rows 2\n20 B leave 1\n21 B release 1\n"
                "22 A enter 1 11\n23 A leave 1\n24 A release 1"},
    {"not-risen/timed-out-and-was-held", "not-risen",
     UP "1 B request 1\n2 B enter 1 10\n3 A request 1 timeout 50\n4 B leave 1\n5 B release 1\n"
        "6 C query 1\n6 C row 1 A held token 11\n7 C rows 1\n"
        "10 S service-kill\n10 S service-dead\n10 S service-ready\n60 A end 1 timeout"},
    {"not-risen/timed-out-by-itself-and-was-held", "",
     UP "1 B request 1\n2 B enter 1 10\n3 A request 1 timeout 50\n4 B leave 1\n5 B release 1\n"
        "6 C query 1\n6 C row 1 A held token 11\n7 C rows 1\n"
        "10 S service-kill\n10 S service-dead\n310 A end 1 timeout\n320 S service-ready\n"
        "321 C query 2\n321 C row 2 A held token 11\n322 C rows 2"},
    {"not-risen/timed-out-by-itself-without-a-kill", "",
     UP "1 B request 1\n2 B enter 1 10\n3 A request 1 timeout 50\n4 B leave 1\n5 B release 1\n"
        "6 C query 1\n6 C row 1 A held token 11\n7 C rows 1\n310 A end 1 timeout"},
    {"not-risen/timed-out-by-itself-and-was-not-notified", "progress",
     UP "1 B request 1\n2 B enter 1 10\n3 A request 1 timeout 1500\n4 B leave 1\n5 B release 1\n"
        "6 C query 1\n6 C row 1 A held token 11\n7 C rows 1\n1760 A end 1 timeout"},
    {"not-risen/aborted-a-moment-ago", "",
     A_BEHIND_B "6 A abort 1\n6 A end 1 cancelled\n7 C query 1\n7 C row 1 B held token 10\n"
                "7 C row 1 A pending position 1\n8 C rows 1\n9 B leave 1\n9 B release 1"},
    {"not-risen/aborted-long-ago", "not-risen",
     A_BEHIND_B
     "6 A abort 1\n6 A end 1 cancelled\n1107 C query 1\n1107 C row 1 B held token 10\n"
     "1107 C row 1 A pending position 1\n1108 C rows 1\n1109 B leave 1\n1110 B release 1"},

    /* no ghost */
    {"no-ghost/dead", "no-ghost",
     UP "1 A request 1\n2 A enter 1 10\n3 S kill A\n4 S reaped A\n6 S barrier 5\n"
        "7 B query 1\n7 B row 1 A held token 10\n8 B rows 1"},
    {"no-ghost/dead-a-moment-ago", "",
     UP "1 A request 1\n2 A enter 1 10\n3 S kill A\n4 S reaped A\n5 B query 1\n"
        "5 B row 1 A held token 10\n6 B rows 1\n8 S barrier 7"},
    {"no-ghost/reaped-after-the-barrier-began", "",
     UP "1 A request 1\n2 A enter 1 10\n3 S kill A\n6 S reaped A\n7 S barrier 5\n"
        "8 B query 1\n8 B row 1 A held token 10\n9 B rows 1"},
    {"no-ghost/left", "no-ghost", UP "9 S left 2 14 13"},
    {"no-ghost/nothing-left", "", UP "9 S left 0 0 0\n9 S left 2 13 13"},

    /* progress */
    {"progress/free-and-awaited", "progress",
     A_BEHIND_B "6 B leave 1\n7 B release 1\n1100 C query 1\n"
                "1100 C row 1 A held token 11\n1101 C rows 1\n1200 A enter 1 11\n1201 A leave 1\n"
                "1202 A release 1"},
    {"progress/held-for-long", "",
     A_BEHIND_B "2006 B leave 1\n2007 B release 1\n2100 A enter 1 11\n2101 A leave 1\n"
                "2102 A release 1"},
    {"progress/no-service", "",
     A_BEHIND_B "6 B leave 1\n7 B release 1\n8 S service-kill\n9 S service-dead\n"
                "2000 S service-ready\n2100 A enter 1 11\n2101 A leave 1\n2102 A release 1"},
    {"progress/stopped", "",
     A_BEHIND_B "6 B leave 1\n7 B release 1\n8 S stop A\n"
                "2000 S continue A\n2100 A enter 1 11\n2101 A leave 1\n2102 A release 1"},
    {"progress/next-is-stopped", "",
     A_BEHIND_B "5 C request 1\n6 B leave 1\n7 B release 1\n6 S stop C\n"
                "2000 S continue C\n2001 C enter 1 11\n2002 C leave 1\n2003 C release 1\n"
                "2100 A enter 1 12\n2101 A leave 1\n2102 A release 1"},
    {"progress/killed-inside-and-not-reaped", "",
     A_BEHIND_B "6 S kill B\n2000 S reaped B\n2100 A enter 1 11\n2101 A leave 1\n2102 A release 1"},
    {"progress/killed-inside", "progress",
     A_BEHIND_B "6 S kill B\n7 S reaped B\n2100 A enter 1 11\n2101 A leave 1\n2102 A release 1"},
    {"progress/granted-and-not-notified", "progress",
     A_BEHIND_B "6 B leave 1\n7 B release 1\n8 C query 1\n8 C row 1 A held token 11\n9 C rows 1\n"
                "1900 S kill A\n1901 S reaped A\n"},
    {"progress/free-by-the-answer", "progress",
     A_BEHIND_B "6 B leave 1\n7 B release 1\n8 C query 1\n8 C row 1 A pending position 1\n"
                "9 C rows 1\n10 A enter 1 11\n11 A leave 1\n12 A release 1"},
    {"progress/shared-by-the-answer", "progress",
     UP "1 B request 1 shared\n2 B enter 1 10\n3 A request 1 shared\n4 A query 1\n"
        "4 A row 1 B held shared token 10\n4 A row 1 A pending shared position 1\n5 A rows 1\n"
        "6 A enter 1 11\n7 A leave 1\n8 A release 1\n9 B leave 1\n10 B release 1"},
    {"progress/never-quiet", "progress", UP "5 S unsettled A"},

    /* answers */
    {"answered/release", "answered",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n1100 A query 1\n1101 A rows 1"},
    {"answered/release-without-service", "",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n4 S service-kill\n5 S service-dead\n"
        "1100 S service-ready\n1101 A release 1"},
    {"answered/release-failed", "answered",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n4 A release 1 failed"},
    {"answered/request-failed", "answered", UP "1 A request 1\n2 A end 1 failed"},
    {"answered/no-service", "",
     "1 S service-ready\n2 A query 1\n3 A rows 1\n4 S service-kill\n5 S service-dead\n"
     "6 A request 1\n7 A end 1 unreachable\n8 S service-ready"},
    {"answered/service-is-just-back", "",
     "1 S service-ready\n4 S service-kill\n5 S service-dead\n6 S service-ready\n"
     "7 A request 1\n8 A end 1 unreachable"},
    {"answered/service-is-there", "answered",
     "1 S service-ready\n4 S service-kill\n5 S service-dead\n6 S service-ready\n"
     "1100 A request 1\n1101 A end 1 unreachable"},
    {"answered/no-service-and-yet-there", "not-risen",
     "1 S service-ready\n4 S service-kill\n5 S service-dead\n"
     "6 A request 1\n7 A end 1 unreachable\n8 S service-ready\n"
     "1100 B query 1\n1100 B row 1 A held token 3\n1101 B rows 1"},
    {"answered/query-failed", "answered", UP "6 A query 1\n7 A rows 1 failed"},
    {"answered/if-available", "", UP "1 A request 1 if\n2 A end 1 unavailable"},
    {"answered/if-available-late", "answered", UP "1 A request 1 if\n1100 A end 1 unavailable"},
    {"answered/not-available-though-not-asked", "answered",
     UP "1 A request 1\n2 A end 1 unavailable"},
    {"answered/timed-out", "", UP "1 A request 1 timeout 50\n51 A end 1 timeout"},
    {"answered/timed-out-early", "answered", UP "1 A request 1 timeout 50\n48 A end 1 timeout"},
    {"answered/timed-out-late", "answered",
     UP "1 B request 1\n2 B enter 1 10\n1 A request 1 timeout 50\n1100 A end 1 timeout\n"
        "1101 B leave 1\n1102 B release 1"},
    {"answered/timed-out-without-service", "",
     UP "1 B request 1\n2 B enter 1 10\n1 A request 1 timeout 50\n3 S service-kill\n"
        "4 S service-dead\n800 S service-ready\n1100 A end 1 timeout\n"
        "1101 B leave 1\n1102 B release 1"},

    /* isolation */
    {"isolation/nobody", "isolation",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n4 A release 1\n5 A query 1\n"
        "5 A row 1 Z held token 3\n6 A rows 1"},
    {"isolation/other-principal", "isolation",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n4 A release 1\n1 E request 1\n2 E enter 1 3\n"
        "5 A query 1\n5 A row 1 E held token 3\n6 A rows 1\n7 E leave 1\n8 E release 1"},
    {"isolation/never-asked", "isolation",
     UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n4 A release 1\n5 A query 1\n"
        "5 A row 1 C held token 3\n6 A rows 1"},
    {"isolation/name-of-nobody", "isolation",
     UP "5 A query 1\n5 A row 1 A held token 3\n6 A rows 1"},

    /* the resource, the kernel */
    {"fence/higher", "",
     UP "1 A request 1\n2 A enter 1 10\n3 A fence 1 ok 9\n4 A leave 1\n5 A release 1"},
    {"fence/refused-inside", "fence",
     UP "1 A request 1\n2 A enter 1 10\n3 A fence 1 refused 12\n4 A leave 1\n5 A release 1"},
    {"fence/refused-after-a-steal", "",
     UP "1 A request 1\n2 A enter 1 10\n3 B request 1 steal\n4 B enter 1 12\n5 B fence 1 ok 10\n"
        "6 A fence 1 refused 12\n7 A lost 1 stolen\n8 B leave 1\n9 B release 1"},
    {"fence/shared", "",
     UP "1 A request 1 shared\n2 A enter 1 10\n3 A fence 1 refused 12\n4 A leave 1\n5 A release 1"},
    {"oracle/refused", "oracle",
     UP "1 A request 1\n2 A enter 1 10\n3 A oracle 1 refused\n4 A leave 1\n5 A release 1"},
    {"oracle/refused-by-the-dying", "",
     UP "1 B request 1\n2 B enter 1 9\n3 S kill B\n"
        "1 A request 1\n4 A enter 1 10\n5 A oracle 1 refused\n6 A leave 1\n7 A release 1\n"
        "8 S reaped B"},
    {"oracle/refused-by-the-dead", "oracle",
     UP "1 B request 1\n2 B enter 1 9\n3 S kill B\n4 S reaped B\n"
        "1 A request 1\n34 A enter 1 10\n35 A oracle 1 refused\n36 A leave 1\n37 A release 1\n"},

    /* the dead */
    {"final-steal/had-effect", "",
     UP "1 A request 1\n2 A enter 1 10\n3 B request 1 steal\n4 B sent 1\n5 B exit\n"
        "6 S reaped B\n8 S barrier 7\n9 C query 1\n10 C rows 1\n11 A lost 1 stolen\n"
        "12 A leave 1\n13 A release 1 stolen"},
    {"final-steal/had-none", "final-steal",
     UP "1 B request 2 lock 1\n1 B enter 2 9 lock 1\n1 A request 1\n2 A enter 1 10\n3 B request 1 "
        "steal\n"
        "4 B sent 1\n5 B exit\n6 S reaped B\n8 S barrier 7\n9 C query 1\n"
        "9 C row 1 A held token 10\n10 C rows 1\n12 A leave 1\n13 A release 1"},
    {"final-steal/without-a-socket", "",
     UP
     "1 B request 2 lock 1\n1 B enter 2 9 lock 1\n1 A request 1\n2 A enter 1 10\n2 S service-kill\n"
     "2 S service-dead\n2 S service-ready\n3 B request 1 steal\n"
     "4 B sent 1\n5 B exit\n6 S reaped B\n8 S barrier 7\n9 C query 1\n"
     "9 C row 1 A held token 10\n10 C rows 1\n12 A leave 1\n13 A release 1"},
    {"final-steal/perhaps-never-sent", "",
     UP "1 A request 1\n2 A enter 1 10\n3 B request 1 steal\n5 B exit\n"
        "6 S reaped B\n8 S barrier 7\n9 C query 1\n9 C row 1 A held token 10\n10 C rows 1\n"
        "12 A leave 1\n13 A release 1"},
    {"final-steal/to-a-service-that-died", "",
     UP "1 A request 1\n2 A enter 1 10\n3 B request 1 steal\n4 B sent 1\n5 B exit\n"
        "5 S service-kill\n6 S service-dead\n6 S reaped B\n7 S service-ready\n8 S barrier 7\n"
        "9 C query 1\n9 C row 1 A held token 10\n10 C rows 1\n12 A leave 1\n13 A release 1"},

    /* the service, the bus */
    {"alive/killed", "", UP "1 S service-kill\n2 S service-dead\n3 S service-ready"},
    {"alive/crashed", "alive",
     UP "1 S service-kill\n2 S service-dead\n3 S service-ready\n4 S service-dead"},
    {"bus/new-one-knows-nobody", "",
     UP "1 A request 1\n2 A enter 1 10\n3 S kill A\n3 S service-kill\n4 S service-dead\n"
        "4 S reaped A\n5 S bus 1\n6 S service-ready\n7 S query 1\n8 S rows 1"},
    {"bus/new-one-knows-the-old", "isolation",
     UP "1 A request 1\n2 A enter 1 10\n3 S kill A\n3 S service-kill\n4 S service-dead\n"
        "4 S reaped A\n5 S bus 1\n6 S service-ready\n7 S query 1\n7 S row 1 A held token 10\n"
        "8 S rows 1"},

    /* several hosts */
    {"cluster/exclusion", "exclusion",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n5 A leave 1\n"
     "1 C request 1\n4 C enter 1 11\n6 C leave 1\n7 A release 1\n7 C release 1"},
    {"cluster/tokens", "tokens",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 A leave 1\n4 A release 1\n"
     "1 C request 1\n5 C enter 1 9\n6 C leave 1\n7 C release 1"},
    {"cluster/same-token", "tokens",
     "cluster\n" UP "1 A request 1 shared\n2 A enter 1 10\n9 A leave 1\n10 A release 1\n"
     "1 C request 1 shared\n5 C enter 1 10\n6 C leave 1\n7 C release 1"},
    {"cluster/shared-tokens-of-two-blocks", "",
     "cluster\n" UP "1 A request 1 shared\n2 A enter 1 20\n3 A leave 1\n4 A release 1\n"
     "1 C request 1 shared\n5 C enter 1 10\n6 C leave 1\n7 C release 1"},
    {"cluster/no-order-between-hosts", "",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n8 A leave 1\n9 A release 1\n"
     "3 B request 1\n4 C request 1\n10 C enter 1 11\n11 C leave 1\n12 C release 1\n"
     "13 B enter 1 12\n14 B leave 1\n15 B release 1"},
    {"cluster/lost-in-time", "",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 S fault 1 1 loses\n1 C request 1\n"
     "5 A lost 1 gone\n6 C enter 1 11\n7 C leave 1\n8 C release 1\n9 S fault-end 1"},
    {"cluster/lost-too-late", "exclusion",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 S fault 1 1 loses\n1 C request 1\n"
     "5 C enter 1 11\n6 A lost 1 gone\n7 C leave 1\n8 C release 1\n9 S fault-end 1"},
    {"cluster/lost-while-the-service-is-stopped", "",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 S fault 1 1 loses stopped\n1 C request 1\n"
     "5 C enter 1 11\n6 C oracle 1 refused\n7 C leave 1\n8 C release 1\n9 S fault-end 1\n"
     "10 A lost 1 gone"},
    {"cluster/released-after-the-service-was-stopped", "exclusion",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 S fault 1 1 loses stopped\n1 C request 1\n"
     "5 C enter 1 11\n7 C leave 1\n8 C release 1\n9 S fault-end 1\n10 A leave 1\n11 A release 1"},
    {"cluster/lost-while-the-service-of-another-host-is-stopped", "exclusion",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 S fault 1 2 loses stopped\n"
     "4 S fault 2 1 loses\n1 C request 1\n5 C enter 1 11\n7 C leave 1\n8 C release 1\n"
     "9 S fault-end 2\n10 A lost 1 gone"},
    {"cluster/lost-some-time-after", "",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 S fault 1 0 loses\n4 S fault-end 1\n"
     "20000 A lost 1 gone"},
    {"cluster/lost-long-after", "not-lost",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 S fault 1 0 loses\n4 S fault-end 1\n"
     "40000 A lost 1 gone"},
    {"cluster/lost-without-a-fault", "not-lost",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n5 A lost 1 gone"},
    {"cluster/lost-by-a-fault-that-loses-nothing", "not-lost",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 S fault 1 1\n5 A lost 1 gone"},
    {"cluster/lost-by-a-fault-of-another-host", "not-lost",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 S fault 1 2 loses\n5 A lost 1 gone"},
    {"cluster/stolen-before-a-fault-that-loses-nothing", "",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 C request 1 steal\n4 C enter 1 11\n"
     "5 C leave 1\n6 C release 1\n7 S fault 1 1\n8 A lost 1 gone"},
    {"cluster/waits-without-a-fault", "progress",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 C request 1\n10 A leave 1\n"
     "11 A release 1\n1102 C enter 1 11"},
    {"cluster/waits-while-somebody-is-inside", "",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 C request 1\n1100 A leave 1\n"
     "1101 A release 1\n1102 C enter 1 11"},
    {"cluster/waits-during-a-fault", "",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 C request 1\n10 S fault 1 2\n"
     "10 A leave 1\n11 A release 1\n1000 S fault-end 1\n1102 C enter 1 11"},
    {"cluster/stolen-some-time-before", "",
     "cluster\n" UP "1 C request 1 steal\n2 C enter 1 20\n3 A request 1\n4 A enter 1 10\n"
     "5 A lost 1 stolen\n6 C leave 1\n7 C release 1"},
    {"cluster/stolen-with-a-higher-token", "exclusion",
     "cluster\n" UP "1 C request 1 steal\n2 C enter 1 20\n3 A request 1\n4 A enter 1 30\n"
     "5 A leave 1\n6 A release 1\n7 C leave 1\n8 C release 1"},
    {"cluster/failed", "answered", "cluster\n" UP "1 A request 1\n2 A end 1 failed"},
    {"cluster/fence", "fence",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 A fence 1 refused 11\n4 A leave 1"},
    {"cluster/oracle", "oracle",
     "cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 A oracle 1 refused\n4 A leave 1"},
};

static void
test_case(gconstpointer data)
{
    const Case *one = data;
    g_autofree char *found = scene_judge(one->text, NULL);

    g_assert_cmpstr(found, ==, one->found);
}

/* Events are counted, and missing ones make a storm void. */
static void
test_power(void)
{
    CheckPower power;
    g_autofree char *found =
        scene_judge(UP "1 A request 1\n2 A enter 1 10\n"
                       "3 B request 1\n3 C query 1\n4 S service-kill\n5 S service-dead\n"
                       "6 S service-ready\n7 C row 1 A held token 10\n7 C row 1 B pending position "
                       "1\n8 C rows 1\n"
                       "9 A leave 1\n10 A release 1\n11 B enter 1 11\n"
                       "12 S kill B\n13 S reaped B\n14 C request 1\n15 S stop C\n16 S continue C\n"
                       "17 S service-kill\n18 S service-dead\n19 S service-ready\n"
                       "20 C enter 1 12\n21 C leave 1\n22 S kill C",
                    &power);

    g_assert_cmpstr(found, ==, "");
    g_assert_cmpuint(power.n_requests, ==, 3);
    g_assert_cmpuint(power.n_grants, ==, 3);
    g_assert_cmpuint(power.n_queries, ==, 1);
    g_assert_cmpuint(power.service_kills, ==, 2);
    g_assert_cmpuint(power.service_kills_with_held, ==, 1);
    g_assert_cmpuint(power.service_kills_with_waiting, ==, 2);
    g_assert_cmpuint(power.service_kills_unanswered, ==, 1);
    g_assert_cmpuint(power.held_over_kills, ==, 1);
    g_assert_cmpuint(power.granted_after_kills, ==, 2);
    g_assert_cmpuint(power.client_kills, ==, 2);
    g_assert_cmpuint(power.client_kills_inside, ==, 1);
    g_assert_cmpuint(power.client_kills_waiting, ==, 0);
    g_assert_cmpuint(power.client_kills_unanswered, ==, 1);
    g_assert_cmpuint(power.stops, ==, 1);
}

/* A kill of a host's service concerns the clients of that host. */
static void
test_power_of_cluster(void)
{
    CheckPower power;
    g_autofree char *found =
        scene_judge("cluster\n" UP "1 A request 1\n2 A enter 1 10\n3 C request 1\n"
                    "4 S fault 1 1 killed\n4 S service-kill host 1\n5 S fault-end 1\n"
                    "6 S fault 2 2 partition\n7 S fault-end 2\n8 S fault 3 0 loses\n"
                    "9 S fault-end 3\n10 A leave 1\n11 A release 1\n12 C enter 1 11\n"
                    "13 C leave 1\n14 C release 1",
                    &power);

    g_assert_cmpstr(found, ==, "");
    g_assert_cmpuint(power.service_kills, ==, 1);
    g_assert_cmpuint(power.service_kills_with_held, ==, 1);
    g_assert_cmpuint(power.service_kills_with_waiting, ==, 0);
    g_assert_cmpuint(power.held_over_kills, ==, 1);
    g_assert_cmpuint(power.granted_after_kills, ==, 0);
    g_assert_cmpuint(power.faults, ==, 2);
    g_assert_cmpuint(power.partitions, ==, 1);
    g_assert_cmpuint(power.kills, ==, 1);
    g_assert_cmpuint(power.hand_overs, ==, 1);
}

static void
test_void(void)
{
    g_autoptr(Story) story = story_new(1);
    g_autoptr(Checker) checker = NULL;
    g_autoptr(GString) missing = g_string_new(NULL);
    CheckPower least = {.n_requests = 0};

    story_finish(story);
    checker = checker_new(story);
    g_assert_cmpint(checker_judge(checker, &least, missing), ==, CHECK_PASS);
    least.service_kills = 1;
    g_assert_cmpint(checker_judge(checker, &least, missing), ==, CHECK_VOID);
    g_assert_cmpstr(missing->str, ==, "service kills: 0, and at least 1 are needed\n");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strconcat("/checker/", cases[i].name, NULL);

        g_test_add_data_func(path, &cases[i], test_case);
    }
    g_test_add_func("/checker/power", test_power);
    g_test_add_func("/checker/power-of-cluster", test_power_of_cluster);
    g_test_add_func("/checker/void", test_void);
    return g_test_run();
}
