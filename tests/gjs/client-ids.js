// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The clientId in a snapshot is the same for all agents.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import WebLocks from 'gi://WebLocks?version=1';

import {AbortSignal, forAgent, locks} from '../../client-lib/gjs/weblocks.js';
import {AgentProcess} from './agent-process.js';
import {assert, run, test} from './testing.js';

const unused = () => {
    throw new Error('called');
};

test('agents of one process have different clientIds', async t => {
    const name = t.name();
    const agent = new WebLocks.Agent({busType: Gio.BusType.SESSION});
    await new Promise((resolve, reject) => {
        agent.init_async(GLib.PRIORITY_DEFAULT, null, (_agent, result) => {
            try {
                resolve(agent.init_finish(result));
            } catch (error) {
                reject(error);
            }
        });
    });
    assert.true(agent.connected);
    const other = forAgent(agent);
    await t.hold(locks, name);
    const waiter = t.request(other.locks, name);
    await other.locks.query();
    const {held, pending} = await locks.query();
    assert.equal(pending.map(info => info.clientId), [agent.clientId]);
    assert.notEqual(held[0].clientId, agent.clientId);

    agent.close();
    await assert.rejects(waiter.done, 'AbortError');
    await assert.rejects(other.locks.request(name, () => {}), 'InvalidStateError');
    await assert.rejects(other.locks.query(), 'InvalidStateError');
});

// The standard checks that the document is fully active before everything else.
test('a closed agent is checked before an invalid name, invalid options and an abort', async t => {
    const agent = new WebLocks.Agent();
    const {locks: closed} = forAgent(agent);
    await closed.query();
    agent.close();
    const calls = [
        closed.request('-', unused),
        closed.request(t.name(), {steal: true, ifAvailable: true}, unused),
        closed.request(t.name(), {signal: AbortSignal.abort('reason')}, unused),
        closed.request('-'.repeat(1e6), {signal: AbortSignal.abort(), steal: true}, unused),
    ];
    for (const call of calls)
        await assert.rejects(call, 'InvalidStateError');
    await assert.rejects(closed.request(t.name(), {mode: 'none'}, unused), 'TypeError');
});

test('the lock of an agent that is closed is free', async t => {
    const name = t.name();
    const other = await AgentProcess.start(t);
    const holder = await other.hold(name);
    const waiter = t.request(locks, name);
    await other.closeAgent();
    await assert.rejects(holder.done, 'NetworkError');
    await waiter.granted;
});

test('forAgent() requires an agent', () => {
    for (const wrong of [undefined, null, {}, locks])
        assert.throws(() => forAgent(wrong), TypeError);
});

await run();
