// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Code for web pages, by navigator.locks: the helper of section 5.1 of the standard.

import '../../client-lib/gjs/navigator.js';
import {locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

const {navigator} = globalThis;

test('navigator.locks is the lock manager of the module', () => {
    assert.equal(navigator.locks === locks, true);
    for (const name of ['AbortController', 'AbortSignal', 'DOMException', 'Lock', 'LockManager'])
        assert.equal(typeof globalThis[name], 'function', name);
    assert.instance(navigator.locks, globalThis.LockManager);
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
