// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The backends of lib/lock-manager.js in Node.js: the library by the addon (src/addon.c).
//
// Each operation has a number; a lock has that of its request. What a program asks for in one tick is passed to
// the addon at the end of the tick, and goes to the service in one packet. The answer is often there within
// microseconds, so it is looked for immediately, LOOKS_MAX times in one turn of the event loop. What is not
// there then is looked for in the next turn, and after that a thread waits for it.

'use strict';

const fs = require('node:fs');
const path = require('node:path');
const {performance} = require('node:perf_hooks');
const process = require('node:process');
const {setImmediate} = require('node:timers');

const {CANCELLED, newException} = require('./lib/dom-exception.js');

// The flags of request() in src/addon.c.
const SHARED = 1;
const IF_AVAILABLE = 2;
const STEAL = 4;
const CAN_BE_CANCELLED = 8;
const IS_CANCELLED = 16;

// How often answers are looked for in one turn of the event loop: then timers and other work have their turn.
const LOOKS_MAX = 16;

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
        resolve(typeof value === 'number' ? new PlatformLock(number, value) : value);
    else
        reject(code === 'cancelled' ? CANCELLED : newException(code, value));
}

function lose(number, code, message) {
    held.get(number)?.lose(newException(code, message));
}

function want(number) {
    held.get(number)?.want();
}

// ---- what is passed to the addon

// Functions that call the addon, and may return what is to be called once it is sent.
let operations = [];
let isExpecting = false; // an answer
let isTurnDue = false;
let looks = 0; // in this turn of the event loop

function runAll(batch) {
    const ends = [];
    addon.batch(() => batch.forEach(operation => ends.push(operation())));
    ends.forEach(end => end?.());
}

function flush() {
    const batch = operations;
    operations = [];
    if (batch.length > 1)
        runAll(batch);
    else
        batch[0]()?.();
    if (isExpecting && looks < LOOKS_MAX)
        look();
    if (!isTurnDue) {
        isTurnDue = true;
        setImmediate(turn);
    }
}

// Settles with the results that are there. Returns whether there were any.
function look() {
    looks++;
    const wasAnswered = addon.look(isExpecting);
    if (wasAnswered)
        isExpecting = false;
    return wasAnswered;
}

function turn() {
    looks = 0;
    isTurnDue = look();
    if (isTurnDue)
        setImmediate(turn);
    else
        addon.wait();
}

function append(operation) {
    if (operations.push(operation) === 1)
        process.nextTick(flush);
}

// Appends an operation, and returns a promise for its result.
function call(number, operation) {
    return new Promise((resolve, reject) => {
        calls.set(number, {resolve, reject});
        append(() => {
            operation();
            isExpecting = true;
        });
    });
}

class PlatformLock {
    #number;
    #loss = null;
    #callback = null;
    #onWanted = null;

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

    get wanted() {
        return addon.isWanted(this.#number);
    }

    want() {
        this.#onWanted();
    }

    onWanted(callback) {
        this.#onWanted = callback;
        addon.listen(this.#number);
    }

    downgrade() {
        if (!held.has(this.#number))
            return Promise.reject(newException('not-held', 'The lock is not held.'));
        const number = ++count;
        return call(number, () => addon.downgrade(number, this.#number));
    }

    release(done) {
        const number = this.#number;
        held.delete(number);
        append(() => {
            const loss = addon.release(number);
            return () => done(loss === null ? null : newException(loss.code, loss.message));
        });
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
        const granted = call(number, () => addon.request(number, this.#bucket, name, flagsOf(options, isCancelled),
            options.timeout ?? 0, options.why, options.slots ?? 1, options.command));
        return {granted, cancel: () => append(() => addon.cancel(number))};
    }

    now() {
        return performance.now();
    }

    async query() {
        load();
        const number = ++count;
        return call(number, () => addon.query(number, this.#bucket));
    }
}

module.exports = {Backend};
