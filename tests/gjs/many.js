// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Many requests at the same time.

import GLib from 'gi://GLib';

import {AbortController, bucket, locks} from '../../client-lib/gjs/weblocks.js';
import {AgentProcess} from './agent-process.js';
import {FACTOR, assert, deferred, run, test} from './testing.js';

const numbers = count => Array.from({length: count}, (_value, index) => index);

// The processor time of the main thread, which does not depend on other processes.
function getProcessorMs() {
    const [, bytes] = GLib.file_get_contents('/proc/self/schedstat');
    return Number(new TextDecoder().decode(bytes).split(' ')[0]) / 1e6;
}

test('200 requests for one name: one at a time, in order', async t => {
    const name = t.name();
    const order = [];
    let inside = 0;
    const results = await Promise.all(numbers(200).map(
        number => locks.request(name, async () => {
            inside++;
            assert.equal(inside, 1, 'callbacks at a time');
            order.push(number);
            await null;
            inside--;
            return number;
        })));
    assert.equal(results, numbers(200), 'results');
    assert.equal(order, numbers(200), 'order');
});

test('200 requests for 200 names: all at a time', async t => {
    const requests = numbers(200).map(() => t.request(locks, t.name()));
    await Promise.all(requests.map(request => request.granted));
    const {held} = await locks.query();
    assert.equal(held.length, 200, 'held');
    await Promise.all(requests.map(request => request.release()));
});

// More than the limit of a client: the granted ones stay granted.
test('10,000 requests in one turn: each promise settles', async t => {
    const {promise: all, resolve: end} = deferred();
    const outcomes = {held: 0, QuotaExceededError: 0};
    let open = 10000;
    const count = outcome => {
        outcomes[outcome]++;
        if (--open === 0)
            end();
    };
    const requests = numbers(open).map(() => locks.request(t.name(), () => {
        count('held');
        return all;
    }).catch(error => {
        assert.true(error.message.includes('requestsPerClient'), error.message);
        count(error.name);
    }));
    await Promise.all(requests);
    assert.equal(outcomes, {held: 1024, QuotaExceededError: 8976});
});

// Converting the whole name would take seconds, or throw at a special character.
test('a name of megabytes is refused', async () => {
    const names = ['n'.repeat(3e7), '\ud800'.repeat(3e7)];
    for (const name of names)
        assert.true(name.indexOf('x') === -1); // its characters are there, not only how often
    const begin = getProcessorMs();
    for (const name of names) {
        await assert.rejects(locks.request(name, () => {}), 'QuotaExceededError');
        await assert.rejects(locks.request('a', {why: name}, () => {}), 'QuotaExceededError');
        assert.throws(() => bucket(name), TypeError);
    }
    assert.true(getProcessorMs() - begin < 500 * FACTOR, 'in time');
});

test('200 requests of all kinds', async t => {
    const names = [t.name(), t.name(), t.name()];
    const outcomes = {fulfilled: 0, AbortError: 0, unavailable: 0};
    await Promise.all(numbers(200).map(async number => {
        const controller = new AbortController();
        const options = [
            {}, {mode: 'shared'}, {ifAvailable: true}, {signal: controller.signal},
        ][number % 4];
        const promise = locks.request(names[number % 3], options, async lock => {
            await null;
            return lock === null ? 'unavailable' : 'fulfilled';
        });
        if (options.signal && number % 8 === 3)
            controller.abort();
        outcomes[await promise.catch(error => error.name)]++;
    }));
    assert.equal(outcomes.AbortError, 25, 'aborted');
    assert.equal(outcomes.fulfilled + outcomes.unavailable, 175, 'called');
});

test('processes take turns', async t => {
    const name = t.name();
    const agents = await Promise.all(numbers(3).map(() => AgentProcess.start(t)));
    const holders = new Set();
    await Promise.all(agents.map(async agent => {
        for (let turn = 0; turn < 10; turn++) {
            const request = await agent.hold(name);
            holders.add(agent);
            assert.equal(holders.size, 1, 'holders at a time');
            holders.delete(agent);
            await request.release();
        }
    }));
});

await run();
