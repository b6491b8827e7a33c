// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Workers are agents of their own, and their locks end with them.

import {Worker} from 'node:worker_threads';

import {locks} from './module.js';
import {PACKAGE} from './scripts.js';
import {assert, deferred, inTime, run, test, waitFor} from '../gjs/testing.js';

const isFree = name => locks.request(name, {ifAvailable: true}, lock => lock !== null);

// Starts a worker with `locks`, `name` and `post`; `message(what)` waits for what it posts.
function startWorker(t, name, script) {
    const worker = new Worker(`
        const {parentPort, workerData: {name, path}} = require('node:worker_threads');
        const {locks} = require(path);
        const post = message => parentPort.postMessage(message);
        ${script}`, {eval: true, workerData: {name, path: PACKAGE}});
    const messages = [];
    const failed = deferred();
    failed.promise.catch(() => {});
    worker.on('message', message => messages.push(message));
    worker.on('error', failed.reject);
    t.cleanup(() => worker.terminate());
    return {
        worker,
        messages,
        message: what => Promise.race([failed.promise,
            waitFor(() => messages.includes(what), `the message ${what}`)]),
        exit: inTime(new Promise(resolve => worker.on('exit', resolve)), 'end of the worker'),
    };
}

const HOLD = "locks.request(name, () => (post('held'), new Promise(() => {}))); setInterval(() => {}, 1000);";

test('a worker excludes the main thread and other workers, and has another clientId', async t => {
    const name = t.name();
    const holder = startWorker(t, name, HOLD);
    await holder.message('held');
    assert.equal(await isFree(name), false);
    const other = startWorker(t, name, `
        locks.request(name, {ifAvailable: true}, lock => post(lock === null ? 'in use' : 'granted'));`);
    await other.message('in use');
    await locks.request(t.name(), async () => {
        const {held} = await locks.query();
        assert.equal(new Set(held.map(info => info.clientId)).size, 2);
    });
});

test('terminate() releases what a worker holds, and ends what it waits for', async t => {
    const [name, waiting] = [t.name(), t.name()];
    const holder = await t.hold(locks, waiting);
    const {worker, message} = startWorker(t, name, `
        locks.request(${JSON.stringify(waiting)}, () => post('granted')); ${HOLD}`);
    await message('held');
    await worker.terminate();
    await locks.request(name, () => {});
    await waitFor(async () => (await locks.query()).pending.length === 0, 'end of the request');
    await holder.release();
});

test('a worker ends with a held lock, and not with a pending request', async t => {
    const name = t.name();
    const holder = startWorker(t, name, "locks.request(name, () => (post('held'), new Promise(() => {})));");
    assert.equal([await holder.exit, holder.messages], [0, ['held']]);
    const released = await t.hold(locks, name);
    const waiter = startWorker(t, name, "locks.request(name, () => post('granted'));");
    await waitFor(async () => (await locks.query()).pending.length === 1, 'the request');
    await released.release();
    assert.equal([await waiter.exit, waiter.messages], [0, ['granted']]);
});

test('workers that are terminated at any moment of their work', async t => {
    const name = t.name();
    for (let i = 0; i < 12; i++) {
        const {worker, message} = startWorker(t, name, `
            const work = async number => {
                for (let i = 0; ; i++) {
                    await locks.request(name + number, () => {});
                    if (i === ${i * 10})
                        post('works');
                }
            };
            for (let number = 0; number < 4; number++)
                work(number);`);
        await message('works');
        await worker.terminate();
    }
    for (let number = 0; number < 4; number++)
        await locks.request(name + number, () => {});
});

await run();
