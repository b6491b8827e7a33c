// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Additions to the standard: the options timeout and why, and the token of a lock.

import Gio from 'gi://Gio';
import WebLocks from 'gi://WebLocks?version=1';

import {DOMException, forManager, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, show, test} from './testing.js';

const unused = () => {
    throw new Error('the callback must not be called');
};

function inspect(name) {
    return new Promise((resolve, reject) => {
        new WebLocks.Manager({bucket: 'default'}).inspect_async(name, null, (manager, result) => {
            try {
                resolve(manager.inspect_finish(result));
            } catch (error) {
                reject(error);
            }
        });
    });
}

test('a lock of the library is released without waiting', async t => {
    const name = t.name();
    const lock = WebLocks.Manager.new(null, 'default').request_sync(name, null, null);
    const waiter = t.request(locks, name);
    assert.equal(lock.release(), undefined);
    assert.equal(lock.held, false);
    await waiter.granted;
    lock.release(); // has no effect on the next lock
    const {held} = await locks.query();
    assert.equal(held.map(info => info.name), [name]);
});

test('a wait ends with its timeout', async t => {
    const name = t.name();
    await t.hold(locks, name);
    const error = await assert.rejects(locks.request(name, {timeout: 10}, unused), 'TimeoutError');
    assert.instance(error, DOMException);
    assert.equal(error.code, 23);
    const {pending} = await locks.query();
    assert.equal(pending, []);
});

test('a timeout does not end a lock', async t => {
    const name = t.name();
    const holder = await t.hold(locks, name, {timeout: 1});
    // A longer time than that of the holder's request.
    await assert.rejects(locks.request(name, {timeout: 20}, unused), 'TimeoutError');
    assert.equal(await holder.release('result'), 'result');
});

test('a timeout of 0 means no timeout', async t => {
    const name = t.name();
    const holder = await t.hold(locks, name);
    const waiter = t.request(locks, name, {timeout: 0});
    await assert.rejects(locks.request(name, {timeout: 20}, unused), 'TimeoutError');
    await holder.release();
    await waiter.granted;
});

test('a timeout is a number of milliseconds', async t => {
    const wrong = [-1, NaN, Infinity, 2 ** 32, 'soon', {}, Symbol('s'), 5n];
    for (const timeout of wrong) {
        const promise = locks.request(t.name(), {timeout}, unused);
        await assert.rejects(promise, 'TypeError', show(timeout));
    }
    for (const timeout of [undefined, 0.9, 2 ** 32 - 1, '100'])
        assert.equal(await locks.request(t.name(), {timeout}, () => 'granted'), 'granted');
});

test('why is shown to people', async t => {
    const name = t.name();
    await t.hold(locks, name, {why: 'to save a document'});
    const {held} = await inspect(name);
    assert.equal(held.get_item(0).why, 'to save a document');
});

test('characters of why that D-Bus does not support are replaced', async t => {
    const name = t.name();
    await t.hold(locks, name, {why: 'a\x00b\uD800c\uFFFFd'});
    const {held} = await inspect(name);
    assert.equal(held.get_item(0).why, 'a\uFFFDb\uFFFDc\uFFFDd');
    await assert.rejects(locks.request(name, {why: Symbol('s')}, unused), 'TypeError');
});

test('tokens are numbers that grow', async t => {
    const name = t.name();
    const tokens = [];
    for (let i = 0; i < 5; i++)
        tokens.push(await locks.request(name, {steal: i % 2 === 1}, lock => lock.token));
    assert.true(tokens.every(Number.isSafeInteger), show(tokens));
    assert.true(tokens.every((token, i) => token > (tokens[i - 1] ?? 0)), show(tokens));
    const holder = await t.hold(locks, name);
    const {held} = await inspect(name);
    assert.equal((await holder.granted).token, held.get_item(0).token);
});

test('a stuck lock can be broken', async t => {
    const name = t.name();
    const holder = await t.hold(locks, name);
    const {held} = await inspect(name);
    const info = held.get_item(0);
    assert.true(info.id > 0 && info.since > 0 && info.application === '');
    const agent = WebLocks.Agent.dup_default(Gio.BusType.SESSION);
    const managers = agent.list_observable_sync(null);
    const manager = managers.find(each => each.bucket === 'default' && !each.observed);
    assert.equal(manager.break_sync(name, info, null), 1);
    assert.equal(manager.break_sync(name, null, null), 0);
    await assert.rejects(holder.done, 'AbortError');
});

test('a monitor of all buckets follows them', async t => {
    const name = t.name();
    const agent = WebLocks.Agent.dup_default(Gio.BusType.SESSION);
    const monitor = WebLocks.Monitor.new_all_sync(agent, null);
    const find = () => [...monitor.held].find(info => info.name === name);
    const next = () => new Promise(resolve => {
        const id = monitor.held.connect('items-changed', () => {
            monitor.held.disconnect(id);
            resolve();
        });
    });
    assert.equal(monitor.manager, null);
    const holder = await t.hold(locks, name);
    while (!find())
        await next();
    const info = find();
    assert.equal(info.manager.bucket, 'default');
    assert.equal(info.token, (await holder.granted).token);
    assert.equal(info.manager.break_sync(name, info, null), 1);
    await assert.rejects(holder.done, 'AbortError');
    while (find())
        await next();
});

test('a manager can be constructed', async t => {
    const name = t.name();
    const agent = WebLocks.Agent.dup_default(Gio.BusType.SESSION);
    const constructed = forManager(new WebLocks.Manager({agent, bucket: 'default'}));
    await t.hold(constructed, name);
    assert.equal((await inspect(name)).held.get_n_items(), 1);
    assert.true(agent.connected && agent.serviceRunning);
});

test('the default bucket of a manager is that of `locks`', async t => {
    const name = t.name();
    await t.hold(forManager(new WebLocks.Manager()), name);
    const {held} = await locks.query();
    assert.equal(held.map(info => info.name), [name]);
});

test('a private manager shares no locks', async t => {
    const name = t.name();
    const agent = WebLocks.Agent.dup_default(Gio.BusType.SESSION);
    const hidden = forManager(agent.create_private_manager());
    await t.hold(hidden, name);
    await t.hold(locks, name);
    const {held} = await hidden.query();
    assert.equal(held.map(info => info.name), [name]);
    assert.throws(() => forManager(locks), TypeError);
});

await run();
