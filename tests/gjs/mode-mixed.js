// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Shared and exclusive requests for one name are granted in order.

import {locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

const shared = {mode: 'shared'};

async function counts(name) {
    const {held, pending} = await locks.query();
    return [held, pending].map(list => list.filter(info => info.name === name).length);
}

test('readers, a writer, readers', async t => {
    const name = t.name();
    const first = [1, 2, 3].map(() => t.request(locks, name, shared));
    const writer = t.request(locks, name);
    const second = [4, 5, 6, 7, 8].map(() => t.request(locks, name, shared));

    await Promise.all(first.map(request => request.granted));
    assert.equal(await counts(name), [3, 6], 'while three readers hold it');

    // Locks of other names are independent.
    await locks.request(t.name(), lock => assert.equal(lock.mode, 'exclusive'));
    assert.equal(writer.wasCalled, false, 'writer granted early');

    await first[0].release();
    await first[1].release();
    assert.equal(await counts(name), [1, 6], 'while one reader holds it');
    await first[2].release();
    await writer.granted;
    assert.equal(await counts(name), [1, 5], 'while the writer holds it');
    assert.equal(second.some(request => request.wasCalled), false, 'a reader overtook');

    await writer.release();
    await Promise.all(second.map(request => request.granted));
    assert.equal(await counts(name), [5, 0], 'while the other readers hold it');
});

test('when the promise of a writer has settled, all readers that waited hold the lock', async t => {
    const name = t.name();
    const writer = await t.hold(locks, name);
    for (let i = 0; i < 5; i++)
        t.request(locks, name, shared);
    assert.equal(await counts(name), [1, 5], 'while the writer holds it');
    await writer.release();
    assert.equal(await counts(name), [5, 0], 'right afterwards');
});

await run();
