// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Storage buckets: each has a separate lock manager.

import {bucket, LockManager, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, show, test} from './testing.js';

async function conflict(t, first, second) {
    const name = t.name();
    await t.hold(first, name);
    return second.request(name, {ifAvailable: true}, lock => lock === null);
}

test('the locks of a bucket conflict with each other, and with none of another bucket', async t => {
    const named = t.bucket();
    // Without an application the default bucket is called default.
    for (const same of [[locks, locks], [named.locks, bucket(named.name).locks], [locks, bucket('default').locks]])
        assert.equal(await conflict(t, ...same), true);
    for (const others of [[locks, named.locks], [named.locks, locks], [named.locks, t.bucket().locks]])
        assert.equal(await conflict(t, ...others), false);
});

test('a bucket has a name and a lock manager', () => {
    const its = bucket('org.example.App');
    assert.equal(its.name, 'org.example.App');
    assert.instance(its.locks, LockManager);
    assert.true(its.locks === its.locks, 'the same each time');
    assert.equal(bucket(123).name, '123');
});

test('valid names of buckets', async () => {
    for (const name of ['a', 'x'.repeat(255), 'Büro/2. Stock', 'a b', '_', '.', '-']) {
        await bucket(name).locks.request('n', async () => {
            const {held} = await bucket(name).locks.query();
            assert.equal(held.length, 1, name);
        });
    }
});

test('invalid names of buckets', () => {
    for (const name of ['', 'x'.repeat(256), 'ä'.repeat(128), 'a\x00b', '\uD800', '\uFFFF',
        Symbol('s')])
        assert.throws(() => bucket(name), TypeError, show(name));
});

await run();
