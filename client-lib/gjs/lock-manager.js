// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// LockManager and Lock of the standard, implemented with the library's manager and lock.
//
// References: a pending request is kept alive by the library's operation. A held lock is kept alive
// by `heldLocks` until the promise of its callback settles, even if that promise is not reachable
// any more. A Lock that a script keeps after that is not held.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import WebLocks from 'gi://WebLocks?version=1';

import {isAbortSignal, onAbort} from './abort.js';
import {DOMException, exceptionFor} from './dom-exception.js';
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

function modeName(mode) {
    return mode === WebLocks.Mode.SHARED ? 'shared' : 'exclusive';
}

// Calls METHOD_async of an object of the library, and returns a promise for the result of
// METHOD_finish.
function call(object, method, ...args) {
    return new Promise((resolve, reject) => {
        object[`${method}_async`](...args, (source, result) => {
            try {
                resolve(source[`${method}_finish`](result));
            } catch (error) {
                reject(error);
            }
        });
    });
}

export class Lock {
    #name;
    #mode;
    #token;

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
}

export class LockManager {
    #open;
    #opened = null;

    // `open` returns the library's manager; it is called when the manager is first needed.
    constructor(key, open) {
        if (key !== KEY)
            throw new TypeError('Illegal constructor.');
        this.#open = open;
    }

    get #manager() {
        this.#opened ??= this.#open();
        return this.#opened;
    }

    // Two overloads; in both the last argument is the callback.
    async request(name, _callback) {
        const manager = this.#manager;
        const count = Math.min(arguments.length, 3);
        if (count < 2)
            throw new TypeError(`request: 2 arguments required, but only ${count} present.`);
        const request = {name: toDOMString(name, 'The name')};
        const options = count === 3 ? arguments[1] : undefined;
        Object.assign(request, toDictionary(options, LOCK_OPTIONS, 'The argument options'));
        request.callback = toCallback(arguments[count - 1], 'The callback');
        return requestLock(manager, request);
    }

    async query() {
        const snapshot = await call(this.#manager, 'query', null).catch(error => {
            throw exceptionFor(error);
        });
        return {held: lockInfos(snapshot.held), pending: lockInfos(snapshot.pending)};
    }
}

defineInterface(Lock, ['name', 'mode']);
defineInterface(LockManager, ['request', 'query']);

export function newLockManager(open) {
    return new LockManager(KEY, open);
}

function isCancelled(error) {
    return error instanceof GLib.Error &&
        error.matches(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED);
}

function libraryOptions({mode, ifAvailable, steal, timeout, why}) {
    return new WebLocks.Options({
        mode: mode === 'shared' ? WebLocks.Mode.SHARED : WebLocks.Mode.EXCLUSIVE,
        ifAvailable: ifAvailable ?? false,
        steal: steal ?? false,
        timeout: timeout ?? 0,
        why: why ?? '',
    });
}

// "Request a lock": returns the promise for request(). The library makes the checks of the method
// request() in the standard's order, except that it allows a cancellable with all options; a request
// that is cancelled before it is made is only checked. An abort settles the promise after the library has sent it to
// the service, so that a later query doesn't include the request.
function requestLock(manager, request) {
    return new Promise((resolve, reject) => {
        const {name, signal} = request;
        const cancellable = signal ? new Gio.Cancellable() : null;
        const isRefused = signal && (request.steal || request.ifAvailable);
        let forgetSignal = () => {};
        if (isRefused || signal?.aborted)
            cancellable.cancel();
        else if (signal)
            forgetSignal = onAbort(signal, () => cancellable.cancel());
        call(manager, 'request', toDBusName(name), libraryOptions(request), cancellable).then(
            lock => {
                forgetSignal();
                if (signal?.aborted) {
                    lock.release();
                    reject(signal.reason);
                } else if (lock === null) {
                    resolve(invoke(request.callback, null));
                } else {
                    hold(lock, request, resolve, reject);
                }
            },
            error => {
                forgetSignal();
                if (!isCancelled(error))
                    reject(exceptionFor(error));
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

// Releases the lock. Returns null, or the exception if the lock was not held any more.
function release(lock) {
    return call(lock, 'release', null).then(() => null, exceptionFor);
}

// Runs the callback, and holds the lock until its promise has settled. If the lock is lost before,
// the promise of request() is rejected immediately, and the callback continues.
function hold(lock, {name, callback}, resolve, reject) {
    heldLocks.add(lock);
    const lostId = lock.connect('lost', (_lock, error) => reject(exceptionFor(error)));
    // The lock may have been lost before this handler was connected. Releasing it returns the
    // reason.
    if (!lock.held)
        release(lock).then(reject);

    const waiting = invoke(callback, new Lock(KEY, name, modeName(lock.mode), lock.token));
    const settle = async isFulfilled => {
        lock.disconnect(lostId);
        const loss = await release(lock);
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
    const infos = [];
    for (let i = 0; i < list.get_n_items(); i++) {
        const info = list.get_item(i);
        infos.push({
            name: fromDBusName(info.name),
            mode: modeName(info.mode),
            clientId: info.clientId,
        });
    }
    return infos;
}
