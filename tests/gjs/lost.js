// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The addition `lost` of a lock, and the `cause` of exceptions.

import {DOMException, bucket, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

const unused = () => {
    throw new Error('the callback must not be called');
};

test('lock.lost is aborted when the lock is stolen', async t => {
    const name = t.name();
    const events = [];
    const holder = await t.hold(locks, name);
    const {lost} = await holder.granted;
    assert.equal([lost.aborted, lost === (await holder.granted).lost], [false, true]);
    lost.addEventListener('abort', () => events.push('lost'));
    holder.done.catch(() => events.push('rejected'));
    await locks.request(name, {steal: true}, () => {});
    const error = await assert.rejects(holder.done, 'AbortError');
    assert.equal([lost.aborted, lost.reason === error, error.cause.code], [true, true, 'stolen']);
    assert.equal(events, ['lost', 'rejected']);
    // Asked for afterwards; and of a lock that is released.
    const stolen = await t.hold(locks, name);
    await locks.request(name, {steal: true}, () => {});
    const reason = await assert.rejects(stolen.done, 'AbortError');
    assert.equal((await stolen.granted).lost.reason === reason, true);
    const released = await t.hold(locks, name);
    await released.release();
    assert.equal((await released.granted).lost.aborted, false);
});

test('the cause of an exception has its code', async t => {
    const name = t.name();
    await t.hold(locks, name);
    const requests = {
        'timeout': [name, {timeout: 1}],
        'not-supported': ['-', {}],
        'limits': ['x'.repeat(2000), {}],
    };
    for (const [code, request] of Object.entries(requests)) {
        const {cause} = await locks.request(...request, unused).catch(error => error);
        assert.equal([cause instanceof Error, cause.code], [true, code]);
    }
});

// Nobody may request a lock in a private session by its public name.
test('a bucket that the caller may not use: SecurityError', async t => {
    const error = await assert.rejects(
        bucket(`private:${'0'.repeat(32)}`).locks.request(t.name(), unused), 'SecurityError');
    assert.equal([error instanceof DOMException, error.code, error.cause.code], [true, 18, 'security']);
});

await run();
