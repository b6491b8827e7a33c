// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// LockManager and Lock of the standard, for every platform with JavaScript.
//
// A LockManager uses a backend of its platform, which is one bucket of one agent. Names are those on
// D-Bus. A backend has three methods:
//
// request(name, options, isCancelled) makes a request; `options` has mode, ifAvailable, steal, timeout,
//   why, command and slots, if they were given. If it is cancelled already, it is only checked. Returns
//   {granted, cancel()}. The promise `granted` has the platform's lock, or null if it was not available.
//   It is rejected with CANCELLED after cancel(), or with an exception (newException()).
// query() returns a promise for {held, pending}, lists of {name, mode, clientId}.
// now() returns the milliseconds of a monotonic clock.
//
// The platform's lock has `token`, `wanted` and four methods:
//
// `wanted` says whether somebody waits for the lock, and after onWanted(callback) it is called when that changes.
// onLost(callback) replaces an earlier callback; it gets the exception if the lock is lost before release().
// downgrade() returns a promise, which is rejected with an exception.
// release(done) sends the release, and then calls `done` with null, or with the exception if the lock was lost,
//   as far as the service has sent it. It does not wait for the service.
//
// References: the platform keeps pending requests alive. A held lock is kept alive by `heldLocks` until
// the promise of its callback settles, even if that promise is not reachable any more. A Lock that a
// script keeps after that is not held.

import {AbortController, isAbortSignal, onAbort} from './abort.js';
import {CANCELLED, DOMException} from './dom-exception.js';
import {fromDBusName, toDBusName, toDBusText} from './names.js';
import {
    defineInterface, promiseFrom, toCallback, toDictionary, toDOMString, toEnum, toInteger,
} from './webidl.js';

// Only this module can construct these objects.
const KEY = Symbol('LockManager');

const heldLocks = new Set();

// Where the platform has no such symbol, the one that polyfills and compilers use.
const ASYNC_DISPOSE = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');

// Locks of acquire() that are not reachable any more, and were not released.
const forgotten = new FinalizationRegistry(({name, end}) => {
    console.warn(`The lock ${JSON.stringify(name)} was forgotten, and is released: it needs 'await using', ` +
        'or release().');
    end();
});

const LOCK_OPTIONS = {
    ifAvailable: Boolean,
    mode: value => toEnum(value, ['shared', 'exclusive'], 'The mode'),
    signal: toAbortSignal,
    steal: Boolean,
    // Not of the standard.
    command: value => toDBusText(toDOMString(value, 'The option command')),
    slots: value => toInteger(value, 0xffffffff, 'The option slots'),
    timeout: value => toInteger(value, 0xffffffff, 'The timeout'),
    why: value => toDBusText(toDOMString(value, 'The option why')),
};

function toAbortSignal(value) {
    if (!isAbortSignal(value))
        throw new TypeError('The signal is not an AbortSignal.');
    return value;
}

// What a lock is, apart from the object of the script for it: `platform` is the platform's lock, `loss` the
// exception, `controller` that of the signal `lost`, and `reported` the value of `wanted` that `onWanted` was
// last called for.
function newState({name, mode}, platform) {
    return {name, mode: mode ?? 'exclusive', platform, loss: null, controller: null, onWanted: null,
        isListening: false, reported: null};
}

function doNothing() {
}

function lose(state, exception) {
    state.loss ??= exception;
    state.controller?.abort(state.loss);
}

export class Lock {
    #state;

    constructor(key, state) {
        if (key !== KEY)
            throw new TypeError('Illegal constructor.');
        this.#state = state;
    }

    get name() {
        return this.#state.name;
    }

    get mode() {
        return this.#state.mode;
    }

    // An extension of the standard: the fencing token, a number that grows within a bucket.
    get token() {
        return this.#state.platform.token;
    }

    // Another one: whether somebody waits for the lock. `onwanted` is called when that changes, and after the
    // callback of request() has returned if somebody waits already.
    get wanted() {
        return isWanted(this.#state);
    }

    get onwanted() {
        return this.#state.onWanted;
    }

    set onwanted(callback) {
        const state = this.#state;
        state.onWanted = typeof callback === 'function' ? callback : null;
        if (state.isListening || state.onWanted === null || !heldLocks.has(state.platform))
            return;
        state.isListening = true;
        state.platform.onWanted(() => reportWanted(state));
    }

    // Another one: makes an exclusive lock shared, without a gap.
    async downgrade() {
        await this.#state.platform.downgrade();
        this.#state.mode = 'shared';
    }

    // An extension of the standard: an AbortSignal that is aborted if the lock is lost while the
    // callback runs. Its reason is the exception with which request() is rejected.
    get lost() {
        const state = this.#state;
        if (state.controller === null) {
            state.controller = new AbortController();
            if (state.loss !== null)
                state.controller.abort(state.loss);
        }
        return state.controller.signal;
    }
}

// The lock of acquire(). Nothing refers to it but the script, so that it can be forgotten.
class AcquiredLock extends Lock {
    #end; // ends what holds the lock
    #done; // the promise for that

    constructor(key, state, end, done) {
        super(key, state);
        this.#end = end;
        this.#done = done;
        forgotten.register(this, {name: state.name, end}, this);
    }

    // Returns a promise, which is rejected with the exception if the lock was lost before.
    release() {
        forgotten.unregister(this);
        this.#end();
        return this.#done;
    }

    [ASYNC_DISPOSE]() {
        return this.release();
    }
}

export class LockManager {
    #open;
    #opened = null;

    // `open` returns the backend; it is called when the manager is first needed.
    constructor(key, open) {
        if (key !== KEY)
            throw new TypeError('Illegal constructor.');
        this.#open = open;
    }

    get #backend() {
        this.#opened ??= this.#open();
        return this.#opened;
    }

    // Two overloads; in both the last argument is the callback.
    request(name, _callback) {
        return promiseFrom(() => {
            const backend = this.#backend;
            const count = Math.min(arguments.length, 3);
            if (count < 2)
                throw new TypeError(`request: 2 arguments required, but only ${count} present.`);
            const request = {name: toDOMString(name, 'The name')};
            const options = count === 3 ? arguments[1] : undefined;
            Object.assign(request, toDictionary(options, LOCK_OPTIONS, 'The argument options'));
            request.callback = toCallback(arguments[count - 1], 'The callback');
            return requestLock(backend, request);
        });
    }

    // An extension of the standard: several locks, all or none. They are requested one after the other in the
    // order of the names on D-Bus, as the library does it, so that callers that need some of the same locks
    // can't deadlock [5.1]. The callback gets them in this order.
    requestMany(names, _callback) {
        return promiseFrom(() => {
            const backend = this.#backend;
            const count = Math.min(arguments.length, 3);
            if (count < 2)
                throw new TypeError(`requestMany: 2 arguments required, but only ${count} present.`);
            if (typeof names !== 'object' || typeof names?.[Symbol.iterator] !== 'function')
                throw new TypeError('The names are not a list.');
            const strings = [...names].map(name => toDOMString(name, 'A name'));
            const options = count === 3 ? arguments[1] : undefined;
            const request = toDictionary(options, LOCK_OPTIONS, 'The argument options');
            request.callback = toCallback(arguments[count - 1], 'The callback');
            return requestAll(backend, strings, request);
        });
    }

    // An experiment, after w3c/web-locks#122: without a callback, the lock is held until its release(), or the end
    // of a block with `await using`. request() without a callback is a TypeError, as in web pages.
    acquire(name, options = undefined) {
        return promiseFrom(() => {
            const backend = this.#backend;
            if (arguments.length < 1)
                throw new TypeError('acquire: 1 argument required, but only 0 present.');
            if (typeof options === 'function')
                throw new TypeError('acquire: no callback is called; request() calls one.');
            const request = {name: toDOMString(name, 'The name')};
            Object.assign(request, toDictionary(options, LOCK_OPTIONS, 'The argument options'));
            return new Promise((resolve, reject) => {
                acquire(backend, request, lock => resolve(lock && holdAcquired(newState(request, lock))), reject);
            });
        });
    }

    query() {
        return promiseFrom(async () => {
            const {held, pending} = await this.#backend.query();
            return {held: lockInfos(held), pending: lockInfos(pending)};
        });
    }
}

defineInterface(Lock, ['name', 'mode']);
defineInterface(LockManager, ['request', 'query']);

export function newLockManager(open) {
    return new LockManager(KEY, open);
}

// Requests a lock, and calls `take` with the platform's lock, or null if it was not available, or `reject`. The
// library makes the checks of the method request() in the standard's order, except that it can cancel requests
// with all options; a request that is cancelled before it is made is only checked. An abort settles the promise
// after the library has sent it to the service, so that a later query doesn't include the request.
function acquire(backend, request, take, reject) {
    const {name, signal} = request;
    const isRefused = signal && (request.steal || request.ifAvailable);
    const isCancelled = Boolean(isRefused || signal?.aborted);
    const {granted, cancel} = backend.request(toDBusName(name), request, isCancelled);
    const forgetSignal = signal && !isCancelled ? onAbort(signal, cancel) : doNothing;
    granted.then(
        lock => {
            forgetSignal();
            if (signal?.aborted) {
                lock?.release(doNothing);
                reject(signal.reason);
            } else {
                take(lock);
            }
        },
        error => {
            forgetSignal();
            if (error !== CANCELLED)
                reject(error);
            else
                reject(isRefused ? refusedSignal() : signal.reason);
        });
}

// "Request a lock": returns the promise for request().
function requestLock(backend, request) {
    return new Promise((resolve, reject) => {
        acquire(backend, request, lock => {
            if (lock === null) {
                resolve(invoke(request.callback, null));
            } else {
                const state = newState(request, lock);
                hold([state], request.callback, new Lock(KEY, state), resolve, reject);
            }
        }, reject);
    });
}

// Returns the promise for requestMany(). The loss of one lock ends the wait for the others.
function requestAll(backend, strings, request) {
    const names = [...new Set(strings)].sort(compareNames);
    const deadline = backend.now() + (request.timeout ?? 0);
    const isWaiting = !request.steal && !request.ifAvailable;
    const {signal} = request;
    const controller = new AbortController();
    const held = [];

    return new Promise((resolve, reject) => {
        const abort = () => controller.abort(signal.reason);
        const forgetSignal = signal && !signal.aborted ? onAbort(signal, abort) : doNothing;
        const fail = reason => {
            forgetSignal();
            held.forEach(lock => lock.release(doNothing));
            reject(reason);
        };
        const next = () => {
            if (held.length === names.length) {
                forgetSignal();
                const states = held.map((lock, i) => newState({...request, name: names[i]}, lock));
                const given = states.map(state => new Lock(KEY, state));
                hold(states, request.callback, given, resolve, reject);
                return;
            }
            acquire(backend, {
                ...request,
                name: names[held.length],
                timeout: request.timeout ? Math.max(Math.ceil(deadline - backend.now()), 1) : 0,
                signal: isWaiting ? controller.signal : signal,
            }, lock => {
                if (lock === null) {
                    held.forEach(other => other.release(doNothing));
                    resolve(invoke(request.callback, null));
                    return;
                }
                held.push(lock);
                lock.onLost(exception => controller.abort(exception));
                if (controller.signal.aborted)
                    fail(controller.signal.reason);
                else
                    next();
            }, fail);
        };
        if (signal?.aborted)
            abort();
        next();
    });
}

// In the order of their bytes in UTF-8, in which surrogate pairs follow all other characters.
function compareNames(left, right) {
    const [first, second] = [toDBusName(left), toDBusName(right)];
    const rank = unit => unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
    for (let i = 0; i < first.length && i < second.length; i++) {
        const difference = rank(first.charCodeAt(i)) - rank(second.charCodeAt(i));
        if (difference !== 0)
            return difference;
    }
    return first.length - second.length;
}

function refusedSignal() {
    return new DOMException('A signal can not be combined with steal or ifAvailable.',
        'NotSupportedError');
}

// Invokes the callback and returns a promise for its result. An exception becomes the reason of the
// rejection, even if it has a method `then`; a returned value with such a method is awaited.
function invoke(callback, argument) {
    return new Promise(resolve => resolve(callback(argument)));
}

function isWanted({platform}) {
    return heldLocks.has(platform) && platform.wanted;
}

// The platform may report what was seen already.
function reportWanted(state) {
    const wanted = isWanted(state);
    if (wanted === state.reported)
        return;
    state.reported = wanted;
    state.onWanted?.();
}

// Runs the callback with its argument, the object or objects of the script for the locks, and holds these until its
// promise has settled. If a lock is lost before, the promise of request() is rejected immediately, and the callback
// continues.
function hold(states, callback, argument, resolve, reject) {
    for (const state of states) {
        heldLocks.add(state.platform);
        state.platform.onLost(exception => {
            reject(exception);
            lose(state, exception);
        });
    }

    const waiting = invoke(callback, argument);
    const settle = isFulfilled => releaseAll(states, loss => {
        // The exception of the callback takes precedence over the loss of a connection.
        if (loss !== null && (isFulfilled || loss.name === 'AbortError'))
            reject(loss);
        else
            resolve(waiting);
    });
    waiting.then(() => settle(true), () => settle(false));
    for (const state of states)
        if (state.onWanted !== null && isWanted(state))
            reportWanted(state);
}

// Calls `done` with the first loss, or null, when all releases were sent.
function releaseAll(states, done) {
    let first = null;
    let left = states.length;
    const end = () => {
        if (left-- === 0)
            done(first);
    };
    for (const state of states) {
        state.platform.release(loss => {
            heldLocks.delete(state.platform);
            if (loss !== null)
                lose(state, loss);
            first ??= state.loss;
            end();
        });
    }
    end();
}

// Holds a lock without a callback, and returns the object of the script for it. What is made here has no reference
// to that object, nor to the promise of acquire().
function holdAcquired(state) {
    let end;
    const ended = new Promise(resolve => (end = resolve));
    const done = new Promise((resolve, reject) => hold([state], () => ended, null, resolve, reject));
    done.catch(() => {});
    return new AcquiredLock(KEY, state, end, done);
}

// The members of a dictionary are in alphabetical order.
function lockInfos(list) {
    return list.map(({clientId, mode, name}) => ({clientId, mode, name: fromDBusName(name)}));
}
