// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The experiment acquire(): a lock without a callback, until its release() or the end of a block.

import {AbortController, Lock, locks} from '../../client-lib/gjs/weblocks.js';
import {hasFinalization, print, scriptCommand, startProcess} from './host.js';
import {assert, run, test, waitFor} from './testing.js';

const ASYNC_DISPOSE = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');

const isFree = name => locks.request(name, {ifAvailable: true}, lock => lock !== null);

// A lock that ends with the test, if not before.
async function acquire(t, name, options = undefined) {
    const lock = await locks.acquire(name, options);
    t.cleanup(() => lock?.release().catch(() => {}));
    return lock;
}

test('a lock is held until release(), or Symbol.asyncDispose', async t => {
    const name = t.name();
    const lock = await acquire(t, name);
    assert.instance(lock, Lock);
    assert.equal([lock.name, lock.mode, lock.token > 0, lock.wanted, lock.lost.aborted],
        [name, 'exclusive', true, false, false]);
    assert.equal(await isFree(name), false, 'free while held');
    assert.equal(await lock.release(), undefined);
    assert.equal(await isFree(name), true, 'free afterwards');
    await locks.request(name, async () => {
        await lock.release();
        assert.equal(await isFree(name), false, "a second release() ends another one's lock");
    });
    const disposed = await acquire(t, name);
    assert.equal(await disposed[ASYNC_DISPOSE](), undefined);
    assert.equal(await isFree(name), true);
});

test('the lock of a callback has no release()', async t => {
    await locks.request(t.name(), lock => assert.equal(['release' in lock, ASYNC_DISPOSE in lock], [false, false]));
});

test('options are those of request()', async t => {
    const name = t.name();
    const reader = await acquire(t, name, {mode: 'shared', why: 'to read'});
    assert.equal(reader.mode, 'shared');
    assert.equal(await locks.acquire(name, {ifAvailable: true}), null);
    await assert.rejects(locks.acquire(name, {timeout: 10}), 'TimeoutError');
    const controller = new AbortController();
    const aborted = locks.acquire(name, {signal: controller.signal});
    await locks.query();
    controller.abort('enough');
    await assert.rejectsWith(aborted, 'enough');
    assert.equal((await locks.query()).pending, []);
});

test('the next one gets the lock when it is released', async t => {
    const name = t.name();
    const lock = await acquire(t, name);
    const wanted = new Promise(resolve => (lock.onwanted = resolve));
    const next = acquire(t, name);
    await wanted;
    assert.equal(lock.wanted, true);
    await lock.downgrade();
    assert.equal(lock.mode, 'shared');
    await lock.release();
    assert.equal([lock.wanted, (await next).mode], [false, 'exclusive']);
});

test('release() is rejected if the lock was lost', async t => {
    const name = t.name();
    const lock = await acquire(t, name);
    await locks.request(name, {steal: true}, () => {});
    await waitFor(() => lock.lost.aborted, 'the loss');
    for (const end of [() => lock.release(), () => lock[ASYNC_DISPOSE]()]) {
        const error = await assert.rejects(end(), 'AbortError');
        assert.equal([error.cause.code, lock.lost.reason === error], ['stolen', true]);
    }
});

test('arguments', async t => {
    const name = t.name();
    for (const wrong of [[], [Symbol('s')], [name, 1], [name, {mode: 'none'}], [name, () => {}]])
        await assert.rejects(locks.acquire(...wrong), 'TypeError');
    await assert.rejects(locks.acquire('-'), 'NotSupportedError');
    await assert.rejects(locks.acquire.call({}, name), 'TypeError');
});

// Of those that are forgotten, the last ones may stay for a while: the stack of GJS is scanned conservatively.
const ENOUGH = 30;

async function forget(t) {
    const prefix = t.name();
    const process = startProcess(['sh', '-c', 'exec "$0" "$@" 2>&1', ...scriptCommand('forgetful.js'), prefix]);
    t.cleanup(async () => {
        process.kill();
        await process.wait();
    });
    const warned = new Map();
    for await (const line of process.lines) {
        const name = line.match(/The lock "([^"]+)" was forgotten, and is released: /)?.[1];
        if (name !== undefined)
            warned.set(name, (warned.get(name) ?? 0) + 1);
        else if (line !== 'ready')
            throw new Error(line);
        else if (warned.size >= ENOUGH)
            break;
        else
            process.write('collect\n');
    }
    for (const [name, count] of warned) {
        assert.equal([count, name.startsWith(`${prefix} forgotten `)], [1, true], name);
        await locks.request(name, () => {});
    }
    assert.equal(await isFree(`${prefix} kept`), false, 'a lock that is referred to is released');
}

if (await hasFinalization())
    test('a lock that is forgotten is released, and warned about once', forget);
else
    print('# locks that are forgotten: not tested, since nothing is ever finalized here');

await run();
