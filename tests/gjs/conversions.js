// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Arguments of other types, and callbacks of all kinds, as in Web IDL.

import {locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, show, test} from './testing.js';

const unused = () => {
    throw new Error('the callback must not be called');
};

test('names are converted to strings', async () => {
    const names = [
        [undefined, 'undefined'], [null, 'null'], [42, '42'], [true, 'true'], [[1, 2], '1,2'],
        [{toString: () => 'own'}, 'own'], [{}, '[object Object]'], [-0, '0'], [10n, '10'],
        [new String('object'), 'object'],
    ];
    for (const [name, string] of names)
        assert.equal(await locks.request(name, lock => lock.name), string, string);
});

test('an exception of toString() is the reason', async () => {
    const reason = new Error('of toString()');
    await assert.rejectsWith(locks.request({
        toString() {
            throw reason;
        },
    }, unused), reason);
    await assert.rejects(locks.request(Symbol('s'), unused), 'TypeError');
    await assert.rejects(locks.request(Object.create(null), unused), 'TypeError');
});

test('options can be absent, null, or any object', async t => {
    for (const options of [undefined, null, {}, [], () => {}, new Date(), Object.create(null)])
        assert.equal(await locks.request(t.name(), options, lock => lock.mode), 'exclusive');
    for (const options of [1, 'shared', true, Symbol('s'), 1n])
        await assert.rejects(locks.request(t.name(), options, unused), 'TypeError', show(options));
});

test('options are inherited, converted, and read when request() is called', async t => {
    const name = t.name();
    const options = Object.create({mode: 'shared'}, {unknown: {value: 1, enumerable: true}});
    const promise = locks.request(name, options, lock => lock.mode);
    options.mode = 'exclusive';
    assert.equal(await promise, 'shared');
    const mode = {toString: () => 'shared'};
    assert.equal(await locks.request(name, {mode}, lock => lock.mode), 'shared');
    await t.hold(locks, name);
    assert.equal(await locks.request(name, {ifAvailable: 'yes'}, lock => lock), null);
    await assert.rejects(locks.request(name, {steal: 1, ifAvailable: {}}, unused),
        'NotSupportedError');
    await locks.request(t.name(), {steal: 0, ifAvailable: ''}, lock => assert.notEqual(lock, null));
});

test('options are read once, in alphabetical order, and before the callback', async t => {
    const order = [];
    const options = new Proxy({}, {
        get(_target, member) {
            order.push(member);
            return undefined;
        },
    });
    await assert.rejects(locks.request(t.name(), options, 'no function'), 'TypeError');
    assert.equal(order.filter(member => !['command', 'slots', 'timeout', 'why'].includes(member)),
        ['ifAvailable', 'mode', 'signal', 'steal']);
    assert.equal(order, [...order].sort(), 'order');
    assert.equal(order.length, 8, 'reads');
});

test('an exception of an option\'s getter is the reason', async t => {
    const reason = new Error('of the getter');
    await assert.rejectsWith(locks.request(t.name(), {
        get mode() {
            throw reason;
        },
    }, unused), reason);
});

test('with two arguments the second is the callback, whatever it looks like', async t => {
    const callback = Object.assign(() => 'called', {mode: 'foo', steal: true, ifAvailable: true});
    assert.equal(await locks.request(t.name(), callback), 'called');
});

test('all kinds of functions are callbacks', async t => {
    const object = {
        async method(lock) {
            return lock.mode;
        },
        'a name with spaces': lock => lock.mode,
        then: lock => lock.mode,
        * generator() {
            yield 1;
        },
    };
    const callbacks = [
        object.method, object['a name with spaces'], object.then,
        new Proxy(object.then, {}), object.method.bind(null),
        Object.defineProperty(lock => lock.mode, 'name', {value: '\uD800'}),
        Object.assign(lock => lock.mode, {call: null, apply: null}),
        Object.setPrototypeOf(lock => lock.mode, null),
    ];
    for (const callback of callbacks)
        assert.equal(await locks.request(t.name(), callback), 'exclusive');
    const generator = await locks.request(t.name(), object.generator);
    assert.equal(generator.next().value, 1);
    // Classes are functions, but can't be called.
    await assert.rejects(locks.request(t.name(), class {}), 'TypeError');
});

test('a callback gets one argument, and no this', async t => {
    await locks.request(t.name(), function (...args) {
        assert.equal(args.length, 1, 'arguments');
        assert.equal(this, undefined, 'this');
    });
    await locks.request(t.name(), async () => {
        await locks.request(t.name(), {ifAvailable: true}, function (...args) {
            assert.equal([args.length, this], [1, undefined]);
        });
    });
});

test('a callback is never called before request() has returned', async t => {
    let hasReturned = false;
    const promise = locks.request(t.name(), () => assert.true(hasReturned, 'returned'));
    hasReturned = true;
    await promise;
});

test('results of all types are passed on', async t => {
    const results = [undefined, null, 0, '', false, NaN, 1n, Symbol.iterator, {}, [], () => {}];
    for (const result of results)
        assert.true(Object.is(await locks.request(t.name(), () => result), result), show(result));
});

test('nested thenables are resolved', async t => {
    const thenable = {then: resolve => resolve(Promise.resolve({then: next => next('end')}))};
    assert.equal(await locks.request(t.name(), () => thenable), 'end');
    const reason = new Error('of the thenable');
    await assert.rejectsWith(locks.request(t.name(), () => ({
        then(_resolve, reject) {
            reject(reason);
        },
    })), reason);
    await assert.rejectsWith(locks.request(t.name(), () => ({
        then() {
            throw reason;
        },
    })), reason);
});

await run();
