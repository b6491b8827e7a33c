// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Garbage collection ends no lock and no request, and frees all objects of those that have ended.

import Gio from 'gi://Gio';
import System from 'system';

import {AbortController, locks} from '../../client-lib/gjs/weblocks.js';
import {collectGarbage} from './host.js';
import {assert, deferred, run, test, waitFor} from './testing.js';

async function heldNames() {
    const {held} = await locks.query();
    return held.map(info => info.name);
}

test('a lock whose promise can no longer be settled stays held', async t => {
    const name = t.name();
    const granted = deferred();
    locks.request(name, () => {
        granted.resolve();
        return new Promise(() => {});
    }).catch(() => {});
    await granted.promise;
    for (let i = 0; i < 10; i++) {
        await collectGarbage();
        assert.equal(await heldNames(), [name], `round ${i}`);
    }
    await locks.request(name, {steal: true}, () => {});
});

test('a request without references is granted', async t => {
    const name = t.name();
    const holder = await t.hold(locks, name);
    const granted = deferred();
    (() => {
        const {signal} = new AbortController();
        locks.request(name, {signal}, lock => granted.resolve(lock.name));
    })();
    await collectGarbage();
    holder.release();
    await collectGarbage();
    assert.equal(await granted.promise, name);
});

// The functions of the tests below that should be collected have this name.
const GARBAGE = 'weblocksGarbage';

function makeGarbage(result) {
    return {[GARBAGE]: () => result}[GARBAGE];
}

// The number of these functions, and of the library's objects with a JS wrapper. WeakRefs can't be
// used for this: today's GJS never clears them.
function count() {
    const [file, stream] = Gio.File.new_tmp('weblocks-XXXXXX.heap');
    stream.close(null);
    System.dumpHeap(file.get_path());
    const [, bytes] = file.load_contents(null);
    file.delete(null);
    const dump = new TextDecoder().decode(bytes);
    const nodes = pattern => dump.match(new RegExp(`^0x\\w+ \\w ${pattern}`, 'gm'))?.length ?? 0;
    return {functions: nodes(`Function ${GARBAGE}$`), objects: nodes('GObject_Object ')};
}

// Of the 50 or more of each kind that a test creates, the last ones may stay for a while: the stack
// is scanned conservatively.
function assertCollected(before, what) {
    return waitFor(async () => {
        await collectGarbage();
        const now = count();
        return now.functions <= before.functions + 10 && now.objects <= before.objects + 10;
    }, `end of ${what}`);
}

// The arguments of these functions become garbage at the end: a callback, and its result or reason.
const KINDS = {
    'locks that were released': (name, callback) => locks.request(name, callback),
    'callbacks that failed': (name, callback) =>
        locks.request(name, () => Promise.reject(callback)).catch(() => {}),
    'callbacks that got null': (name, callback) => locks.request(name, () =>
        locks.request(name, {ifAvailable: true}, callback)),
    'requests that were aborted': (name, callback) => locks.request(name, async () => {
        const controller = new AbortController();
        const promise = locks.request(name, {signal: controller.signal}, callback);
        controller.abort(callback());
        await promise.catch(() => {});
    }),
    'requests with a signal that remains': (name, callback, signal) =>
        locks.request(name, {signal}, callback),
    'requests that timed out': (name, callback) => locks.request(name, () =>
        locks.request(name, {timeout: 1}, callback).catch(() => {})),
    'locks that were stolen': async (name, callback) => {
        const end = deferred();
        const request = locks.request(name, async () => {
            const result = callback();
            await end.promise;
            return result;
        });
        const handled = request.catch(() => {});
        await locks.query();
        await locks.request(name, {steal: true}, () => {});
        await handled;
        end.resolve();
    },
    'wrong arguments': (name, callback) =>
        locks.request(name, {mode: 'foo', callback}, callback).catch(() => {}),
};

for (const [what, make] of Object.entries(KINDS)) {
    test(`${what} are collected`, async t => {
        const controller = new AbortController();
        await locks.query();
        const before = count();
        const makeOne = name => make(name, makeGarbage(makeGarbage(null)), controller.signal);
        for (let i = 0; i < 50; i++)
            await makeOne(t.name());
        await assertCollected(before, what);
        assert.equal(controller.signal.aborted, false);
    });
}

test('objects that are not collected are detected', async () => {
    const before = count();
    const functions = Array.from({length: 50}, () => makeGarbage(null));
    const objects = functions.map(() => new Gio.Cancellable());
    await collectGarbage();
    const after = count();
    assert.true(after.functions - before.functions >= functions.length - 10, 'functions seen');
    assert.true(after.objects - before.objects >= objects.length - 10, 'objects seen');
});

test('a reference to a lock object does not hold the lock', async t => {
    const reference = await locks.request(t.name(), lock => lock);
    await collectGarbage();
    assert.equal(await heldNames(), []);
    assert.equal(reference.mode, 'exclusive');
});

await run();
