// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// An uncontended lock requested and released in Node.js. Prints the median of means in microseconds a pair,
// as bench_samples_steady() has it.
//
//     bench-node.cjs MODULE one COUNT                one pair after the other
//     bench-node.cjs MODULE many COUNT               64 names at a time
//     bench-node.cjs MODULE proper-lockfile COUNT FILE    which is there

'use strict';

const process = require('node:process');

const [, , path, way, countText, file] = process.argv;
const module_ = require(path);
const count = Number(countText);
const WARM_UP = 200;
const BATCH = 10;
const AT_A_TIME = 64;

const WAYS = {
    'one': () => module_.locks.request('printer', async () => {}),

    'many': () => Promise.all(Array.from({length: AT_A_TIME},
        (_value, number) => module_.locks.request(`printer ${number}`, async () => {}))),

    async 'proper-lockfile'() {
        const release = await module_.lock(file);
        await release();
    },
};

async function main() {
    const pair = WAYS[way];
    const each = way === 'many' ? AT_A_TIME : 1;
    const means = [];
    for (let i = 0; i < WARM_UP / each; i++)
        await pair();
    for (let i = 0; i < count / each / BATCH; i++) {
        const begin = process.hrtime.bigint();
        for (let j = 0; j < BATCH; j++)
            await pair();
        means.push(Number(process.hrtime.bigint() - begin) / 1000 / BATCH / each);
    }
    means.sort((left, right) => left - right);
    console.log(`steady ${means[Math.floor(means.length / 2)]}`);
}

main();
