// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The backends of lib/lock-manager.js in Node.js: the library by the addon (src/addon.c).
//
// Each operation has a number; a lock has that of its request. What a program asks for in one turn of the
// event loop is passed to the addon at the end of the turn, and goes to the service in one packet. The answer
// is often there in the next turn, and is taken then.

'use strict';

const fs = require('node:fs');
const path = require('node:path');
const process = require('node:process');
const {setImmediate} = require('node:timers');

const {CANCELLED, newException} = require('./lib/dom-exception.js');

// The flags of request() in src/addon.c.
const SHARED = 1;
const IF_AVAILABLE = 2;
const STEAL = 4;
const CAN_BE_CANCELLED = 8;
const IS_CANCELLED = 16;

const calls = new Map(); // number -> the functions of the promise
const held = new Map(); // number -> PlatformLock
let count = 0;
let addon = null;

// ---- the addon

// Built here from the source, or else the prebuilt one.
function addonPath() {
    const built = path.join(__dirname, 'build', 'weblocks.node');
    return fs.existsSync(built) ? built
        : path.join(__dirname, 'prebuilds', `linux-${process.arch}`, 'weblocks.node');
}

// The object is linked with libweblocks. If it can't be loaded, requests are rejected, and the next one
// tries again.
function load() {
    if (addon !== null)
        return;
    try {
        addon = require(addonPath()).start(settle, lose, want);
    } catch (error) {
        const [line] = error.message.split('\n');
        throw newException('unavailable', `could not load libweblocks: ${line}`, error);
    }
}

function settle(number, code, value) {
    const {resolve, reject} = calls.get(number);
    calls.delete(number);
    if (code === null)
        resolve(value);
    else
        reject(code === 'cancelled' ? CANCELLED : newException(code, value));
}

function lose(number, code, message) {
    held.get(number)?.lose(newException(code, message));
}

function want(number, _code, isWanted) {
    held.get(number)?.want(isWanted);
}

// ---- what is passed to the addon

let operations = [];
let isLooking = false;

function runAll(batch) {
    for (const operation of batch)
        operation();
}

function flush() {
    const batch = operations;
    operations = [];
    addon.run(() => runAll(batch), batch.length > 1);
    lookSoon(!isLooking);
}

function lookSoon(isWanted) {
    isLooking ||= isWanted;
    if (isWanted)
        setImmediate(look);
}

function look() {
    isLooking = false;
    lookSoon(addon.look());
}

function append(operation) {
    if (operations.push(operation) === 1)
        process.nextTick(flush);
}

// Appends an operation, and returns a promise for its result.
function call(number, operation) {
    return new Promise((resolve, reject) => {
        calls.set(number, {resolve, reject});
        append(operation);
    });
}

class PlatformLock {
    #number;
    #loss = null;
    #callback = null;
    #onWanted = null;
    wanted = false;

    constructor(number, token) {
        this.#number = number;
        this.token = token;
        held.set(number, this);
    }

    lose(exception) {
        this.#loss = exception;
        this.#callback?.(exception);
    }

    onLost(callback) {
        this.#callback = callback;
        if (this.#loss !== null)
            callback(this.#loss);
    }

    want(isWanted) {
        this.wanted = isWanted;
        this.#onWanted?.();
    }

    onWanted(callback) {
        this.#onWanted = callback;
    }

    downgrade() {
        if (!held.has(this.#number))
            return Promise.reject(newException('not-held', 'The lock is not held.'));
        const number = ++count;
        return call(number, () => addon.downgrade(number, this.#number));
    }

    release() {
        const number = this.#number;
        held.delete(number);
        return call(number, () => addon.release(number)).catch(exception => exception);
    }
}

function flagsOf({mode, ifAvailable, steal, signal}, isCancelled) {
    return (mode === 'shared' ? SHARED : 0) | (ifAvailable ? IF_AVAILABLE : 0) |
        (steal ? STEAL : 0) | (signal ? CAN_BE_CANCELLED : 0) | (isCancelled ? IS_CANCELLED : 0);
}

class Backend {
    #bucket;

    // `bucket` is null for the default one.
    constructor(bucket) {
        this.#bucket = bucket;
    }

    request(name, options, isCancelled) {
        load();
        const number = ++count;
        const granted = new Promise((resolve, reject) => {
            calls.set(number, {
                resolve: token => resolve(token === null ? null : new PlatformLock(number, token)),
                reject,
            });
            append(() => addon.request(number, this.#bucket, name, flagsOf(options, isCancelled),
                options.timeout ?? 0, options.why, options.slots ?? 1, options.command));
        });
        return {granted, cancel: () => append(() => addon.cancel(number))};
    }

    async query() {
        load();
        const number = ++count;
        return call(number, () => addon.query(number, this.#bucket));
    }
}

module.exports = {Backend};
