// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Memory after many pairs of request and release is what it was before: 5,000, or 200,000 at full size.

import {readFileSync} from 'node:fs';
import process from 'node:process';

import {locks} from './module.js';
import {PATIENCE, assert, run, test} from '../gjs/testing.js';

const isFullSize = (process.env.WEBLOCKS_FULL_SIZE ?? '0') !== '0';
const ROUNDS = 9;
const PAIRS = isFullSize ? 22500 : 560;

// What may be more after the last rounds than after those before: objects of JavaScript, what malloc() has in
// its first arena, and all memory of the process. The last also varies with the garbage collector, and what malloc()
// has with the number of requests that are under way at a time, which is larger on a busy machine.
const MOST_KB = {objects: 256, native: 1024, all: 8192};

function measure() {
    globalThis.gc();
    const {heapUsed, rss} = process.memoryUsage();
    const [, native] = readFileSync('/proc/self/smaps', 'utf8').match(/\[heap\]\n(?:.*\n)*?Rss: *(\d+)/);
    return {objects: Math.round(heapUsed / 1024), native: Number(native), all: Math.round(rss / 1024)};
}

async function pairs(name, count) {
    for (let i = 0; i < count; i++)
        await locks.request(name, {why: 'to use memory'}, () => i);
}

async function batches(name, count) {
    for (let i = 0; i < count; i += 64)
        await Promise.all(Array.from({length: 64}, (_value, j) => locks.request(name + j, () => j)));
}

// Each ends with an error, a null, or an abort.
async function failures(name, count) {
    await locks.request(name, async () => {
        for (let i = 0; i < count / 4; i++) {
            await locks.request(name, {ifAvailable: true}, () => {});
            await locks.request('-', () => {}).catch(() => {});
            const controller = new AbortController();
            const aborted = locks.request(name, {signal: controller.signal}, () => {}).catch(() => {});
            await locks.query();
            controller.abort();
            await aborted;
        }
    });
}

for (const [what, work] of Object.entries({pairs, batches, failures})) {
    test(`memory after ${PAIRS * ROUNDS} ${what}`, async t => {
        const measured = [];
        for (let round = 0; round < ROUNDS; round++) {
            await work(t.name(), PAIRS);
            measured.push(measure());
        }
        console.log(`# ${t.name()}, KiB after each round of ${PAIRS}: ${JSON.stringify(measured)}`);
        // The first rounds are for what is allocated once: code, and the memory that the heap keeps.
        for (const [key, most] of Object.entries(MOST_KB)) {
            const kilobytes = measured.map(usage => usage[key]);
            const growth = Math.min(...kilobytes.slice(-3)) - Math.min(...kilobytes.slice(3, 6));
            assert.true(growth < most, `${key}, in KiB after each round: ${kilobytes}`);
        }
    }, {patience: 4 * PATIENCE});
}

await run();
