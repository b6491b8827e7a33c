// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// A program that must print the same on every runtime that has Node-API, and then end, although it holds a lock.

'use strict';

const process = require('node:process');

const {bucket, locks} = require(process.env.WEBLOCKS_NODE_PACKAGE);

// By `await using`, or where it can't be parsed by what that calls.
async function useAcquired() {
    let block;
    try {
        block = new Function('locks', "return (async () => { await using lock = await locks.acquire('acquired'); })();");
    } catch {
        const lock = await locks.acquire('acquired');
        await lock[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]();
        return;
    }
    await block(locks);
}

async function main() {
    await locks.request('n', async lock => {
        const {held} = await locks.query();
        console.log(lock.name, lock.mode, held.length);
        console.log(await locks.request('n', {ifAvailable: true}, other => other));
        await locks.request('n', {signal: AbortSignal.timeout(20)}, () => {}).catch(error => console.log(error.name));
        lock.lost.addEventListener('abort', () => console.log(lock.lost.reason.cause.code));
        await locks.request('n', {steal: true}, () => {});
    }).catch(error => console.log(error.name));
    await useAcquired();
    await locks.request('acquired', lock => console.log(lock.name));
    for (let i = 0; i < 200; i++)
        await bucket('b').locks.request('one after the other', () => i);
    await Promise.all(Array.from({length: 64}, (_value, i) => locks.request(`at a time ${i}`, () => i)));
    console.log('end');
}

main().then(() => locks.request('held', () => new Promise(() => {})));
