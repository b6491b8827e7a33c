/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock as commonly made with Redis, every command awaited, on its unix socket, which is ADDRESS:
 * see load.h. WAY is
 *   del      SET NX PX, and DEL: the release assumes that the key is still the client's own;
 *   checked  SET NX PX, and a script that deletes the key only if its value is still the client's,
 *            which a release of a lock that can expire has to do. */

#include <string.h>

#include <hiredis/hiredis.h>

#include "load.h"

#define CHECKED_DEL                                  \
    "if redis.call('get', KEYS[1]) == ARGV[1] then " \
    "return redis.call('del', KEYS[1]) else return 0 end"

/* A command, encoded once. */
typedef struct {
    char *bytes;
    gsize length;
} Command;

typedef struct {
    redisContext *redis;
    Command request, release;
} Client;

static Command
command_new(int argc, const char **argv)
{
    Command command;
    long long length = redisFormatCommandArgv(&command.bytes, argc, argv, NULL);

    if (length < 0)
        bench_die("redis", "a command it can't say");
    command.length = (gsize)length;
    return command;
}

static redisReply *
run_command(redisContext *redis, const Command *command)
{
    void *reply = NULL;

    if (redisAppendFormattedCommand(redis, command->bytes, command->length) != REDIS_OK ||
        redisGetReply(redis, &reply) != REDIS_OK)
        bench_die("redis", redis->errstr);
    return reply;
}

static void
request(redisContext *redis, const Command *command)
{
    redisReply *reply = run_command(redis, command);

    if (reply->type != REDIS_REPLY_STATUS)
        bench_die("redis", "the lock is taken");
    freeReplyObject(reply);
}

static void
release(redisContext *redis, const Command *command)
{
    redisReply *reply = run_command(redis, command);

    if (reply->type != REDIS_REPLY_INTEGER || reply->integer != 1)
        bench_die("redis", "the lock was not one's own");
    freeReplyObject(reply);
}

static Command
release_command(redisContext *redis, gboolean is_checked)
{
    const char *load[] = {"SCRIPT", "LOAD", CHECKED_DEL};
    g_autofree char *sha = NULL;
    Command loading;
    redisReply *reply;

    if (!is_checked)
        return command_new(2, (const char *[]){"DEL", "printer"});
    loading = command_new(G_N_ELEMENTS(load), load);
    reply = run_command(redis, &loading);
    if (reply->type != REDIS_REPLY_STRING)
        bench_die("redis", "it does not take the script");
    sha = g_strndup(reply->str, reply->len);
    freeReplyObject(reply);
    redisFreeCommand(loading.bytes);
    return command_new(5, (const char *[]){"EVALSHA", sha, "1", "printer", "me"});
}

static gpointer
connect_to_redis(const Load *load, gboolean is_checked)
{
    const char *set[] = {"SET", "printer", "me", "NX", "PX", "30000"};
    Client *client = g_new0(Client, 1);

    client->redis = redisConnectUnix(load->address);
    if (client->redis == NULL || client->redis->err != 0)
        bench_die(load->address, client->redis == NULL ? "no memory" : client->redis->errstr);
    client->request = command_new(G_N_ELEMENTS(set), set);
    client->release = release_command(client->redis, is_checked);
    return client;
}

static gpointer
connect_del(const Load *load)
{
    return connect_to_redis(load, FALSE);
}

static gpointer
connect_checked(const Load *load)
{
    return connect_to_redis(load, TRUE);
}

static void
pair(gpointer data)
{
    const Client *client = data;

    request(client->redis, &client->request);
    release(client->redis, &client->release);
}

int
main(int argc, char **argv)
{
    static const LoadWay ways[] = {
        {"del", connect_del, pair, .n_warm_up = 200},
        {"checked", connect_checked, pair, .n_warm_up = 200},
    };

    return load_main(argc, argv, ways, G_N_ELEMENTS(ways));
}
