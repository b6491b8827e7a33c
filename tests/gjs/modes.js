// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Exclusive locks, one at a time for each name; shared ones, any number at a time; and both in the order of the
// requests. The attributes of the lock in the callback.

import {Lock, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

const shared = {mode: 'shared'};

async function counts(name) {
    const {held, pending} = await locks.query();
    return [held, pending].map(list => list.filter(info => info.name === name).length);
}

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

test('shared requests are granted in order, whatever their names', async t => {
    const [a, b, c] = [t.name(), t.name(), t.name()];
    const granted = [];
    const requests = [a, b, c, a, b, c].map((name, index) => {
        const request = t.request(locks, name, shared);
        request.granted.then(() => granted.push(index));
        return request;
    });
    await Promise.all(requests.map(request => request.granted));
    assert.equal(granted, [0, 1, 2, 3, 4, 5]);
    assert.equal((await locks.query()).held.length, 6, 'held at once');
});

test('the holder of a shared lock gets another', async t => {
    const name = t.name();
    const result = await locks.request(name, shared, async () => {
        const inner = await locks.request(name, shared, lock => lock.mode);
        return `${inner} twice`;
    });
    assert.equal(result, 'shared twice');
});

test('readers, a writer, readers', async t => {
    const name = t.name();
    const first = [1, 2, 3].map(() => t.request(locks, name, shared));
    const writer = t.request(locks, name);
    const second = [4, 5, 6, 7, 8].map(() => t.request(locks, name, shared));

    await Promise.all(first.map(request => request.granted));
    assert.equal(await counts(name), [3, 6], 'while three readers hold it');

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

for (const mode of ['exclusive', 'shared']) {
    test(`name and mode of a lock that is ${mode}, also when it is no longer held`, async t => {
        const name = t.name();
        const lock = await locks.request(name, {mode}, given => given);
        assert.instance(lock, Lock);
        assert.equal([lock.name, lock.mode], [name, mode]);
    });
}

await run();
