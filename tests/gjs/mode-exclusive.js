// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Exclusive locks: one at a time for each name.

import {locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

test('requests for one name are granted one after the other, in order', async t => {
    const name = t.name();
    const events = [];
    const promises = [1, 2, 3].map(number => locks.request(name, async () => {
        events.push(`${number} begins`);
        const {held} = await locks.query();
        assert.equal(held.length, 1, 'held at a time');
        events.push(`${number} ends`);
    }));
    await Promise.all(promises);
    assert.equal(events, ['1 begins', '1 ends', '2 begins', '2 ends', '3 begins', '3 ends']);
});

test('names are independent of each other', async t => {
    const first = await t.hold(locks, t.name());
    const second = await t.hold(locks, t.name());
    assert.equal(second.wasCalled, true, 'second granted');
    const {held, pending} = await locks.query();
    assert.equal([held.length, pending.length], [2, 0], 'held and pending');
    await second.release();
    await first.release();
});

await run();
