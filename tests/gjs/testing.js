// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The test framework: test() adds a test, `await run()` runs them in order and prints a line of TAP
// for each. A test fails if it throws, if it has not finished at its deadline, or if it leaves a
// lock or a request. run-with-service.py starts the files, and checks their output on stderr.

import {locks, bucket} from '../../client-lib/gjs/weblocks.js';
import {args, exit, getenv, getMonotonicMs, print} from './host.js';

export const FACTOR = Number(getenv('WEBLOCKS_TEST_TIMEOUT_FACTOR') ?? '1');
// The time limit for anything that usually takes almost no time.
export const PATIENCE = 20000 * FACTOR;

const tests = [];

export function test(name, body, options = {}) {
    tests.push({name, body, ...options});
}

export function show(value) {
    if (value instanceof Error)
        return `${value.name}: ${value.message}`;
    if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint')
        return String(value);
    try {
        return JSON.stringify(value) ?? String(value);
    } catch {
        return String(value);
    }
}

function fail(what, expected, got) {
    throw new Error(`${what}: expected ${expected}, got ${got}`);
}

function same(left, right) {
    if (Object.is(left, right))
        return true;
    if (typeof left !== 'object' || typeof right !== 'object' || !left || !right)
        return false;
    const keys = Object.keys(left);
    return keys.length === Object.keys(right).length &&
        keys.every(key => Object.hasOwn(right, key) && same(left[key], right[key]));
}

export const assert = {
    equal(got, expected, what = 'value') {
        if (!same(got, expected))
            fail(what, show(expected), show(got));
    },

    notEqual(got, other, what = 'value') {
        if (same(got, other))
            fail(what, `something else than ${show(other)}`, show(got));
    },

    true(got, what = 'condition') {
        assert.equal(got, true, what);
    },

    instance(got, class_, what = 'object') {
        if (!(got instanceof class_))
            fail(what, `a ${class_.name}`, show(got));
    },

    throws(function_, class_, what = 'call') {
        let result;
        try {
            result = function_();
        } catch (error) {
            assert.instance(error, class_, what);
            return error;
        }
        return fail(what, `a ${class_.name} to be thrown`, show(result));
    },

    // The promise must be rejected with an error of that `name`, such as 'AbortError' or
    // 'TypeError'.
    async rejects(promise, name, what = 'promise') {
        if (!(promise instanceof Promise))
            fail(what, 'a promise', show(promise));
        let result;
        try {
            result = await promise;
        } catch (error) {
            if (error?.name !== name)
                fail(what, `rejection with ${name}`, `rejection with ${show(error)}`);
            return error;
        }
        return fail(what, `rejection with ${name}`, `fulfilment with ${show(result)}`);
    },

    // The promise must be rejected with exactly this value.
    async rejectsWith(promise, reason, what = 'promise') {
        let result;
        try {
            result = await promise;
        } catch (error) {
            if (!Object.is(error, reason))
                fail(what, `rejection with ${show(reason)}`, `rejection with ${show(error)}`);
            return;
        }
        fail(what, `rejection with ${show(reason)}`, `fulfilment with ${show(result)}`);
    },
};

// A promise, with the functions that settle it.
export function deferred() {
    const result = {};
    result.promise = new Promise((resolve, reject) => Object.assign(result, {resolve, reject}));
    return result;
}

// Fails if the promise is not settled at the deadline. Stopping the timer is not left to the
// caller.
export function inTime(promise, what, milliseconds = PATIENCE) {
    let timer;
    const late = new Promise((_resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`${what}: not within ${milliseconds} ms`)),
            milliseconds);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// Waits until the (asynchronous) condition is true; returns its value.
export async function waitFor(condition, what, milliseconds = PATIENCE) {
    const deadline = getMonotonicMs() + milliseconds;
    for (;;) {
        const value = await condition();
        if (value)
            return value;
        if (getMonotonicMs() > deadline)
            throw new Error(`${what}: not within ${milliseconds} ms`);
        await new Promise(resolve => setTimeout(resolve, 5));
    }
}

export async function isSettled(promise) {
    let settled = false;
    const note = () => (settled = true);
    promise.then(note, note);
    await new Promise(resolve => setTimeout(resolve, 0));
    return settled;
}

// A request whose lock is held until release() or fail() is called: `granted` is a promise of the
// callback's argument, `done` is the promise that request() returned.
export class Request {
    constructor(manager, name, options = {}) {
        this._end = deferred();
        this._called = deferred();
        this.granted = this._called.promise;
        this.wasCalled = false;
        this.done = manager.request(name, options, lock => {
            this.wasCalled = true;
            this._called.resolve(lock);
            return this._end.promise;
        });
        // An unhandled rejection of `done` is not reported.
        this.done.catch(() => {});
    }

    release(value) {
        this._end.resolve(value);
        return this.done;
    }

    fail(reason) {
        this._end.reject(reason);
        return this.done;
    }
}

class TestContext {
    constructor(name) {
        this._prefix = `${name} `;
        this._count = 0;
        this._cleanups = [];
        this.buckets = [];
    }

    // A resource name that no other test uses.
    name() {
        return `${this._prefix}${++this._count}`;
    }

    // The locks of a bucket that no other test uses.
    bucket() {
        this.buckets.push(bucket(`test.${tests.length}.${this.name()}`.slice(0, 100)));
        return this.buckets.at(-1);
    }

    cleanup(function_) {
        this._cleanups.push(function_);
    }

    // A Request that ends with the test, if not before.
    request(manager, name, options) {
        const request = new Request(manager, name, options);
        this.cleanup(() => request.release().catch(() => {}));
        return request;
    }

    // The same, once it is granted.
    async hold(manager, name, options) {
        const request = this.request(manager, name, options);
        await Promise.race([request.granted, request.done]);
        return request;
    }

    async end() {
        // All at the same time: one may wait for another.
        await Promise.all(this._cleanups.map(async function_ => function_()));
        if (this.keepsLocks)
            return;
        // Other agents may still be disconnecting: their order relative to this one is not
        // specified.
        const nothing = {held: [], pending: []};
        for (const manager of [locks, ...this.buckets.map(({locks: its}) => its)])
            await waitFor(async () => same(await manager.query(), nothing),
                'the end of what the test left behind');
    }
}

function diagnostic(text) {
    for (const line of String(text).split('\n'))
        print(`# ${line}`);
}

async function runOne({name, body, keepsLocks, patience}) {
    const context = new TestContext(name);
    context.keepsLocks = keepsLocks ?? false;
    let failure = null;
    const attempt = async (part, what) => {
        try {
            await inTime(part(), what, patience);
        } catch (error) {
            failure ??= error ?? new Error('undefined or null was thrown');
            diagnostic(`${show(error)}\n${error?.stack ?? ''}`.trimEnd());
        }
    };
    await attempt(async () => body(context), 'the test');
    await attempt(() => context.end(), 'the end of the test');
    return failure === null;
}

// Runs all tests of the file, or those given on the command line, and exits. With --list, only prints their names.
export async function run() {
    if (args.includes('--list')) {
        tests.forEach(({name}) => print(name));
        exit(0);
    }
    let count = 0;
    let failed = 0;
    for (const entry of tests) {
        if (args.length > 0 && !args.includes(entry.name))
            continue;
        const isGood = await runOne(entry);
        failed += isGood ? 0 : 1;
        print(`${isGood ? 'ok' : 'not ok'} ${++count} - ${entry.name}`);
    }
    print(`1..${count}`);
    exit(failed === 0 ? 0 : 1);
}
