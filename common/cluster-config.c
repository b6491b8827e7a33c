/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cluster-config.h"

#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "cluster-packet.h"

#define GROUP_CLUSTER "Cluster"
#define GROUP_BUCKET  "Bucket "

#define KEY_SERVERS         "Servers"
#define KEY_ROOT            "Root"
#define KEY_SESSION_TIMEOUT "SessionTimeout"
#define KEY_CREDENTIAL_FILE "CredentialFile"
#define KEY_CLUSTER_ID      "ClusterId"
#define KEY_USERS           "Users"
#define KEY_GROUPS          "Groups"
#define KEY_SHARED          "Shared"
#define KEY_TURN            "Turn"

#define ROOT_DEFAULT   "/weblocks"
#define ROOT_BYTES_MAX 255
#define ID_DIGITS      32

/* The lower limit of the time-out is the time in which holders can be notified before another host
 * is granted a lock; the upper one is what ZooKeeper accepts with its default tick of 2 s. */
#define SESSION_TIMEOUT_MIN     10
#define SESSION_TIMEOUT_MAX     40
#define SESSION_TIMEOUT_DEFAULT 15
#define TURN_MIN                1
#define TURN_MAX                3600
#define TURN_DEFAULT            10

static const char *const cluster_keys[] = {KEY_SERVERS,         KEY_ROOT,       KEY_SESSION_TIMEOUT,
                                           KEY_CREDENTIAL_FILE, KEY_CLUSTER_ID, NULL};
static const char *const bucket_keys[] = {KEY_USERS, KEY_GROUPS, KEY_SHARED, KEY_TURN, NULL};

typedef struct {
    const char *path;
    GKeyFile *file;
    const char *group; /* the one that is being read */
    GError **error;
} Reader;

static gboolean fail(const Reader *reader, const char *key, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* Sets the error. `key` may be NULL. Returns FALSE. */
static gboolean
fail(const Reader *reader, const char *key, const char *format, ...)
{
    g_autofree char *reason = NULL;
    va_list arguments;

    va_start(arguments, format);
    reason = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(reader->error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_INVALID_VALUE, "%s: [%s]%s%s: %s",
                reader->path, reader->group, key != NULL ? " " : "", key != NULL ? key : "",
                reason);
    return FALSE;
}

static gboolean
has_key(const Reader *reader, const char *key)
{
    return g_key_file_has_key(reader->file, reader->group, key, NULL);
}

static gboolean
check_keys(const Reader *reader, const char *const *known)
{
    g_auto(GStrv) keys = g_key_file_get_keys(reader->file, reader->group, NULL, NULL);

    for (guint i = 0; keys != NULL && keys[i] != NULL; i++)
        if (!g_strv_contains(known, keys[i]))
            return fail(reader, keys[i], "unknown key");
    return TRUE;
}

/* Returns the value, owned; NULL with an error if it is not valid text. */
static char *
read_text(const Reader *reader, const char *key)
{
    g_autoptr(GError) error = NULL;
    char *value = g_key_file_get_string(reader->file, reader->group, key, &error);

    if (value == NULL)
        fail(reader, key, "%s", error->message);
    return value;
}

/* Returns the items, owned, and at least one; otherwise NULL with an error. */
static char **
read_list(const Reader *reader, const char *key)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) items =
        g_key_file_get_string_list(reader->file, reader->group, key, NULL, &error);

    if (items == NULL) {
        fail(reader, key, "%s", error->message);
        return NULL;
    }
    if (items[0] == NULL) {
        fail(reader, key, "the list is empty");
        return NULL;
    }
    for (guint i = 0; items[i] != NULL; i++)
        g_strstrip(items[i]);
    return g_steal_pointer(&items);
}

static gboolean
read_number(const Reader *reader, const char *key, guint min, guint max, guint *value)
{
    g_autofree char *text = NULL;
    guint64 number;

    if (!has_key(reader, key))
        return TRUE;
    text = read_text(reader, key);
    if (text == NULL)
        return FALSE;
    if (!g_ascii_string_to_unsigned(text, 10, min, max, &number, NULL))
        return fail(reader, key, "'%s' is not a number of seconds from %u to %u", text, min, max);
    *value = (guint)number;
    return TRUE;
}

/* Reads a text, if the key is there; `what` it has to be is for the error. */
static gboolean
read_valid(const Reader *reader,
           const char *key,
           gboolean (*is_valid)(const char *text),
           const char *what,
           char **value)
{
    g_autofree char *text = NULL;

    if (!has_key(reader, key))
        return TRUE;
    text = read_text(reader, key);
    if (text == NULL)
        return FALSE;
    if (!is_valid(text))
        return fail(reader, key, "'%s' is not %s", text, what);
    g_free(*value);
    *value = g_steal_pointer(&text);
    return TRUE;
}

/* ---- [Cluster] */

static gboolean
is_server(const char *server)
{
    const char *colon = strrchr(server, ':');

    return colon != NULL && colon > server && strpbrk(server, " \t,/") == NULL &&
           g_ascii_string_to_unsigned(colon + 1, 10, 1, G_MAXUINT16, NULL, NULL);
}

static gboolean
read_servers(const Reader *reader, ClusterConfig *config)
{
    g_auto(GStrv) servers = NULL;

    if (!has_key(reader, KEY_SERVERS))
        return fail(reader, KEY_SERVERS, "missing; expected HOST:PORT;HOST:PORT...");
    servers = read_list(reader, KEY_SERVERS);
    if (servers == NULL)
        return FALSE;
    for (guint i = 0; servers[i] != NULL; i++)
        if (!is_server(servers[i]))
            return fail(reader, KEY_SERVERS, "'%s' is not HOST:PORT", servers[i]);
    config->servers = g_strjoinv(",", servers);
    return TRUE;
}

/* A path of ZooKeeper, which has "/zookeeper" for itself. */
static gboolean
is_root(const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);

    if (path[0] != '/' || path[1] == '\0' || strlen(path) > ROOT_BYTES_MAX)
        return FALSE;
    for (guint i = 1; parts[i] != NULL; i++)
        if (parts[i][0] == '\0' || g_str_equal(parts[i], ".") || g_str_equal(parts[i], "..") ||
            strpbrk(parts[i], " \t") != NULL)
            return FALSE;
    return g_str_is_ascii(path) && !g_str_equal(path, "/zookeeper") &&
           !g_str_has_prefix(path, "/zookeeper/");
}

static gboolean
is_cluster_id(const char *text)
{
    return strlen(text) == ID_DIGITS && strspn(text, "0123456789abcdef") == ID_DIGITS;
}

static gboolean
read_cluster(Reader *reader, ClusterConfig *config)
{
    reader->group = GROUP_CLUSTER;
    if (!g_key_file_has_group(reader->file, GROUP_CLUSTER))
        return fail(reader, NULL, "missing group");
    config->root = g_strdup(ROOT_DEFAULT);
    config->session_timeout_secs = SESSION_TIMEOUT_DEFAULT;
    return check_keys(reader, cluster_keys) && read_servers(reader, config) &&
           read_valid(reader, KEY_ROOT, is_root, "a path such as " ROOT_DEFAULT, &config->root) &&
           read_number(reader, KEY_SESSION_TIMEOUT, SESSION_TIMEOUT_MIN, SESSION_TIMEOUT_MAX,
                       &config->session_timeout_secs) &&
           read_valid(reader, KEY_CREDENTIAL_FILE, g_path_is_absolute, "an absolute path",
                      &config->credential_file) &&
           read_valid(reader, KEY_CLUSTER_ID, is_cluster_id,
                      G_STRINGIFY(ID_DIGITS) " digits from 0 to f", &config->cluster_id);
}

/* ---- [Bucket NAME] */

static gboolean
find_user(const char *name, guint32 *out_id)
{
    const struct passwd *user = getpwnam(name);

    *out_id = user != NULL ? user->pw_uid : 0;
    return user != NULL;
}

static gboolean
find_group(const char *name, guint32 *out_id)
{
    const struct group *group = getgrnam(name);

    *out_id = group != NULL ? group->gr_gid : 0;
    return group != NULL;
}

static gboolean
read_ids(const Reader *reader,
         const char *key,
         const char *what,
         gboolean (*find)(const char *name, guint32 *out_id),
         GArray *ids)
{
    g_auto(GStrv) names = NULL;

    if (!has_key(reader, key))
        return TRUE;
    names = read_list(reader, key);
    if (names == NULL)
        return FALSE;
    for (guint i = 0; names[i] != NULL; i++) {
        guint32 id;

        if (!find(names[i], &id))
            return fail(reader, key, "there is no %s '%s'", what, names[i]);
        g_array_append_val(ids, id);
    }
    return TRUE;
}

/* The name is also a component of a path of ZooKeeper. */
static gboolean
is_bucket_name(const char *name)
{
    const gsize length = strlen(name);

    return length <= CLUSTER_BUCKET_BYTES_MAX && g_ascii_isalnum(name[0]) &&
           strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_.") == length;
}

static void
bucket_free(gpointer data)
{
    ClusterBucketConfig *bucket = data;

    g_array_unref(bucket->uids);
    g_array_unref(bucket->gids);
    g_free(bucket->name);
    g_free(bucket);
}

static gboolean
is_yes_or_no(const char *text)
{
    return g_str_equal(text, "yes") || g_str_equal(text, "no");
}

static gboolean
read_bucket(const Reader *reader, ClusterConfig *config)
{
    const char *name = reader->group + strlen(GROUP_BUCKET);
    g_autofree char *shared = NULL;
    ClusterBucketConfig *bucket;

    if (!is_bucket_name(name))
        return fail(reader, NULL,
                    "'%s' is not a bucket name of up to %u letters, digits, '-', '_' and '.', "
                    "with a letter or digit first",
                    name, CLUSTER_BUCKET_BYTES_MAX);
    bucket = g_new0(ClusterBucketConfig, 1);
    bucket->name = g_strdup(name);
    bucket->uids = g_array_new(FALSE, FALSE, sizeof(guint32));
    bucket->gids = g_array_new(FALSE, FALSE, sizeof(guint32));
    bucket->is_for_all = !has_key(reader, KEY_USERS) && !has_key(reader, KEY_GROUPS);
    bucket->turn_secs = TURN_DEFAULT;
    g_ptr_array_add(config->buckets, bucket);
    if (!check_keys(reader, bucket_keys) ||
        !read_ids(reader, KEY_USERS, "user", find_user, bucket->uids) ||
        !read_ids(reader, KEY_GROUPS, "group", find_group, bucket->gids) ||
        !read_valid(reader, KEY_SHARED, is_yes_or_no, "'yes' or 'no'", &shared) ||
        !read_number(reader, KEY_TURN, TURN_MIN, TURN_MAX, &bucket->turn_secs))
        return FALSE;
    bucket->is_shared = g_strcmp0(shared, "yes") == 0;
    return TRUE;
}

static gboolean
read_buckets(Reader *reader, ClusterConfig *config)
{
    g_auto(GStrv) groups = g_key_file_get_groups(reader->file, NULL);

    for (guint i = 0; groups[i] != NULL; i++) {
        if (g_str_equal(groups[i], GROUP_CLUSTER))
            continue;
        reader->group = groups[i];
        if (!g_str_has_prefix(groups[i], GROUP_BUCKET))
            return fail(reader, NULL, "unknown group");
        if (!read_bucket(reader, config))
            return FALSE;
    }
    reader->group = GROUP_BUCKET "NAME";
    return config->buckets->len > 0 || fail(reader, NULL, "missing group: there is no bucket");
}

/* ---- */

static gboolean
load_file(GKeyFile *file, const char *path, GError **error)
{
    g_autoptr(GError) reason = NULL;

    if (g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, &reason))
        return TRUE;
    g_set_error(error, reason->domain, reason->code, "%s: %s", path, reason->message);
    return FALSE;
}

ClusterConfig *
cluster_config_load(const char *path, GError **error)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    ClusterConfig *config = g_new0(ClusterConfig, 1);
    Reader reader = {.path = path, .file = file, .error = error};

    config->buckets = g_ptr_array_new_with_free_func(bucket_free);
    if (!load_file(file, path, error) || !read_cluster(&reader, config) ||
        !read_buckets(&reader, config)) {
        cluster_config_free(config);
        return NULL;
    }
    return config;
}

void
cluster_config_free(ClusterConfig *config)
{
    if (config == NULL)
        return;
    g_ptr_array_unref(config->buckets);
    g_free(config->servers);
    g_free(config->root);
    g_free(config->credential_file);
    g_free(config->cluster_id);
    g_free(config);
}

const ClusterBucketConfig *
cluster_config_find(const ClusterConfig *config, const char *name)
{
    for (guint i = 0; i < config->buckets->len; i++) {
        const ClusterBucketConfig *bucket = config->buckets->pdata[i];

        if (g_str_equal(bucket->name, name))
            return bucket;
    }
    return NULL;
}

static gboolean
contains(const GArray *ids, guint32 id)
{
    for (guint i = 0; i < ids->len; i++)
        if (g_array_index(ids, guint32, i) == id)
            return TRUE;
    return FALSE;
}

gboolean
cluster_bucket_config_admits(const ClusterBucketConfig *bucket,
                             guint32 uid,
                             const guint32 *gids,
                             gsize n_gids)
{
    if (bucket->is_for_all || contains(bucket->uids, uid))
        return TRUE;
    for (gsize i = 0; i < n_gids; i++)
        if (contains(bucket->gids, gids[i]))
            return TRUE;
    return FALSE;
}
