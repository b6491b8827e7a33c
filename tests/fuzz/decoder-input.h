/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Dictionaries of calls from the bytes of a fuzz target: keys and values of any types, also those
 * that no call has. */

#pragma once

#include <glib.h>
#include <stdint.h>

#include "sd-bus.h"

typedef enum {
    REQUEST,
    STEAL,
    INSPECT,
    OPEN_SOCKET,
    BREAK,
    OPEN_DOCUMENT,
} Member;

/* A key that is longer is not shown in an error. */
#define KEY_SHOWN_MAX 64

typedef struct {
    const uint8_t *at;
    size_t n_left;
} Input;

/* An entry of the dictionary, as put into the message. */
typedef struct {
    char *key;
    const char *type;
    char *text;     /* for types with text */
    guint64 number; /* for other types */
} Entry;

typedef struct {
    const char *key;
    const char *type;
} KeyType;

uint8_t input_take_byte(Input *input);
/* A length, then the text. A zero ends it, as in D-Bus. */
char *input_take_text(Input *input);

/* The type of an option, or NULL if the call has none with this name. */
const KeyType *input_find_key_type(Member member, const char *key);

/* Appends a dictionary, and adds what is in it to `entries`, of Entry. */
int input_append_dictionary(sd_bus_message *message, Input *input, Member member, GArray *entries);
