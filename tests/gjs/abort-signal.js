// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// AbortController and AbortSignal without locks.

import {AbortController, AbortSignal, DOMException} from '../../client-lib/gjs/weblocks.js';
import {assert, deferred, run, test} from './testing.js';

test('a controller has one signal, which is not aborted at first', () => {
    const controller = new AbortController();
    assert.instance(controller.signal, AbortSignal);
    assert.equal(controller.signal === controller.signal, true, 'the same signal');
    assert.equal([controller.signal.aborted, controller.signal.reason], [false, undefined]);
    assert.throws(() => new AbortSignal(), TypeError);
    controller.signal.throwIfAborted();
});

test('abort() without a reason, and AbortSignal.abort()', () => {
    const controller = new AbortController();
    controller.abort();
    const {aborted, reason} = controller.signal;
    assert.equal(aborted, true);
    assert.instance(reason, DOMException);
    assert.equal([reason.name, reason.code], ['AbortError', 20]);
    assert.equal(assert.throws(() => controller.signal.throwIfAborted(), DOMException), reason);
    controller.abort('second');
    assert.equal(controller.signal.reason === reason, true, 'the first reason stays');
    assert.equal([AbortSignal.abort(null).reason, AbortSignal.abort().reason.name], [null, 'AbortError']);
});

test('AbortSignal.timeout()', async () => {
    const signal = AbortSignal.timeout(1);
    assert.equal(signal.aborted, false);
    const {promise, resolve} = deferred();
    signal.addEventListener('abort', resolve);
    await promise;
    assert.equal([signal.aborted, signal.reason.name, signal.reason.code],
        [true, 'TimeoutError', 23]);
    for (const wrong of [-1, NaN, Infinity, 'x', undefined])
        assert.throws(() => AbortSignal.timeout(wrong), TypeError, String(wrong));
    assert.throws(() => AbortSignal.timeout(), TypeError);
});

test('AbortSignal.any() follows the first signal that is aborted', () => {
    const controllers = [new AbortController(), new AbortController()];
    const any = AbortSignal.any(controllers.map(({signal}) => signal));
    const events = [];
    any.addEventListener('abort', event => events.push(event.target === any, any.reason));
    assert.equal([any instanceof AbortSignal, any.aborted], [true, false]);
    controllers[1].abort('second');
    controllers[0].abort('first');
    assert.equal([any.aborted, any.reason, events], [true, 'second', [true, 'second']]);
});

test('AbortSignal.any() of signals that are aborted, of none, and of other things', () => {
    const {signal} = new AbortController();
    assert.equal(AbortSignal.any([signal, AbortSignal.abort(1), AbortSignal.abort(2)]).reason, 1);
    assert.equal(AbortSignal.any(new Set([signal])).aborted, false);
    assert.equal(AbortSignal.any([]).aborted, false);
    assert.equal(AbortSignal.any([AbortSignal.any([AbortSignal.abort('inner')])]).reason, 'inner');
    for (const wrong of [[{}], [signal, null], signal, null, 1])
        assert.throws(() => AbortSignal.any(wrong), TypeError);
    assert.throws(() => AbortSignal.any(), TypeError);
});

test('dispatchEvent() calls the listeners of the type, and aborts nothing', () => {
    const {signal} = new AbortController();
    const events = [];
    signal.addEventListener('other', event => events.push(event.detail));
    signal.addEventListener('abort', () => events.push('abort'), {once: true});
    assert.equal(signal.dispatchEvent({type: 'other', detail: 7}), true);
    assert.equal(signal.dispatchEvent({type: 'abort', defaultPrevented: true}), false);
    signal.dispatchEvent({type: 'abort'});
    assert.equal([events, signal.aborted], [[7, 'abort'], false]);
    for (const wrong of [null, undefined, 'abort', {}])
        assert.throws(() => signal.dispatchEvent(wrong), TypeError);
});

test('listeners are called in order, once, with an event', () => {
    const controller = new AbortController();
    const {signal} = controller;
    const events = [];
    signal.addEventListener('abort', function (event) {
        events.push('first', event.type, event.target === signal, this === signal);
    });
    signal.onabort = () => events.push('replaced');
    signal.addEventListener('abort', {handleEvent: event => events.push('object', event.type)});
    signal.addEventListener('other', () => events.push('of another type'));
    signal.onabort = () => events.push('onabort');
    controller.abort();
    controller.abort();
    assert.equal(events, ['first', 'abort', true, true, 'onabort', 'object', 'abort']);
});

test('listeners that are added twice are called once, and removed ones are not called', () => {
    const controller = new AbortController();
    const {signal} = controller;
    let calls = 0;
    const listener = () => calls++;
    const removed = () => {
        throw new Error('it was removed');
    };
    signal.addEventListener('abort', listener);
    signal.addEventListener('abort', listener, false);
    signal.addEventListener('abort', removed);
    signal.removeEventListener('abort', removed);
    signal.onabort = removed;
    signal.onabort = null;
    signal.addEventListener('abort', null);
    controller.abort();
    assert.equal(calls, 1, 'calls');
    assert.equal(signal.onabort, null);
});

test('a listener can have its own signal', () => {
    const controller = new AbortController();
    const other = new AbortController();
    let calls = 0;
    controller.signal.addEventListener('abort', () => calls++, {signal: other.signal});
    other.abort();
    controller.signal.addEventListener('abort', () => calls++, {signal: other.signal});
    controller.abort();
    assert.equal(calls, 0, 'calls');
});

test('a listener that removes the next one', () => {
    const controller = new AbortController();
    const {signal} = controller;
    const events = [];
    const second = () => events.push('second');
    signal.addEventListener('abort', () => signal.removeEventListener('abort', second));
    signal.addEventListener('abort', second);
    signal.addEventListener('abort', () => events.push('third'), {once: true});
    controller.abort();
    assert.equal(events, ['third']);
});

test('DOMException', () => {
    const plain = new DOMException();
    assert.equal([plain.name, plain.message, plain.code], ['Error', '', 0]);
    const error = new DOMException('text', 'NotSupportedError');
    assert.equal([error.name, error.message, error.code], ['NotSupportedError', 'text', 9]);
    assert.instance(error, Error);
    assert.equal(String(error), 'NotSupportedError: text');
    assert.equal(Object.prototype.toString.call(error), '[object DOMException]');
});

await run();
