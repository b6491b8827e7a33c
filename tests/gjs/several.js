// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The addition requestMany().

import {AbortController, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, deferred, isSettled, run, test} from './testing.js';

const unused = () => {
    throw new Error('the callback must not be called');
};
const names = list => list.map(({name}) => name);

test('all locks, sorted and without duplicates, until the callback ends', async t => {
    const [a, b, c] = [t.name(), t.name(), t.name()];
    const result = await locks.requestMany([c, a, b, a], {mode: 'shared'}, async all => {
        assert.equal(names(all), [a, b, c]);
        assert.equal(all.map(({mode}) => mode), ['shared', 'shared', 'shared']);
        assert.true(all[0].token < all[1].token && all[1].token < all[2].token, 'tokens');
        assert.equal(names((await locks.query()).held), [a, b, c]);
        return 'result';
    });
    assert.equal(result, 'result');
    assert.equal(await locks.query(), {held: [], pending: []});
});

test('in the order of the bytes on D-Bus; also none at all', async () => {
    assert.equal(await locks.requestMany([], all => all.length), 0);
    const sorted = ['', '\u0010u0000', '\x10', 'a', 'aa', 'b', '\uE000', '\uFFFD', '\u{1F512}'];
    const onDBus = await locks.requestMany([...sorted].reverse(), all => names(all));
    assert.equal(onDBus, ['', '\x10', '\u0010u0000', 'a', 'aa', 'b', '\uE000', '\uFFFD', '\u{1F512}']);
});

test('callers with some of the same names do not deadlock', async t => {
    const list = [t.name(), t.name(), t.name()];
    let inside = 0;
    await Promise.all(Array.from({length: 60}, (_value, i) => {
        const some = [list[i % 3], list[(i + 1) % 3]];
        return locks.requestMany(i % 2 ? some : some.reverse(), async () => {
            inside++;
            await null;
            assert.equal(inside, 1); // any two of them have a name in common
            inside--;
        });
    }));
});

test('if one is not available, none is held', async t => {
    const [a, b] = [t.name(), t.name()];
    await t.hold(locks, b);
    assert.equal(await locks.requestMany([a, b], {ifAvailable: true}, all => all), null);
    assert.equal(await locks.request(a, {ifAvailable: true}, lock => lock !== null), true);
});

test('an abort and a time-out end the wait, and release what was granted', async t => {
    const [a, b] = [t.name(), t.name()];
    const holder = await t.hold(locks, b);
    const controller = new AbortController();
    const aborted = locks.requestMany([a, b], {signal: controller.signal}, unused);
    await locks.query();
    assert.equal(await isSettled(aborted), false);
    controller.abort('enough');
    await assert.rejectsWith(aborted, 'enough');
    await assert.rejectsWith(locks.requestMany([a], {signal: controller.signal}, unused), 'enough');
    await assert.rejects(locks.requestMany([a, b], {timeout: 20}, unused), 'TimeoutError');
    await assert.rejects(locks.requestMany([a, '-'], unused), 'NotSupportedError');
    assert.equal(names((await locks.query()).held), [b]);
    await holder.release();
});

test('the time-out does not depend on the clock', async t => {
    const [a, b] = [t.name(), t.name()];
    const holder = await t.hold(locks, b);
    const {now} = Date;
    let set = 0;
    Date.now = () => now() + (set += 3600000); // somebody sets it all the time
    const both = locks.requestMany([a, b], {timeout: 3600000}, all => names(all));
    while ((await locks.query()).pending.length === 0)
        assert.equal(await isSettled(both), false);
    Date.now = now;
    await holder.release();
    assert.equal(await both, [a, b]);
});

test('a lock that is stolen while another one is waited for ends all', async t => {
    const [a, b] = [t.name(), t.name()];
    const holder = await t.hold(locks, b);
    const both = locks.requestMany([a, b], unused);
    both.catch(() => {});
    await locks.query();
    await locks.request(a, {steal: true}, () => {});
    const error = await assert.rejects(both, 'AbortError');
    assert.equal(error.cause.code, 'stolen');
    assert.equal((await locks.query()).pending, []);
    await holder.release();
});

test('a lock that is stolen from a callback: the others stay held until it ends', async t => {
    const [a, b] = [t.name(), t.name()];
    const end = deferred();
    const granted = deferred();
    const both = locks.requestMany([a, b], all => {
        granted.resolve(all);
        return end.promise;
    });
    both.catch(() => {});
    const all = await granted.promise;
    await locks.request(a, {steal: true}, () => {});
    await assert.rejects(both, 'AbortError');
    assert.equal(all.map(({lost}) => lost.aborted), [true, false]);
    assert.equal(names((await locks.query()).held), [b]);
    end.resolve();
    await locks.request(b, () => {});
});

test('arguments', async t => {
    for (const wrong of [undefined, null, 'abc', 1, {}, t.name()])
        await assert.rejects(locks.requestMany(wrong, unused), 'TypeError');
    await assert.rejects(locks.requestMany([Symbol('s')], unused), 'TypeError');
    await assert.rejects(locks.requestMany([t.name()]), 'TypeError');
    await assert.rejects(locks.requestMany([t.name()], {mode: 'none'}, unused), 'TypeError');
    await assert.rejects(locks.requestMany([t.name()], {}, null), 'TypeError');
});

await run();
