// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Code for web pages, by navigator.locks: what the examples of the standard do, and the helper of its
// section 5.1.

import '../../client-lib/gjs/navigator.js';
import {locks} from '../../client-lib/gjs/weblocks.js';
import {assert, deferred, run, test} from './testing.js';

const {navigator} = globalThis;

test('navigator.locks is the lock manager of the module', () => {
    assert.equal(navigator.locks === locks, true);
    for (const name of ['AbortController', 'AbortSignal', 'DOMException', 'Lock', 'LockManager'])
        assert.equal(typeof globalThis[name], 'function', name);
    assert.instance(navigator.locks, globalThis.LockManager);
});

test('a lock is held while an asynchronous function runs', async t => {
    const name = t.name();
    const steps = [];
    const step = async text => {
        await null;
        steps.push(text);
    };
    await navigator.locks.request(name, async lock => {
        steps.push(lock.name === name);
        await step('something');
        await step('something else');
    });
    steps.push('released');
    assert.equal(steps, [true, 'something', 'something else', 'released']);
});

test('the result of the callback is that of the request', async t => {
    const result = await navigator.locks.request(t.name(), async () => {
        const value = await Promise.resolve(20);
        return value + 1;
    });
    assert.equal(result, 21);
});

test('readers share, and a writer excludes them', async t => {
    const name = t.name();
    const events = [];
    const end = deferred();
    const read = number => navigator.locks.request(name, {mode: 'shared'}, async () => {
        events.push(`read ${number}`);
        await end.promise;
    });
    const readers = [read(1), read(2)];
    const writer = navigator.locks.request(name, () => events.push('write'));
    await navigator.locks.query();
    assert.equal(events, ['read 1', 'read 2']);
    end.resolve();
    await Promise.all([...readers, writer]);
    assert.equal(events.at(-1), 'write');
});

test('a lock is requested only if it is available', async t => {
    const name = t.name();
    await navigator.locks.request(name, async () => {
        const what = await navigator.locks.request(name, {ifAvailable: true},
            lock => lock ? 'granted' : 'not granted');
        assert.equal(what, 'not granted');
    });
});

test('a wait is given up after a time', async t => {
    const name = t.name();
    await t.hold(navigator.locks, name);
    const controller = new globalThis.AbortController();
    setTimeout(() => controller.abort(), 10);
    try {
        await navigator.locks.request(name, {signal: controller.signal}, () => {
            throw new Error('never called');
        });
        assert.true(false, 'not reached');
    } catch (error) {
        assert.equal([error.name, error instanceof globalThis.DOMException], ['AbortError', true]);
    }
});

test('a lock is held until a function is called', async t => {
    const name = t.name();
    let release;
    const granted = deferred();
    const done = navigator.locks.request(name, () => {
        granted.resolve();
        return new Promise(resolve => (release = resolve));
    });
    await granted.promise;
    const {held} = await navigator.locks.query();
    assert.equal(held.map(info => info.name), [name]);
    release();
    await done;
});

test('query() shows who holds and who waits', async t => {
    const name = t.name();
    await navigator.locks.request(name, async () => {
        const waiting = navigator.locks.request(name, {mode: 'shared'}, () => {});
        const state = await navigator.locks.query();
        const lines = [...state.held.map(lock => `held: ${lock.name}, mode ${lock.mode}`),
            ...state.pending.map(request => `pending: ${request.name}, mode ${request.mode}`)];
        assert.equal(lines, [`held: ${name}, mode exclusive`, `pending: ${name}, mode shared`]);
        t.cleanup(() => waiting);
    });
});

test('a stuck holder loses its lock', async t => {
    const name = t.name();
    const stuck = await t.hold(navigator.locks, name);
    assert.equal(await navigator.locks.request(name, {steal: true}, () => 'stolen'), 'stolen');
    await assert.rejects(stuck.done, 'AbortError');
});

// The helper of section 5.1: always in the same order, each within the callback of the one before.
async function requestMultiple(resources, callback) {
    const sorted = [...resources].sort();
    const requestNext = locksOfOthers => navigator.locks.request(sorted.shift(), lock => {
        const all = [...locksOfOthers, lock];
        return sorted.length > 0 ? requestNext(all) : callback(all);
    });
    return requestNext([]);
}

test('several locks do not deadlock if all request them in the same order', async t => {
    const [first, second, third] = [t.name(), t.name(), t.name()];
    const orders = [[first, second, third], [third, first], [second, third, first], [third, second]];
    const results = await Promise.all(orders.map(names =>
        requestMultiple(names, async all => {
            const {held} = await navigator.locks.query();
            return all.every(lock => held.some(info => info.name === lock.name)) && all.length;
        })));
    assert.equal(results, [3, 2, 3, 2]);
});

await run();
