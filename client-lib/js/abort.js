// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// AbortController and AbortSignal: those of the platform, or replacements if it has none, as GJS. Where there
// is no Event either, dispatchEvent() of the replacements takes any object with a type.

import {DOMException} from './dom-exception.js';
import {toInteger} from './webidl.js';

// Only this file can construct signals.
const KEY = Symbol('AbortSignal');
const LONGEST_TIMER = 0x7fffffff;

let abortSignal, addAlgorithm, removeAlgorithm, isOwnSignal;

class AbortEvent {
    constructor(target) {
        Object.assign(this, {type: 'abort', target, currentTarget: target, isTrusted: true});
        Object.freeze(this);
    }
}

class OwnAbortSignal {
    #aborted = false;
    #reason = undefined;
    #algorithms = new Set();
    #listeners = [];
    #onabort = null;
    #onabortListener = null;

    static {
        abortSignal = (signal, reason) => signal.#abort(reason);
        addAlgorithm = (signal, algorithm) => signal.#algorithms.add(algorithm);
        removeAlgorithm = (signal, algorithm) => signal.#algorithms.delete(algorithm);
        isOwnSignal = value => typeof value === 'object' && value !== null && #aborted in value;
    }

    constructor(key) {
        if (key !== KEY)
            throw new TypeError('Illegal constructor.');
    }

    static abort(reason = undefined) {
        const signal = new OwnAbortSignal(KEY);
        signal.#abort(reason);
        return signal;
    }

    static timeout(milliseconds) {
        if (arguments.length < 1)
            throw new TypeError('AbortSignal.timeout: 1 argument required, but only 0 present.');
        let left = toInteger(milliseconds, Number.MAX_SAFE_INTEGER, 'The time-out');
        const signal = new OwnAbortSignal(KEY);
        const wait = () => {
            const step = Math.min(left, LONGEST_TIMER);
            left -= step;
            setTimeout(() => {
                if (left > 0)
                    wait();
                else
                    signal.#abort(new DOMException('The operation timed out.', 'TimeoutError'));
            }, step);
        };
        wait();
        return signal;
    }

    // The signals refer to the new one until one of them is aborted.
    static any(signals) {
        if (arguments.length < 1)
            throw new TypeError('AbortSignal.any: 1 argument required, but only 0 present.');
        const sources = [...signals];
        if (!sources.every(isAbortSignal))
            throw new TypeError('AbortSignal.any: not only AbortSignals.');
        const signal = new OwnAbortSignal(KEY);
        const aborted = sources.find(source => source.aborted);
        if (aborted !== undefined) {
            signal.#abort(aborted.reason);
            return signal;
        }
        const forget = sources.map(source => onAbort(source, () => {
            forget.forEach(function_ => function_());
            signal.#abort(source.reason);
        }));
        return signal;
    }

    get aborted() {
        return this.#aborted;
    }

    get reason() {
        return this.#reason;
    }

    throwIfAborted() {
        if (this.#aborted)
            throw this.#reason;
    }

    get onabort() {
        return this.#onabort;
    }

    set onabort(value) {
        this.#onabort = typeof value === 'function' || typeof value === 'object' ? value : null;
        // The handler is called in the order in which the first one was set, as in browsers.
        if (this.#onabort !== null && this.#onabortListener === null) {
            this.#onabortListener = event => {
                if (typeof this.#onabort === 'function')
                    Reflect.apply(this.#onabort, this, [event]);
            };
            this.#listeners.push({type: 'abort', callback: this.#onabortListener});
        } else if (this.#onabort === null && this.#onabortListener !== null) {
            this.removeEventListener('abort', this.#onabortListener);
            this.#onabortListener = null;
        }
    }

    addEventListener(type, callback, options = undefined) {
        if (arguments.length < 2)
            throw new TypeError('addEventListener: 2 arguments required.');
        const {capture, once, signal} = listenerOptions(type, callback, options);
        type = `${type}`;
        if (signal !== undefined && !isAbortSignal(signal))
            throw new TypeError('The signal of a listener must be an AbortSignal.');
        if ((callback ?? null) === null || signal?.aborted || this.#find(type, callback, capture))
            return;
        this.#listeners.push({type, callback, capture, once});
        if (signal !== undefined)
            onAbort(signal, () => this.removeEventListener(type, callback, {capture}));
    }

    removeEventListener(type, callback, options = undefined) {
        if (arguments.length < 2)
            throw new TypeError('removeEventListener: 2 arguments required.');
        const {capture} = listenerOptions(type, callback, options);
        this.#remove(this.#find(`${type}`, callback, capture));
    }

    dispatchEvent(event) {
        if (typeof event !== 'object' || event === null || !('type' in event))
            throw new TypeError('dispatchEvent: not an event.');
        this.#dispatch(event);
        return !event.defaultPrevented;
    }

    #find(type, callback, capture) {
        return this.#listeners.find(listener => listener.type === type &&
            listener.callback === callback && Boolean(listener.capture) === capture);
    }

    #remove(listener) {
        const index = this.#listeners.indexOf(listener);
        if (index >= 0)
            this.#listeners.splice(index, 1);
    }

    #abort(reason) {
        if (this.#aborted)
            return;
        this.#aborted = true;
        this.#reason = reason === undefined
            ? new DOMException('The operation was aborted.', 'AbortError') : reason;
        const algorithms = [...this.#algorithms];
        this.#algorithms.clear();
        for (const algorithm of algorithms)
            algorithm();
        this.#dispatch(new AbortEvent(this));
    }

    // An exception in a listener is reported, and the others are still called.
    #dispatch(event) {
        for (const listener of [...this.#listeners]) {
            const {type, callback, once} = listener;
            if (type !== `${event.type}` || !this.#listeners.includes(listener))
                continue;
            if (once)
                this.#remove(listener);
            try {
                if (typeof callback === 'function')
                    Reflect.apply(callback, this, [event]);
                else
                    callback.handleEvent(event);
            } catch (error) {
                logError(error, 'A listener of an AbortSignal failed');
            }
        }
    }

    get [Symbol.toStringTag]() {
        return 'AbortSignal';
    }
}

function listenerOptions(type, callback, options) {
    if (callback !== null && callback !== undefined &&
        typeof callback !== 'function' && typeof callback !== 'object')
        throw new TypeError('A listener must be a function or an object.');
    if (typeof options === 'object' && options !== null) {
        return {
            capture: Boolean(options.capture),
            once: Boolean(options.once),
            signal: options.signal,
        };
    }
    return {capture: Boolean(options), once: false, signal: undefined};
}

class OwnAbortController {
    #signal = new OwnAbortSignal(KEY);

    get signal() {
        return this.#signal;
    }

    abort(reason = undefined) {
        abortSignal(this.#signal, reason);
    }

    get [Symbol.toStringTag]() {
        return 'AbortController';
    }
}

Object.defineProperties(OwnAbortSignal, {
    name: {value: 'AbortSignal', configurable: true},
    length: {value: 0, configurable: true},
});
Object.defineProperty(OwnAbortController, 'name', {value: 'AbortController', configurable: true});

const hasPlatform = 'AbortController' in globalThis && 'AbortSignal' in globalThis;
export const AbortController = hasPlatform ? globalThis.AbortController : OwnAbortController;
export const AbortSignal = hasPlatform ? globalThis.AbortSignal : OwnAbortSignal;

export function isAbortSignal(value) {
    return isOwnSignal(value) || (hasPlatform && value instanceof globalThis.AbortSignal);
}

// Adds an abort algorithm to a signal that is not aborted. Returns a function that removes it. On
// the replacement signals, abort algorithms run before all listeners, as the DOM standard requires.
export function onAbort(signal, algorithm) {
    if (isOwnSignal(signal)) {
        addAlgorithm(signal, algorithm);
        return () => removeAlgorithm(signal, algorithm);
    }
    signal.addEventListener('abort', algorithm, {once: true});
    return () => signal.removeEventListener('abort', algorithm);
}
