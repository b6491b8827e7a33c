// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// In an embedder that runs Node.js's event loop inside GLib's main loop (glib-loop.c).

import process from 'node:process';

import {locks} from './module.js';
import {runScript, startScript} from './scripts.js';
import {assert, run, test, waitFor} from '../gjs/testing.js';

const EMBEDDER = JSON.stringify(process.env.WEBLOCKS_GLIB_LOOP);

// What `work` does while GLib's main loop runs; then it prints what that has counted.
const inGLib = work => `
    const {run} = require(${EMBEDDER});
    setImmediate(async () => { ${work} });
    const {expired, nested} = run(process._tickCallback);
    console.log('GLib:', expired > 0, nested);`;

test('locks, queries, time-outs and losses', async t => {
    const name = t.name();
    const result = await runScript(t, inGLib(`
        await locks.request('${name}', async lock => {
            const {held} = await locks.query();
            console.log(held.filter(info => info.name === '${name}').length);
            await locks.request('${name}', {timeout: 20}, () => {}).catch(error => console.log(error.name));
            lock.lost.addEventListener('abort', () => console.log(lock.lost.reason.cause.code));
            await locks.request('${name}', {steal: true}, () => {});
        }).catch(error => console.log(error.name));
        for (let i = 0; i < 100; i++)
            await locks.request('${name}', () => {});
        await Promise.all(Array.from({length: 64}, (_value, i) => locks.request('${name}' + i, () => {})));
        console.log('end');`));
    assert.equal(result, {out: '1\nTimeoutError\nstolen\nAbortError\nend\nGLib: true 0\n', err: '', code: 0});
});

test('a request waits for another process, and is granted', async t => {
    const name = t.name();
    const holder = await t.hold(locks, name);
    const script = startScript(t, inGLib(`await locks.request('${name}', () => console.log('granted'));`));
    await waitFor(async () => (await locks.query()).pending.some(info => info.name === name), 'the request');
    await holder.release();
    assert.equal(await script.wait(), {out: 'granted\nGLib: true 0\n', err: '', code: 0});
});

await run();
