// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The interfaces are as in the standard's IDL.

import {
    AbortController, AbortSignal, DOMException, Lock, LockManager, StorageBucket, bucket, locks,
} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

const properties = object => Object.getOwnPropertyDescriptors(object);

test('LockManager', () => {
    assert.instance(locks, LockManager);
    assert.instance(bucket('b').locks, LockManager);
    assert.throws(() => new LockManager(), TypeError);
    assert.throws(() => LockManager(), TypeError);
    assert.equal(Object.prototype.toString.call(locks), '[object LockManager]');
    assert.equal(Object.getOwnPropertyNames(locks), [], 'own properties of locks');
    assert.equal(Object.getOwnPropertyNames(LockManager.prototype).sort(),
        ['acquire', 'constructor', 'query', 'request', 'requestMany']);
});

test('interface objects have no arguments', () => {
    for (const class_ of [LockManager, Lock, StorageBucket, AbortController, AbortSignal]) {
        const {value, enumerable, configurable, writable} = properties(class_).length;
        assert.equal([value, enumerable, configurable, writable], [0, false, true, false],
            class_.name);
    }
});

for (const [name, length] of [['request', 2], ['query', 0]]) {
    test(`LockManager.${name}()`, () => {
        const {value, enumerable, configurable, writable} = properties(LockManager.prototype)[name];
        assert.equal([enumerable, configurable, writable], [true, true, true]);
        assert.equal([typeof value, value.name, value.length], ['function', name, length]);
        assert.equal(Object.prototype.toString.call(value), '[object Function]'); // not AsyncFunction
    });
}

test('Lock', async t => {
    assert.throws(() => new Lock(), TypeError);
    await locks.request(t.name(), lock => {
        assert.instance(lock, Lock);
        assert.equal(Object.prototype.toString.call(lock), '[object Lock]');
        assert.equal(Object.getOwnPropertyNames(lock), [], 'own properties');
        const seen = [];
        for (const member in lock)
            seen.push(member);
        assert.equal(seen.sort(), ['mode', 'name'], 'what can be enumerated');
    });
});

for (const name of ['name', 'mode']) {
    test(`Lock.${name}`, () => {
        const {get, set, enumerable, configurable} = properties(Lock.prototype)[name];
        assert.equal([typeof get, set, enumerable, configurable],
            ['function', undefined, true, true]);
        assert.throws(() => get.call({}), TypeError);
        assert.throws(() => Lock.prototype[name], TypeError);
    });
}

test('methods require a LockManager, and reject rather than throw', async t => {
    const {request, query} = locks;
    for (const receiver of [undefined, null, {}, 1, LockManager.prototype, bucket('b')]) {
        await assert.rejects(request.call(receiver, t.name(), () => {}), 'TypeError');
        await assert.rejects(query.call(receiver), 'TypeError');
    }
    await assert.rejects(request(t.name(), () => {}), 'TypeError', 'detached');
    await assert.rejects(query(), 'TypeError', 'detached');
    assert.equal(await request.call(locks, t.name(), () => 'called'), 'called');
});

test('both return a new promise', async t => {
    const promise = Promise.resolve('result');
    const returned = locks.request(t.name(), () => promise);
    assert.instance(returned, Promise);
    assert.true(returned !== promise, 'another promise');
    assert.equal(await returned, 'result');
    const query = locks.query();
    assert.instance(query, Promise);
    await query;
});

test('nothing throws: all failures are rejections', async t => {
    await assert.rejects(locks.request(t.name(), 1, () => {}), 'TypeError');
    const error = await assert.rejects(locks.request('-', () => {}), 'NotSupportedError');
    assert.instance(error, DOMException);
});

await run();
