/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock as commonly made with Redis, every command awaited, on its unix socket.
 *
 *     bench-redis SOCKET WAY COUNT
 *
 * WAY is
 *   del      SET NX PX, and DEL: the release assumes that the key is still the client's own;
 *   checked  SET NX PX, and a script that deletes the key only if its value is still the client's,
 *            which a release of a lock that can expire has to do. */

#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "bench.h"

#define WARM_UP 200
#define CHECKED_DEL                                  \
    "if redis.call('get', KEYS[1]) == ARGV[1] then " \
    "return redis.call('del', KEYS[1]) else return 0 end"

/* A command, encoded once. */
typedef struct {
    char *bytes;
    gsize length;
} Command;

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
release_command(redisContext *redis, const char *way)
{
    const char *load[] = {"SCRIPT", "LOAD", CHECKED_DEL};
    g_autofree char *sha = NULL;
    Command loading;
    redisReply *reply;

    if (g_str_equal(way, "del"))
        return command_new(2, (const char *[]){"DEL", "printer"});
    if (!g_str_equal(way, "checked"))
        bench_die(way, "neither del nor checked");
    loading = command_new(G_N_ELEMENTS(load), load);
    reply = run_command(redis, &loading);
    if (reply->type != REDIS_REPLY_STRING)
        bench_die("redis", "it does not take the script");
    sha = g_strndup(reply->str, reply->len);
    freeReplyObject(reply);
    redisFreeCommand(loading.bytes);
    return command_new(5, (const char *[]){"EVALSHA", sha, "1", "printer", "me"});
}

int
main(int argc, char **argv)
{
    const char *set[] = {"SET", "printer", "me", "NX", "PX", "30000"};
    BenchSamples *samples;
    Command to_request, to_release;
    redisContext *redis;
    guint count;

    bench_check_usage(argc == 4, "SOCKET del|checked COUNT");
    count = bench_number(argv[3]);
    samples = bench_samples_new_shared(count);
    redis = redisConnectUnix(argv[1]);
    if (redis == NULL || redis->err != 0)
        bench_die(argv[1], redis == NULL ? "no memory" : redis->errstr);
    to_request = command_new(G_N_ELEMENTS(set), set);
    to_release = release_command(redis, argv[2]);
    for (guint i = 0; i < WARM_UP + count; i++) {
        guint64 begin = bench_now();

        request(redis, &to_request);
        release(redis, &to_release);
        if (i >= WARM_UP)
            bench_samples_add(samples, begin, bench_now());
    }
    redisFreeCommand(to_request.bytes);
    redisFreeCommand(to_release.bytes);
    redisFree(redis);
    bench_samples_print(samples, "");
    return EXIT_SUCCESS;
}
