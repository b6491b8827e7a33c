/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Test cases that register themselves, in the order of the file, so that none can be left out:
 *
 *     TEST("/lock/released", test_released)
 *     {
 *         g_assert_...
 *     }
 *
 *     TEST_MAIN(g_test_run())
 *
 * A program with more to do has a main() of its own, which calls test_cases_add() after
 * g_test_init(). */

#pragma once

#include <glib.h>

typedef struct TestCase TestCase;

struct TestCase {
    const char *path;
    GTestFunc function;
    TestCase *next;
};

static TestCase *test_cases, **test_cases_end = &test_cases;

#define TEST(case_path, case_function)                                 \
    static void case_function(void);                                   \
    static void __attribute__((constructor)) add_##case_function(void) \
    {                                                                  \
        static TestCase test_case = {case_path, case_function, NULL};  \
                                                                       \
        *test_cases_end = &test_case;                                  \
        test_cases_end = &test_case.next;                              \
    }                                                                  \
    static void case_function(void)

static inline void
test_cases_add(void)
{
    for (const TestCase *test_case = test_cases; test_case != NULL; test_case = test_case->next)
        g_test_add_func(test_case->path, test_case->function);
}

/* `run` is the exit status. */
#define TEST_MAIN(run)                   \
    int main(int argc, char **argv)      \
    {                                    \
        g_test_init(&argc, &argv, NULL); \
        test_cases_add();                \
        return run;                      \
    }
