/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "status.h"

#include <string.h>

#define HOSTS_BYTES_MAX (CLUSTER_PACKET_BYTES_MAX - 2048) /* of their names */

typedef struct {
    Session *session;
    ServiceSocket *service;
    guint64 serial;
} Status;

/* Returns lines, owned. */
static char *
get_metrics(const Session *session)
{
    static const char *const names[N_METRICS] = {
        [METRIC_GRANTS] = "grants_total",
        [METRIC_GRANT_SECONDS] = "grant_seconds_total",
        [METRIC_HAND_OVERS] = "hand_overs_total",
        [METRIC_HAND_OVER_SECONDS] = "hand_over_seconds_total",
        [METRIC_REFUSED_GRANTS] = "refused_grants_total",
        [METRIC_RECONNECTS] = "reconnects_total",
        [METRIC_SESSIONS_LOST] = "sessions_lost_total",
        [METRIC_LEAST_LEASE_LEFT] = "least_lease_left_seconds",
        [METRIC_HIGHEST_TOKEN] = "highest_token",
    };
    const double *values = session->metrics;
    GString *text = g_string_new(NULL);
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    for (guint i = 0; i < N_METRICS; i++)
        g_string_append_printf(text, "%s %s\n", names[i],
                               g_ascii_dtostr(digits, sizeof digits, values[i]));
    return g_string_free(text, FALSE);
}

/* Returns the names of hosts, one a line, owned. */
static char *
get_hosts(const char *const *nodes)
{
    GString *text = g_string_new(NULL);

    for (; *nodes != NULL; nodes++) {
        g_autofree char *host = NULL;
        guint64 session;

        if (!engine_path_parse_host(*nodes, &host, &session) || !engine_path_is_component(host) ||
            text->len + strlen(host) + 1 > HOSTS_BYTES_MAX)
            continue;
        g_string_append(text, host);
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}

/* `nodes` are those of the hosts; NULL: not known. */
static void
send_status(const Status *status, const char *const *nodes)
{
    const Engine *engine = session_get_engine(status->session);
    const char *server = engine != NULL ? engine_get_server(engine) : NULL;
    const char *id = seen_get_instance(status->session->options->seen);
    g_autofree char *hosts = nodes != NULL ? get_hosts(nodes) : g_strdup("");
    g_autofree char *metrics = get_metrics(status->session);

    service_socket_send(status->service, CLUSTER_PACKET_STATUS, status->serial,
                        server != NULL ? server : "", hosts, id != NULL ? id : "", metrics);
}

static void
on_hosts(const EngineAnswer *answer, gpointer data)
{
    g_autofree Status *status = data;

    send_status(status, answer->result == ENGINE_OK ? answer->children : NULL);
}

void
status_send(Session *session, ServiceSocket *service, guint64 serial)
{
    const Status status = {session, service, serial};
    Engine *engine = session_get_engine(session);

    if (engine != NULL)
        engine_list_hosts(engine, on_hosts, g_memdup2(&status, sizeof status));
    else
        send_status(&status, NULL);
}
