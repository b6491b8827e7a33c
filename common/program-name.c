/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "program-name.h"

#include <string.h>

/* ---- desktop applications */

/* Decodes the \xNN by which systemd escapes what is not valid in a unit's name. */
static char *
unescape_unit(const char *part, gsize length)
{
    g_autoptr(GString) escaped = g_string_new_len(part, (gssize)length);

    g_string_replace(escaped, "\\x", "%", 0);
    return g_uri_unescape_string(escaped->str, NULL);
}

/* The application id in the name of a systemd unit that a desktop has started, as desktops agreed:
 * app[-LAUNCHER]-ID-RANDOM.scope, app[-LAUNCHER]-ID@RANDOM.service or app[-LAUNCHER]-ID.service.
 * Returns NULL if the unit is not one of these. */
static char *
get_id_of_unit(const char *unit)
{
    const char *start = unit + strlen("app-");
    const char *end = strrchr(unit, '.');
    const char *dash;
    gboolean is_scope;

    if (!g_str_has_prefix(unit, "app-") || end == NULL)
        return NULL;
    is_scope = g_str_equal(end, ".scope");
    if (!is_scope && !g_str_equal(end, ".service"))
        return NULL;
    if (is_scope)
        end = g_strrstr_len(start, end - start, "-");
    else if (memchr(start, '@', (gsize)(end - start)) != NULL)
        end = memchr(start, '@', (gsize)(end - start));
    if (end == NULL)
        return NULL;
    dash = g_strrstr_len(start, end - start, "-");
    if (dash != NULL)
        start = dash + 1;
    return end > start ? unescape_unit(start, (gsize)(end - start)) : NULL;
}

char *
program_name_get_application_id(guint pid)
{
    g_autofree char *file = g_strdup_printf("/proc/%u/cgroup", pid);
    g_autofree char *text = NULL;
    g_auto(GStrv) parts = NULL;
    char *id = NULL;

    if (pid == 0 || !g_file_get_contents(file, &text, NULL, NULL))
        return NULL;
    parts = g_strsplit_set(text, "/\n", -1);
    for (guint i = g_strv_length(parts); i-- > 0 && id == NULL;)
        id = get_id_of_unit(parts[i]);
    return id;
}

/* Not by GDesktopAppInfo, which starts a thread. */
char *
program_name_of_application(const char *id)
{
    g_autoptr(GKeyFile) entry = g_key_file_new();
    g_autofree char *path = g_strconcat("applications/", id, ".desktop", NULL);

    if (strchr(id, '/') != NULL ||
        !g_key_file_load_from_data_dirs(entry, path, NULL, G_KEY_FILE_NONE, NULL))
        return NULL;
    return g_key_file_get_locale_string(entry, G_KEY_FILE_DESKTOP_GROUP,
                                        G_KEY_FILE_DESKTOP_KEY_NAME, NULL, NULL);
}

/* ---- commands */

/* Returns an owned file name without folders; NULL if it is empty. Names of files may have any
 * bytes. */
static char *
get_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;

    return *base != '\0' ? g_utf8_make_valid(base, -1) : NULL;
}

/* Whether this is the name of an interpreter, also with a version, as in python3.11. */
static gboolean
is_interpreter(const char *name)
{
    static const char *const names[] = {"bash", "dash",  "sh",     "zsh",     "ksh",  "fish",
                                        "gjs",  "node",  "python", "perl",    "ruby", "lua",
                                        "php",  "guile", "tclsh",  "Rscript", NULL};
    gsize length = strlen(name);
    g_autofree char *plain = NULL;

    while (length > 0 && (g_ascii_isdigit(name[length - 1]) || name[length - 1] == '.'))
        length--;
    plain = g_strndup(name, length);
    return g_strv_contains(names, plain) || g_str_equal(name, "gjs-console");
}

/* Whether the option is followed by code, so that there is no script. Many interpreters have -e for
 * that, and shells for something else. */
static gboolean
is_code(const char *name, const char *option)
{
    const gboolean is_shell = g_str_has_suffix(name, "sh");

    if (g_str_has_prefix(option, "--"))
        return g_str_equal(option, "--eval") || g_str_equal(option, "--print");
    return option[strlen(option) - 1] == 'c' ||
           (!is_shell && (g_str_equal(option, "-e") || g_str_equal(option, "-p")));
}

/* Whether the next word belongs to the option. */
static gboolean
has_value(const char *option)
{
    static const char *const options[] = {"-W", "-X", "-I", "-r", "--require", "--import", NULL};

    return g_strv_contains(options, option);
}

char *
program_name_of_script(const char *const *words)
{
    g_autofree char *name = words[0] != NULL ? get_base(words[0]) : NULL;

    if (name == NULL || !is_interpreter(name + (name[0] == '-'))) /* a login shell has a hyphen */
        return NULL;
    for (guint i = 1; words[i] != NULL; i++) {
        if (g_str_equal(words[i], "--") && words[i + 1] != NULL)
            i++;
        if (words[i][0] != '-')
            return get_base(words[i]);
        if (words[i][1] == '\0' || is_code(name, words[i]))
            return NULL; /* from standard input, or the command line */
        if (has_value(words[i]) && words[i + 1] != NULL)
            i++;
    }
    return NULL;
}

char *
program_name_of_words(const char *const *words)
{
    char *script = program_name_of_script(words);

    return script != NULL || words[0] == NULL ? script : get_base(words[0]);
}
