// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Additions to the standard: the options timeout and why, the token of a lock, and what is of the library. See holding.js,
// too.

import Gio from 'gi://Gio';
import WebLocks from 'gi://WebLocks?version=1';

import {DOMException, forAgent, forManager, locks} from '../../client-lib/gjs/weblocks.js';
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

test('a wait ends with its timeout', async t => {
    const name = t.name();
    await t.hold(locks, name);
    const error = await assert.rejects(locks.request(name, {timeout: 10}, unused), 'TimeoutError');
    assert.instance(error, DOMException);
    assert.equal(error.code, 23);
    const {pending} = await locks.query();
    assert.equal(pending, []);
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

test('lock.lost of a lock whose agent was closed', async t => {
    const agent = new WebLocks.Agent();
    const {locks: its} = forAgent(agent);
    const name = t.name();
    const closed = await t.hold(its, name);
    const pending = t.request(its, name);
    await its.query();
    agent.close();
    const error = await assert.rejects(closed.done, 'NetworkError');
    const {lost} = await closed.granted;
    assert.equal([lost.aborted, lost.reason === error, error.cause.code], [true, true, 'lost']);
    assert.equal((await assert.rejects(pending.done, 'AbortError')).cause.code, 'closed');
});

test('why, slots and command are shown to people', async t => {
    const name = t.name();
    await t.hold(locks, name, {command: 'rsync (pid 123)', slots: 2, why: 'to copy'});
    const info = (await inspect(name)).held.get_item(0);
    assert.equal([info.who, info.whoPid, info.slots, info.why], ['rsync', 123, 2, 'to copy']);
    await assert.rejects(locks.request(name, {command: Symbol('s')}, unused), 'TypeError');
    await assert.rejects(locks.request(name, {command: 'x'.repeat(257)}, unused), 'QuotaExceededError');
});

test('a manager can be constructed; its default bucket is that of `locks`', async t => {
    const agent = WebLocks.Agent.dup_default(Gio.BusType.SESSION);
    const [name, other] = [t.name(), t.name()];
    await t.hold(forManager(new WebLocks.Manager({agent, bucket: 'default'})), name);
    await t.hold(forManager(new WebLocks.Manager()), other);
    assert.equal((await locks.query()).held.map(info => info.name), [name, other]);
    assert.true(agent.connected && agent.serviceRunning);
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
