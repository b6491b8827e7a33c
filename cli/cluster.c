/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks cluster status`: shows this host's connection to the cluster, which is a property of
 * the service on the system bus. The metrics are what its gateway counts; their names end with
 * `_total` if they only rise. */

#include <gio/gio.h>
#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/target.h"
#include "cli/text.h"
#include "common/bus-names.h"

/* Reading the property makes the service connect: how often it is read, and how long that takes. */
#define N_ATTEMPTS  20
#define INTERVAL_MS 100

typedef struct {
    GVariant *dict;
    const char *state;
    const char *reason; /* "" if there is none, or the service is too old to send it */
    guint32 lease_left_ms;
    const char *server;
    const char *id; /* "": not known yet, or the service is too old to send it */
    const char **hosts;
    const char **buckets;
    const char **metrics; /* each NAME VALUE; empty: the gateway has not answered; NULL: the
                             service is too old to send them */
} Info;

static void
info_clear(Info *info)
{
    g_clear_pointer(&info->hosts, g_free);
    g_clear_pointer(&info->buckets, g_free);
    g_clear_pointer(&info->metrics, g_free);
    g_clear_pointer(&info->dict, g_variant_unref);
}

/* Takes `dict`. Returns FALSE if it is none, or a key is missing. */
static gboolean
info_init(Info *info, GVariant *dict)
{
    *info = (Info){.dict = dict, .reason = "", .id = ""};
    if (!g_variant_is_of_type(dict, G_VARIANT_TYPE_VARDICT))
        return FALSE;
    g_variant_lookup(dict, "reason", "&s", &info->reason);
    g_variant_lookup(dict, "id", "&s", &info->id);
    g_variant_lookup(dict, "metrics", "^a&s", &info->metrics);
    return g_variant_lookup(dict, "state", "&s", &info->state) &&
           g_variant_lookup(dict, "leaseLeft", "u", &info->lease_left_ms) &&
           g_variant_lookup(dict, "server", "&s", &info->server) &&
           g_variant_lookup(dict, "hosts", "^a&s", &info->hosts) &&
           g_variant_lookup(dict, "buckets", "^a&s", &info->buckets);
}

/* Whether the gateway has answered: otherwise the server, the id, the hosts and the metrics are not
 * known. */
static gboolean
is_answered(const Info *info)
{
    return info->metrics == NULL || info->metrics[0] != NULL;
}

/* Returns the property, or NULL and an error. */
static GVariant *
read_property(GDBusConnection *bus, GError **error)
{
    GVariant *value;
    g_autoptr(GVariant) reply = g_dbus_connection_call_sync(
        bus, BUS_SERVICE_NAME, BUS_SERVICE_PATH, BUS_PROPERTIES_INTERFACE, "Get",
        g_variant_new("(ss)", BUS_SERVICE_INTERFACE, "Cluster"), G_VARIANT_TYPE("(v)"),
        G_DBUS_CALL_FLAGS_NONE, -1, NULL, error);

    if (reply == NULL) {
        g_dbus_error_strip_remote_error(*error);
        return NULL;
    }
    g_variant_get(reply, "(v)", &value);
    return value;
}

static gboolean
is_connecting(const Info *info)
{
    return info->buckets[0] != NULL &&
           (g_str_equal(info->state, "off") || g_str_equal(info->state, "connecting"));
}

/* Reads the property until there is a connection, for up to two seconds. */
static gboolean
read_info(GDBusConnection *bus, Info *info, GError **error)
{
    for (guint i = 1;; i++) {
        GVariant *dict = read_property(bus, error);

        if (dict == NULL)
            return FALSE;
        if (!info_init(info, dict)) {
            info_clear(info);
            g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, _("invalid reply"));
            return FALSE;
        }
        if (!is_connecting(info) || i == N_ATTEMPTS)
            return TRUE;
        info_clear(info);
        g_usleep(INTERVAL_MS * 1000UL);
    }
}

/* ---- output */

/* Returns what a state means, where its name does not explain it; otherwise NULL. */
static const char *
explain_state(const Info *info)
{
    if (info->buckets[0] == NULL)
        return _("this host is not configured for a cluster");
    if (g_str_equal(info->state, "off"))
        return _("weblocks-clusterd is not running or does not answer; see its log");
    if (g_str_equal(info->state, "connecting"))
        return _("requests wait");
    if (g_str_equal(info->state, "suspect"))
        return _("when the lease ends, held locks are lost");
    if (g_str_equal(info->state, "lost"))
        return _("locks that this host held are lost");
    return NULL;
}

/* Returns a sentence; "" if there is no reason. */
static const char *
explain_reason(const char *reason)
{
    static const struct {
        const char *reason;
        const char *text;
    } reasons[] = {
        {"unreachable", N_("not enough of the servers can be reached")},
        {"not-renewed", N_("the servers did not confirm the lease in time: they were too slow, or "
                           "this host did not run")},
        {"service", N_("weblocksd did not answer weblocks-clusterd in time")},
        {"expired", N_("the servers have ended the session of this host")},
        {"denied", N_("the servers deny access: the credential is not that of the other hosts")},
        {"other-data", N_("the servers have other data than those that this host has used before; "
                          "see weblocks-clusterd(8)")},
        {"older-data", N_("the servers have older data than those that this host has used before; "
                          "see weblocks-clusterd(8)")},
        {"other-format",
         N_("the data on the servers are not of the format of this version of weblocks-clusterd; "
            "see weblocks-clusterd(8)")},
        {"other-cluster",
         N_("the servers' data are not those of ClusterId=: compare Servers= and Root= with those "
            "of the other hosts")},
        {"long-ticks", N_("the servers' tickTime must be 2000 or less")},
        {"other-settings", N_("a bucket has other settings than on this host; see the log of "
                              "weblocks-clusterd")},
        {"short-sessions",
         N_("the servers only allow sessions that are too short: raise maxSessionTimeout there")},
        {"storage", N_("weblocks-clusterd can't write its state directory")},
        {"addresses", N_("the names of the servers can't be looked up")},
    };

    if (*reason == '\0')
        return "";
    for (guint i = 0; i < G_N_ELEMENTS(reasons); i++)
        if (g_str_equal(reason, reasons[i].reason))
            return _(reasons[i].text);
    return _("something unexpected: see the log of weblocks-clusterd");
}

static void
print_text(const Info *info)
{
    const char *meaning = explain_state(info);
    g_autofree char *state =
        meaning != NULL ? g_strdup_printf("%s (%s)", info->state, meaning) : g_strdup(info->state);
    g_autofree char *lease = g_strdup_printf(_("%.1f s"), info->lease_left_ms / 1000.0);
    g_autofree char *hosts = g_strjoinv(" ", (char **)info->hosts);
    g_autofree char *buckets = g_strjoinv(" ", (char **)info->buckets);
    const char *unknown =
        g_str_equal(info->state, "off") || is_answered(info) ? NULL : _("no answer");
    const struct {
        const char *label;
        const char *text;
    } lines[] = {
        {_("state:"), state},
        {_("reason:"), explain_reason(info->reason)},
        {_("lease left:"), info->lease_left_ms > 0 ? lease : ""},
        {_("server:"), unknown != NULL ? unknown : info->server},
        {_("cluster id:"), unknown != NULL ? unknown : info->id},
        {_("hosts:"), unknown != NULL ? unknown : hosts},
        {_("buckets:"), buckets},
    };
    guint width = 0;

    for (guint i = 0; i < G_N_ELEMENTS(lines); i++)
        width = MAX(width, text_width(lines[i].label));
    for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_autofree char *safe = text_for_terminal(lines[i].text);

        printf("%s%*s %s\n", lines[i].label, (int)(width - text_width(lines[i].label)), "",
               *safe != '\0' ? safe : "-");
    }
}

static void
print_json(const Info *info)
{
    Json json;

    json_init(&json);
    json_open(&json, NULL, '{');
    json_string(&json, "state", info->state);
    json_string(&json, "reason", info->reason);
    json_number(&json, "leaseLeft", info->lease_left_ms);
    json_string(&json, "server", info->server);
    json_string(&json, "id", info->id);
    json_strings(&json, "hosts", info->hosts);
    json_strings(&json, "buckets", info->buckets);
    json_open(&json, "metrics", '{');
    for (guint i = 0; info->metrics != NULL && info->metrics[i] != NULL; i++) {
        g_auto(GStrv) words = g_strsplit(info->metrics[i], " ", 2);

        json_real(&json, words[0], words[1] != NULL ? g_ascii_strtod(words[1], NULL) : 0);
    }
    json_close(&json, '}');
    json_close(&json, '}');
    json_print(&json);
}

static void
add_metric(GString *text, const char *metric)
{
    g_string_append_printf(text, "# TYPE weblocks_cluster_%.*s %s\nweblocks_cluster_%s\n",
                           (int)strcspn(metric, " "), metric,
                           strstr(metric, "_total ") != NULL ? "counter" : "gauge", metric);
}

/* Writes the metrics as the textfile collector of Prometheus's node exporter reads them, which may
 * be at any time. */
static int
write_metrics(const Info *info, const char *path)
{
    g_autofree char *active =
        g_strdup_printf("active %d", g_str_equal(info->state, "active") ? 1 : 0);
    g_autofree char *lease = g_strdup_printf(
        "lease_left_seconds %u.%03u", info->lease_left_ms / 1000, info->lease_left_ms % 1000);
    g_autofree char *hosts = g_strdup_printf("hosts %u", g_strv_length((char **)info->hosts));
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GError) error = NULL;

    add_metric(text, active);
    add_metric(text, lease);
    if (is_answered(info))
        add_metric(text, hosts);
    for (guint i = 0; info->metrics != NULL && info->metrics[i] != NULL; i++)
        add_metric(text, info->metrics[i]);
    if (g_file_set_contents_full(path, text->str, (gssize)text->len, G_FILE_SET_CONTENTS_CONSISTENT,
                                 0644, &error))
        return STATUS_OK;
    complain("%s", error->message);
    return STATUS_OUTPUT;
}

/* ---- */

static int
show_status(gboolean is_json, const char *metrics_path)
{
    int status = STATUS_OK;
    const Target target = {.system = TRUE};
    g_autoptr(GError) error = NULL;
    g_autoptr(GDBusConnection) bus = g_bus_get_sync(G_BUS_TYPE_SYSTEM, NULL, &error);
    Info info;

    if (bus == NULL) {
        target_explain(&target, error);
        complain("%s", error->message);
        return STATUS_UNAVAILABLE;
    }
    if (!read_info(bus, &info, &error)) {
        complain(_("cannot read the status of the cluster: %s"), error->message);
        return STATUS_UNAVAILABLE;
    }
    if (metrics_path != NULL)
        status = write_metrics(&info, metrics_path);
    else if (is_json)
        print_json(&info);
    else
        print_text(&info);
    info_clear(&info);
    return status;
}

int
command_cluster(const Command *command, int argc, char **argv)
{
    gboolean is_json = FALSE;
    const char *metrics_path = NULL;
    const Option options[] = {
        {"json", 'j', NULL, N_("Print JSON"), option_set, &is_json},
        {"metrics", 0, "FILE", N_("Write metrics for Prometheus to this file instead"), option_text,
         &metrics_path},
        {NULL},
    };
    int status;

    if (!options_parse(command, options, &argc, &argv, &status))
        return status;
    if (argc > 0 && !g_str_equal(argv[0], "status"))
        return options_complain(command, _("unexpected argument '%s'"), argv[0]);
    if (argc > 1)
        return options_complain(command, _("unexpected argument '%s'"), argv[1]);
    return show_status(is_json, metrics_path);
}
