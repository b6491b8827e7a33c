// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Additions to the standard: whether somebody waits for a lock, counting locks, and a lock that is downgraded.

import {AbortController, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, show, test} from './testing.js';

const unused = () => {
    throw new Error('the callback must not be called');
};

test('a holder learns that somebody waits', async t => {
    const name = t.name();
    const seen = [];
    const controller = new AbortController();
    let kept;
    await locks.request(name, lock => new Promise(resolve => {
        kept = lock;
        seen.push(lock.wanted);
        lock.onwanted = () => {
            seen.push(lock.wanted);
            if (lock.wanted)
                controller.abort();
            else
                resolve();
        };
        locks.request(name, {signal: controller.signal}, unused).catch(() => {});
    }));
    assert.equal(seen, [false, true, false]);
    assert.equal(kept.wanted, false);
});

test('slots counts holders', async t => {
    const name = t.name();
    const first = await t.hold(locks, name, {slots: 2});
    await t.hold(locks, name, {slots: 2});
    assert.equal(await locks.request(name, {slots: 2, ifAvailable: true}, lock => lock), null);
    assert.equal(await locks.request(name, {ifAvailable: true}, lock => lock), null);
    await assert.rejects((await first.granted).downgrade(), 'InvalidStateError');
    for (const slots of [0, -1, 2 ** 32, 'two', 2n])
        await assert.rejects(locks.request(name, {slots}, unused), 'TypeError', show(slots));
    await assert.rejects(locks.request(name, {slots: 2, mode: 'shared'}, unused), 'TypeError');
});

test('a lock is downgraded without a gap', async t => {
    const name = t.name();
    const holder = await t.hold(locks, name);
    const lock = await holder.granted;
    const {token} = lock;
    const reader = locks.request(name, {mode: 'shared'}, ({mode}) => mode);
    const writer = locks.request(name, () => 'written');
    await lock.downgrade();
    assert.equal([lock.mode, lock.token], ['shared', token]);
    assert.equal(await reader, 'shared');
    const {held, pending} = await locks.query();
    assert.equal([held.map(info => info.mode), pending.map(info => info.mode)], [['shared'], ['exclusive']]);
    await lock.downgrade();
    await holder.release();
    assert.equal(await writer, 'written');
    await assert.rejects(lock.downgrade(), 'InvalidStateError');
});

await run();
