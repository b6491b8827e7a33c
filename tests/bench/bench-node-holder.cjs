// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// A process that holds a lock, or waits for it, in Node.js. It prints `waiting` if another process holds the lock, and
// `held` when it holds it. A line on its standard input is a number of milliseconds for which it then blocks its event
// loop, before it releases the lock and ends.
//
//     bench-node-holder.cjs MODULE weblocks
//     bench-node-holder.cjs MODULE proper-lockfile FILE STALE    which is there, and STALE in milliseconds

'use strict';

const {writeSync} = require('node:fs');
const process = require('node:process');
const readline = require('node:readline');

const [, , path, way, file, stale] = process.argv;
const module_ = require(path);

// The runtime's own streams would wait for the event loop.
const print = text => writeSync(1, `${text}\n`);

const nextLine = () => new Promise(resolve => readline.createInterface({input: process.stdin}).once('line', resolve));

async function hold() {
    print('held');
    const milliseconds = Number(await nextLine());
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

const WAYS = {
    async 'weblocks'() {
        const held = module_.locks.request('printer', hold);
        const {pending} = await module_.locks.query();
        if (pending.length > 0)
            print('waiting');
        await held;
    },

    async 'proper-lockfile'() {
        const options = {stale: Number(stale)};
        const release = await module_.lock(file, options).catch(() => {
            print('waiting');
            return module_.lock(file, {...options, retries: {forever: true, factor: 1, minTimeout: 100, maxTimeout: 100}});
        });
        await hold();
        await release();
    },
};

WAYS[way]().then(() => process.exit(0));
