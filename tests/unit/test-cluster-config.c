/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* cluster-config: what a configuration file means, and the error message for each kind of mistake.
 * */

#include <glib/gstdio.h>

#include "common/cluster-config.h"

#define SERVERS "[Cluster]\nServers=a:1\n"
#define BUCKET  "[Bucket b]\n"
#define A64     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

typedef struct {
    char *path;
} Fixture;

static void
set_up(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    gint fd = g_file_open_tmp("cluster-XXXXXX.conf", &fixture->path, &error);

    g_assert_no_error(error);
    g_close(fd, &error);
    g_assert_no_error(error);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    g_unlink(fixture->path);
    g_free(fixture->path);
}

static ClusterConfig *
load(Fixture *fixture, const char *content, GError **error)
{
    g_autoptr(GError) write_error = NULL;

    g_file_set_contents(fixture->path, content, -1, &write_error);
    g_assert_no_error(write_error);
    return cluster_config_load(fixture->path, error);
}

static void
test_defaults(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ClusterConfig) config = load(fixture, SERVERS BUCKET, &error);
    const ClusterBucketConfig *bucket;

    g_assert_no_error(error);
    g_assert_cmpstr(config->servers, ==, "a:1");
    g_assert_cmpstr(config->root, ==, "/weblocks");
    g_assert_cmpuint(config->session_timeout_secs, ==, 15);
    g_assert_null(config->credential_file);
    g_assert_null(config->cluster_id);
    g_assert_cmpuint(config->buckets->len, ==, 1);
    g_assert_null(cluster_config_find(config, "c"));
    bucket = cluster_config_find(config, "b");
    g_assert_nonnull(bucket);
    g_assert_cmpstr(bucket->name, ==, "b");
    g_assert_cmpuint(bucket->turn_secs, ==, 10);
    g_assert_false(bucket->is_shared);
    g_assert_true(cluster_bucket_config_admits(bucket, 12345, NULL, 0));
}

static void
test_all_keys(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ClusterConfig) config =
        load(fixture,
             "# a comment\n[Cluster]\nServers=zk1.example.org:2181; [::1]:65535;\n"
             "Root=/site/locks\nSessionTimeout=40\nCredentialFile=/etc/weblocks/credential\n"
             "ClusterId=0123456789abcdef0123456789abcdef\n"
             "[Bucket a.b-c_9]\nUsers=root;nobody\nTurn=1\nShared=no\n"
             "[Bucket groups]\nGroups=root;\nShared=yes\nTurn=3600\n",
             &error);
    const guint32 groups[] = {5, 0};
    const ClusterBucketConfig *bucket;

    g_assert_no_error(error);
    g_assert_cmpstr(config->servers, ==, "zk1.example.org:2181,[::1]:65535");
    g_assert_cmpstr(config->root, ==, "/site/locks");
    g_assert_cmpuint(config->session_timeout_secs, ==, 40);
    g_assert_cmpstr(config->credential_file, ==, "/etc/weblocks/credential");
    g_assert_cmpstr(config->cluster_id, ==, "0123456789abcdef0123456789abcdef");
    g_assert_cmpuint(config->buckets->len, ==, 2);

    bucket = cluster_config_find(config, "a.b-c_9");
    g_assert_cmpuint(bucket->turn_secs, ==, 1);
    g_assert_false(bucket->is_shared);
    g_assert_true(cluster_bucket_config_admits(bucket, 0, NULL, 0));
    g_assert_true(cluster_bucket_config_admits(bucket, 65534, NULL, 0));
    g_assert_false(cluster_bucket_config_admits(bucket, 1000, NULL, 0));
    g_assert_false(cluster_bucket_config_admits(bucket, 1000, groups, 2));

    bucket = cluster_config_find(config, "groups");
    g_assert_cmpuint(bucket->turn_secs, ==, 3600);
    g_assert_true(bucket->is_shared);
    g_assert_false(cluster_bucket_config_admits(bucket, 0, NULL, 0));
    g_assert_true(cluster_bucket_config_admits(bucket, 1000, groups, 2));
    g_assert_false(cluster_bucket_config_admits(bucket, 1000, groups, 1));
}

typedef struct {
    const char *content;
    const char *message; /* of the error, after the file's name */
} Mistake;

static const Mistake mistakes[] = {
    {"", "[Cluster]: missing group"},
    {"Servers=a:1\n", "Key file does not start with a group"},
    {"[Cluster]\n" BUCKET, "[Cluster] Servers: missing; expected HOST:PORT;HOST:PORT..."},
    {"[Cluster]\nServers=\n" BUCKET, "[Cluster] Servers: the list is empty"},
    {"[Cluster]\nServers=a\n" BUCKET, "[Cluster] Servers: 'a' is not HOST:PORT"},
    {"[Cluster]\nServers=a:0\n" BUCKET, "[Cluster] Servers: 'a:0' is not HOST:PORT"},
    {"[Cluster]\nServers=a:65536\n" BUCKET, "[Cluster] Servers: 'a:65536' is not HOST:PORT"},
    {"[Cluster]\nServers=a:1,b:1\n" BUCKET, "[Cluster] Servers: 'a:1,b:1' is not HOST:PORT"},
    {"[Cluster]\nServers=a:1;;b:1\n" BUCKET, "[Cluster] Servers: '' is not HOST:PORT"},
    {SERVERS "servers=a:1\n" BUCKET, "[Cluster] servers: unknown key"},
    {SERVERS "Turn=5\n" BUCKET, "[Cluster] Turn: unknown key"},
    {SERVERS "SessionTimeout=9\n" BUCKET,
     "[Cluster] SessionTimeout: '9' is not a number of seconds from 10 to 40"},
    {SERVERS "SessionTimeout=41\n" BUCKET,
     "[Cluster] SessionTimeout: '41' is not a number of seconds from 10 to 40"},
    {SERVERS "SessionTimeout=99999999999999999999\n" BUCKET,
     "[Cluster] SessionTimeout: '99999999999999999999' is not a number of seconds from 10 to 40"},
    {SERVERS "Root=weblocks\n" BUCKET,
     "[Cluster] Root: 'weblocks' is not a path such as /weblocks"},
    {SERVERS "Root=/\n" BUCKET, "[Cluster] Root: '/' is not a path such as /weblocks"},
    {SERVERS "Root=/a//b\n" BUCKET, "[Cluster] Root: '/a//b' is not a path such as /weblocks"},
    {SERVERS "Root=/zookeeper\n" BUCKET,
     "[Cluster] Root: '/zookeeper' is not a path such as /weblocks"},
    {SERVERS "Root=/zookeeper/a\n" BUCKET,
     "[Cluster] Root: '/zookeeper/a' is not a path such as /weblocks"},
    {SERVERS "Root=/" A64 A64 A64 A64 "\n" BUCKET,
     "[Cluster] Root: '/" A64 A64 A64 A64 "' is not a path such as /weblocks"},
    {SERVERS "Root=/a/../b\n" BUCKET, "[Cluster] Root: '/a/../b' is not a path such as /weblocks"},
    {SERVERS "CredentialFile=secret\n" BUCKET,
     "[Cluster] CredentialFile: 'secret' is not an absolute path"},
    {SERVERS "ClusterId=0123456789abcdef0123456789abcde\n" BUCKET,
     "[Cluster] ClusterId: '0123456789abcdef0123456789abcde' is not 32 digits from 0 to f"},
    {SERVERS "ClusterId=0123456789abcdef0123456789abcdeF\n" BUCKET,
     "[Cluster] ClusterId: '0123456789abcdef0123456789abcdeF' is not 32 digits from 0 to f"},
    {SERVERS "ClusterId=\n" BUCKET, "[Cluster] ClusterId: '' is not 32 digits from 0 to f"},
    {SERVERS, "[Bucket NAME]: missing group: there is no bucket"},
    {SERVERS "[Bucket]\n", "[Bucket]: unknown group"},
    {SERVERS "[bucket b]\n", "[bucket b]: unknown group"},
    {SERVERS "[Bucket a/b]\n", "[Bucket a/b]: 'a/b' is not a bucket name of up to 64 letters, "
                               "digits, '-', '_' and '.', with a letter or digit first"},
    {SERVERS "[Bucket .]\n", "[Bucket .]: '.' is not a bucket name of up to 64 letters, "
                             "digits, '-', '_' and '.', with a letter or digit first"},
    {SERVERS BUCKET "Servers=a:1\n", "[Bucket b] Servers: unknown key"},
    {SERVERS BUCKET "Users=no-such-user\n", "[Bucket b] Users: there is no user 'no-such-user'"},
    {SERVERS BUCKET "Users=root;;\n", "[Bucket b] Users: there is no user ''"},
    {SERVERS BUCKET "Users=\n", "[Bucket b] Users: the list is empty"},
    {SERVERS BUCKET "Groups=no-such-group\n",
     "[Bucket b] Groups: there is no group 'no-such-group'"},
    {SERVERS BUCKET "Groups=\n", "[Bucket b] Groups: the list is empty"},
    {SERVERS BUCKET "Turn=0\n", "[Bucket b] Turn: '0' is not a number of seconds from 1 to 3600"},
    {SERVERS BUCKET "Turn=3601\n",
     "[Bucket b] Turn: '3601' is not a number of seconds from 1 to 3600"},
    {SERVERS BUCKET "Shared=true\n", "[Bucket b] Shared: 'true' is not 'yes' or 'no'"},
    {SERVERS BUCKET "Users=\xff\n", "[Bucket b] Users: Key"},
};

static void
test_mistakes(Fixture *fixture, gconstpointer data)
{
    for (guint i = 0; i < G_N_ELEMENTS(mistakes); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(ClusterConfig) config = load(fixture, mistakes[i].content, &error);
        g_autofree char *expected = g_strdup_printf("%s: %s", fixture->path, mistakes[i].message);

        g_assert_null(config);
        if (error == NULL || error->domain != G_KEY_FILE_ERROR ||
            !g_str_has_prefix(error->message, expected))
            g_error("%s: expected '%s', got '%s'", mistakes[i].content, expected,
                    error != NULL ? error->message : "no error");
    }
}

static void
test_no_file(Fixture *fixture, gconstpointer data)
{
    g_autofree char *path = g_strconcat(fixture->path, "-missing", NULL);
    g_autoptr(GError) error = NULL;

    g_assert_null(cluster_config_load(path, &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
    g_assert_true(g_str_has_prefix(error->message, path));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/cluster-config/defaults", Fixture, NULL, set_up, test_defaults, tear_down);
    g_test_add("/cluster-config/all-keys", Fixture, NULL, set_up, test_all_keys, tear_down);
    g_test_add("/cluster-config/mistakes", Fixture, NULL, set_up, test_mistakes, tear_down);
    g_test_add("/cluster-config/no-file", Fixture, NULL, set_up, test_no_file, tear_down);
    return g_test_run();
}
