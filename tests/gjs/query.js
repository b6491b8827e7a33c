// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The results of query().

import {AgentProcess} from './agent-process.js';
import {bucket, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

const of = (list, name) => list.filter(info => info.name === name);

// First, since the others make requests.
test('nothing is held and nothing is pending', async () => {
    assert.equal(await locks.query(), {held: [], pending: []});
    assert.equal(await bucket('never.used').locks.query(), {held: [], pending: []});
});

test('the snapshot is plain: two arrays of name, mode and clientId', async t => {
    const name = t.name();
    await t.hold(locks, name);
    const request = t.request(locks, name, {mode: 'shared'});
    const snapshot = await locks.query();
    assert.equal(Object.keys(snapshot).sort(), ['held', 'pending']);
    for (const list of [snapshot.held, snapshot.pending]) {
        assert.true(Array.isArray(list), 'array');
        for (const info of list) {
            assert.equal(Object.keys(info), ['clientId', 'mode', 'name']); // in Web IDL's order
            assert.equal(Object.getPrototypeOf(info) === Object.prototype, true, 'plain object');
            assert.equal(Object.values(info).map(value => typeof value),
                ['string', 'string', 'string'], 'types');
        }
    }
    assert.equal(request.wasCalled, false);
});

test('each lock and each request is listed', async t => {
    const [read, written] = [t.name(), t.name()];
    await t.hold(locks, read, {mode: 'shared'});
    await t.hold(locks, read, {mode: 'shared'});
    await t.hold(locks, written);
    t.request(locks, written, {mode: 'shared'});
    t.request(locks, written, {mode: 'shared'});
    const {held, pending} = await locks.query();
    const entries = list => list.map(({name, mode}) => [name, mode]);
    assert.equal(entries(held), [[read, 'shared'], [read, 'shared'], [written, 'exclusive']]);
    assert.equal(entries(pending), [[written, 'shared'], [written, 'shared']]);
    assert.equal(new Set([...held, ...pending].map(info => info.clientId)).size, 1);
});

test('a lock that two agents share has two clientIds', async t => {
    const name = t.name();
    const other = await AgentProcess.start(t);
    await other.hold(name, {mode: 'shared'});
    await t.hold(locks, name, {mode: 'shared'});
    const ids = of((await locks.query()).held, name).map(info => info.clientId);
    assert.equal([ids.length, ids[0]], [2, other.clientId]);
    assert.notEqual(ids[1], other.clientId);
});

test('a deadlock of two agents is visible', async t => {
    const [a, b] = [t.name(), t.name()];
    const other = await AgentProcess.start(t);
    await t.hold(locks, a);
    await other.hold(b);
    t.request(locks, b);
    other.request(a);
    await other.query();
    const {held, pending} = await locks.query();
    const client = (list, name) => of(list, name).map(info => info.clientId);
    assert.equal(client(held, b), [other.clientId]);
    assert.equal(client(pending, a), [other.clientId]);
    assert.equal(client(held, a), client(pending, b), 'our clientId');
    assert.notEqual(client(held, a), client(held, b), 'clientId');
});

test('nothing of an agent that is killed is listed, and others get its locks', async t => {
    const [a, b] = [t.name(), t.name()];
    const other = await AgentProcess.start(t);
    await other.hold(a, {signal: true});
    other.request(a, {signal: true}).abort();
    other.request(a, {signal: true});
    await other.hold(b, {steal: true});
    other.request(b, {mode: 'shared'});
    await other.query();
    const waiter = t.request(locks, a);
    await other.kill();
    await waiter.granted;
    await t.hold(locks, b);
    const {held, pending} = await locks.query();
    assert.equal([held.map(info => info.name), pending], [[a, b], []]);
});

await run();
