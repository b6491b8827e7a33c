// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Agents are processes, in place of frames, workers and windows. They share locks, exclude each
// other, and their locks are released when they end, however they end.

import {locks} from '../../client-lib/gjs/weblocks.js';
import {AgentProcess} from './agent-process.js';
import {assert, run, test, waitFor} from './testing.js';

const shared = {mode: 'shared'};

async function waitPending(name, count) {
    await waitFor(async () => {
        const {pending} = await locks.query();
        return pending.filter(info => info.name === name).length === count;
    }, `${count} pending requests`);
}

test('two agents share a lock', async t => {
    const name = t.name();
    const other = await AgentProcess.start(t);
    await t.hold(locks, name, shared);
    await other.hold(name, shared);
    const {held} = await locks.query();
    assert.equal(held.length, 2, 'held');
});

test('an exclusive lock keeps the other agent out until it is released', async t => {
    const name = t.name();
    const other = await AgentProcess.start(t);
    const holder = await t.hold(locks, name);
    const unavailable = other.request(name, {ifAvailable: true});
    assert.equal(await unavailable.granted, null);
    unavailable.release();
    const waiter = other.request(name);
    await waitPending(name, 1);
    await holder.release();
    assert.equal((await waiter.granted).name, name);
});

test('the lock of an agent that is killed is free', async t => {
    const name = t.name();
    const other = await AgentProcess.start(t);
    await other.hold(name);
    const waiter = t.request(locks, name);
    await other.kill();
    await waiter.granted;
});

test('the lock of an agent that ends is free', async t => {
    const name = t.name();
    const other = await AgentProcess.start(t);
    await other.hold(name);
    const waiter = t.request(locks, name);
    assert.equal(await other.exit(), 0, 'exit status');
    await waiter.granted;
});

test('the request of an agent that is killed is skipped', async t => {
    const name = t.name();
    const [first, second] = await Promise.all([AgentProcess.start(t), AgentProcess.start(t)]);
    const holder = await t.hold(locks, name);
    first.request(name);
    await first.query();
    const waiter = second.request(name);
    await second.query();
    await first.kill();
    await waitPending(name, 1);
    await holder.release();
    await waiter.granted;
});

test('an agent is killed with requests and locks of every kind', async t => {
    const [a, b] = [t.name(), t.name()];
    const other = await AgentProcess.start(t);
    await other.hold(a, {signal: true});
    other.request(a, {signal: true}).abort();
    other.request(a, {signal: true});
    await other.hold(b, {steal: true});
    other.request(b, shared);
    await other.query();
    await other.kill();
    await t.hold(locks, a);
    await t.hold(locks, b);
});

await run();
