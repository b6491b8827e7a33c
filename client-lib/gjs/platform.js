// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The backends of ../js/lock-manager.js in GJS: the library by its introspection data.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import WebLocks from 'gi://WebLocks?version=1';

import {CANCELLED, newException} from '../js/dom-exception.js';

const CODES = new Map([
    [WebLocks.Error.NOT_SUPPORTED, 'not-supported'],
    [WebLocks.Error.SECURITY, 'security'],
    [WebLocks.Error.INVALID_STATE, 'invalid-state'],
    [WebLocks.Error.CLOSED, 'closed'],
    [WebLocks.Error.STOLEN, 'stolen'],
    [WebLocks.Error.LOST, 'lost'],
    [WebLocks.Error.TIMEOUT, 'timeout'],
    [WebLocks.Error.NOT_HELD, 'not-held'],
    [WebLocks.Error.LIMITS, 'limits'],
    [WebLocks.Error.UNAVAILABLE, 'unavailable'],
]);

function exceptionFor(error) {
    if (!(error instanceof GLib.Error))
        return error;
    let code = 'unknown';
    if (error.matches(Gio.IOErrorEnum, Gio.IOErrorEnum.INVALID_ARGUMENT))
        code = 'invalid-argument';
    else if (error.matches(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED))
        code = 'cancelled';
    else if (error instanceof WebLocks.Error)
        code = CODES.get(error.code) ?? code;
    return newException(code, error.message, error);
}

// Calls METHOD_async of an object of the library, and returns a promise for the result of
// METHOD_finish.
function call(object, method, ...args) {
    return new Promise((resolve, reject) => {
        object[`${method}_async`](...args, (source, result) => {
            try {
                resolve(source[`${method}_finish`](result));
            } catch (error) {
                reject(exceptionFor(error));
            }
        });
    });
}

class PlatformLock {
    #lock;
    #lostId;
    #wantedId = 0;
    #loss = null;
    #callback = null;

    // In the callback of the request: a loss is reported by a later one.
    constructor(lock) {
        this.#lock = lock;
        this.#lostId = lock.connect('lost', (_lock, error) => this.#lose(exceptionFor(error)));
    }

    get token() {
        return this.#lock.token;
    }

    get wanted() {
        return this.#lock.wanted;
    }

    onWanted(callback) {
        this.#wantedId = this.#lock.connect('notify::wanted', callback);
    }

    #lose(exception) {
        this.#loss = exception;
        this.#callback?.(exception);
    }

    onLost(callback) {
        this.#callback = callback;
        if (this.#loss !== null)
            callback(this.#loss);
    }

    downgrade() {
        return call(this.#lock, 'downgrade', null);
    }

    release(done) {
        this.#lock.disconnect(this.#lostId);
        if (this.#wantedId !== 0)
            this.#lock.disconnect(this.#wantedId);
        const error = this.#lock.get_error();
        this.#lock.release();
        done(error && exceptionFor(error));
    }
}

function modeName(mode) {
    return mode === WebLocks.Mode.SHARED ? 'shared' : 'exclusive';
}

// Returns null for the defaults, since to make an object takes longer than a request.
function libraryOptions({mode, ifAvailable, steal, timeout, why, command, slots}) {
    if (mode !== 'shared' && !ifAvailable && !steal && !timeout && !why && !command && (slots ?? 1) === 1)
        return null;
    return new WebLocks.Options({
        mode: mode === 'shared' ? WebLocks.Mode.SHARED : WebLocks.Mode.EXCLUSIVE,
        ifAvailable: ifAvailable ?? false,
        steal: steal ?? false,
        timeout: timeout ?? 0,
        why: why ?? '',
        command: command ?? '',
        slots: slots ?? 1,
    });
}

function lockInfos(list) {
    const infos = [];
    for (let i = 0; i < list.get_n_items(); i++) {
        const {name, mode, clientId} = list.get_item(i);
        infos.push({name, mode: modeName(mode), clientId});
    }
    return infos;
}

export class Backend {
    #manager;

    // `manager` is a WebLocks.Manager.
    constructor(manager) {
        this.#manager = manager;
    }

    request(name, options, isCancelled) {
        const cancellable = options.signal ? new Gio.Cancellable() : null;
        if (isCancelled)
            cancellable.cancel();
        const granted = new Promise((resolve, reject) => {
            this.#manager.request_async(name, libraryOptions(options), cancellable, (manager, result) => {
                try {
                    const lock = manager.request_finish(result);
                    resolve(lock && new PlatformLock(lock));
                } catch (error) {
                    const exception = exceptionFor(error);
                    reject(exception.cause?.code === 'cancelled' ? CANCELLED : exception);
                }
            });
        });
        return {granted, cancel: () => cancellable.cancel()};
    }

    now() {
        return GLib.get_monotonic_time() / 1000;
    }

    async query() {
        const snapshot = await call(this.#manager, 'query', null);
        return {held: lockInfos(snapshot.held), pending: lockInfos(snapshot.pending)};
    }
}
