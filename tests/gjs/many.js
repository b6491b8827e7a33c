// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Many requests at the same time.

import {bucket, locks} from '../../client-lib/gjs/weblocks.js';
import {readText} from './host.js';
import {FACTOR, assert, run, test} from './testing.js';

const numbers = count => Array.from({length: count}, (_value, index) => index);

// The processor time of the main thread, which does not depend on other processes.
function getProcessorMs() {
    return Number(readText('/proc/self/schedstat').split(' ')[0]) / 1e6;
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

await run();
