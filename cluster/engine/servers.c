/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "servers.h"

#include <netdb.h>
#include <string.h>

/* Splits "host:port" or "[address]:port" in place. */
static gboolean
split_server(char *server, char **host, char **port)
{
    char *colon = strrchr(server, ':');
    gsize size;

    if (colon == NULL || colon == server || !g_ascii_isdigit(colon[1]))
        return FALSE;
    *colon = '\0';
    *host = server;
    *port = colon + 1;
    size = strlen(server);
    if (server[0] == '[' && server[size - 1] == ']') {
        server[size - 1] = '\0';
        *host = server + 1;
    }
    return **host != '\0' && strpbrk(*host, "/[]") == NULL &&
           g_ascii_string_to_unsigned(*port, 10, 1, 65535, NULL, NULL);
}

/* Appends "address:port" for each address of the host. Returns 0 or an error of getaddrinfo(). */
static int
look_up(const char *host, const char *port, GString *found)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int r = getaddrinfo(host, port, &hints, &list);

    if (r != 0)
        return r;
    for (const struct addrinfo *each = list; each != NULL; each = each->ai_next) {
        char address[NI_MAXHOST];

        if (getnameinfo(each->ai_addr, each->ai_addrlen, address, sizeof(address), NULL, 0,
                        NI_NUMERICHOST) == 0)
            g_string_append_printf(found, "%s%s:%s", found->len > 0 ? "," : "", address, port);
    }
    freeaddrinfo(list);
    return 0;
}

/* After a failure, version 3.8 of the client goes two addresses on: of an even number, it would try
 * only every second one, and indefinitely so. */
static void
make_odd(GString *found)
{
    gsize n = 1;

    for (const char *comma = found->str; (comma = strchr(comma, ',')) != NULL; comma++)
        n++;
    if (n % 2 == 0) {
        g_autofree char *first = g_strndup(found->str, strcspn(found->str, ","));

        g_string_append_printf(found, ",%s", first);
    }
}

char *
engine_servers_look_up(const char *servers, GError **error)
{
    g_auto(GStrv) list = g_strsplit(servers, ",", -1);
    g_autoptr(GString) found = g_string_new(NULL);
    int r = EAI_NONAME;

    for (char **each = list; *each != NULL; each++) {
        g_autofree char *server = g_strdup(g_strstrip(*each));
        char *host, *port;
        int r_one;

        if (!split_server(server, &host, &port)) {
            g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "'%s' is not a server's HOST:PORT",
                        *each);
            return NULL;
        }
        r_one = look_up(host, port, found);
        if (r_one != 0) {
            g_debug("could not look up '%s': %s", host, gai_strerror(r_one));
            r = r_one;
        }
    }
    if (found->len == 0) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "could not look up any of '%s': %s",
                    servers, gai_strerror(r));
        return NULL;
    }
    make_odd(found);
    return g_string_free(g_steal_pointer(&found), FALSE);
}
