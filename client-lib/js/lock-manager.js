// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// LockManager and Lock of the standard, for every platform with JavaScript.
//
// A LockManager uses a backend of its platform, which is one bucket of one agent. Names are those on
// D-Bus. A backend has two methods:
//
// request(name, options, isCancelled) makes a request; `options` has mode, ifAvailable, steal, timeout
//   and why, if they were given. If it is cancelled already, it is only checked. Returns
//   {granted, cancel()}. The promise `granted` has the platform's lock, or null if it was not available.
//   It is rejected with CANCELLED after cancel(), or with an exception (newException()).
// query() returns a promise for {held, pending}, lists of {name, mode, clientId}.
//
// The platform's lock has `token` and two methods:
//
// onLost(callback) is called once; `callback` gets the exception if the lock is lost before release().
// release() returns a promise for null, or for the exception if the lock was not held any more.
//
// References: the platform keeps pending requests alive. A held lock is kept alive by `heldLocks` until
// the promise of its callback settles, even if that promise is not reachable any more. A Lock that a
// script keeps after that is not held.

import {AbortController, isAbortSignal, onAbort} from './abort.js';
import {CANCELLED, DOMException} from './dom-exception.js';
import {fromDBusName, toDBusName, toDBusText} from './names.js';
import {
    defineInterface, toCallback, toDictionary, toDOMString, toEnum, toInteger,
} from './webidl.js';

// Only this module can construct these objects.
const KEY = Symbol('LockManager');

const heldLocks = new Set();

const LOCK_OPTIONS = {
    ifAvailable: Boolean,
    mode: value => toEnum(value, ['shared', 'exclusive'], 'The mode'),
    signal: toAbortSignal,
    steal: Boolean,
    // Not of the standard.
    timeout: value => toInteger(value, 0xffffffff, 'The timeout'),
    why: value => toDBusText(toDOMString(value, 'The option why')),
};

function toAbortSignal(value) {
    if (!isAbortSignal(value))
        throw new TypeError('The signal is not an AbortSignal.');
    return value;
}

let loseLock;

export class Lock {
    #name;
    #mode;
    #token;
    #loss = null; // the exception
    #controller = null; // of the signal `lost`

    static {
        loseLock = (lock, exception) => {
            lock.#loss ??= exception;
            lock.#controller?.abort(lock.#loss);
        };
    }

    constructor(key, name, mode, token) {
        if (key !== KEY)
            throw new TypeError('Illegal constructor.');
        this.#name = name;
        this.#mode = mode;
        this.#token = token;
    }

    get name() {
        return this.#name;
    }

    get mode() {
        return this.#mode;
    }

    // An extension of the standard: the fencing token, a number that grows within a bucket.
    get token() {
        return this.#token;
    }

    // An extension of the standard: an AbortSignal that is aborted if the lock is lost while the
    // callback runs. Its reason is the exception with which request() is rejected.
    get lost() {
        if (this.#controller === null) {
            this.#controller = new AbortController();
            if (this.#loss !== null)
                this.#controller.abort(this.#loss);
        }
        return this.#controller.signal;
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
    async request(name, _callback) {
        const backend = this.#backend;
        const count = Math.min(arguments.length, 3);
        if (count < 2)
            throw new TypeError(`request: 2 arguments required, but only ${count} present.`);
        const request = {name: toDOMString(name, 'The name')};
        const options = count === 3 ? arguments[1] : undefined;
        Object.assign(request, toDictionary(options, LOCK_OPTIONS, 'The argument options'));
        request.callback = toCallback(arguments[count - 1], 'The callback');
        return requestLock(backend, request);
    }

    async query() {
        const {held, pending} = await this.#backend.query();
        return {held: lockInfos(held), pending: lockInfos(pending)};
    }
}

defineInterface(Lock, ['name', 'mode']);
defineInterface(LockManager, ['request', 'query']);

export function newLockManager(open) {
    return new LockManager(KEY, open);
}

// "Request a lock": returns the promise for request(). The library makes the checks of the method
// request() in the standard's order, except that it can cancel requests with all options; a request
// that is cancelled before it is made is only checked. An abort settles the promise after the library has sent it to
// the service, so that a later query doesn't include the request.
function requestLock(backend, request) {
    return new Promise((resolve, reject) => {
        const {name, signal} = request;
        const isRefused = signal && (request.steal || request.ifAvailable);
        const isCancelled = Boolean(isRefused || signal?.aborted);
        const {granted, cancel} = backend.request(toDBusName(name), request, isCancelled);
        const forgetSignal = signal && !isCancelled ? onAbort(signal, cancel) : () => {};
        granted.then(
            lock => {
                forgetSignal();
                if (signal?.aborted) {
                    lock?.release();
                    reject(signal.reason);
                } else if (lock === null) {
                    resolve(invoke(request.callback, null));
                } else {
                    hold(lock, request, resolve, reject);
                }
            },
            error => {
                forgetSignal();
                if (error !== CANCELLED)
                    reject(error);
                else
                    reject(isRefused ? refusedSignal() : signal.reason);
            }).catch(reject);
    });
}

function refusedSignal() {
    return new DOMException('A signal can not be combined with steal or ifAvailable.',
        'NotSupportedError');
}

// Invokes the callback and returns a promise for its result. An exception becomes the reason of the
// rejection, even if it has a method `then`; a returned value with such a method is awaited.
function invoke(callback, lock) {
    return new Promise(resolve => resolve(callback(lock)));
}

// Runs the callback, and holds the lock until its promise has settled. If the lock is lost before,
// the promise of request() is rejected immediately, and the callback continues.
function hold(lock, {name, mode, callback}, resolve, reject) {
    const given = new Lock(KEY, name, mode ?? 'exclusive', lock.token);
    heldLocks.add(lock);
    lock.onLost(exception => {
        reject(exception);
        loseLock(given, exception);
    });

    const waiting = invoke(callback, given);
    const settle = async isFulfilled => {
        const loss = await lock.release();
        heldLocks.delete(lock);
        // The exception of the callback takes precedence over an error of the release.
        if (loss !== null && (isFulfilled || loss.name === 'AbortError'))
            reject(loss);
        else
            resolve(waiting);
    };
    waiting.then(() => settle(true), () => settle(false));
}

function lockInfos(list) {
    return list.map(info => ({...info, name: fromDBusName(info.name)}));
}
