// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Shared locks: any number at a time.

import {locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

const mode = 'shared';

test('shared requests are granted in order, whatever their names', async t => {
    const [a, b, c] = [t.name(), t.name(), t.name()];
    const granted = [];
    const requests = [a, b, c, a, b, c].map((name, index) => {
        const request = t.request(locks, name, {mode});
        request.granted.then(() => granted.push(index));
        return request;
    });
    await Promise.all(requests.map(request => request.granted));
    assert.equal(granted, [0, 1, 2, 3, 4, 5]);
    const {held} = await locks.query();
    assert.equal(held.length, 6, 'held at once');
});

test('the holder of a shared lock gets another', async t => {
    const name = t.name();
    const result = await locks.request(name, {mode}, async () => {
        const inner = await locks.request(name, {mode}, lock => lock.mode);
        return `${inner} twice`;
    });
    assert.equal(result, 'shared twice');
});

await run();
