// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// What a program asks for in one turn of the event loop is sent in one packet.

import {readFileSync} from 'node:fs';
import path from 'node:path';
import process from 'node:process';

import {makeFolder, runScript} from './scripts.js';
import {assert, run, test} from '../gjs/testing.js';

const PAIRS = 6400;

// How many packets a program has sent.
async function countSends(t, script) {
    const folder = makeFolder(t);
    const file = path.join(folder, 'sends');
    const {out, err, code} = await runScript(t, script,
        {folder, env: {LD_PRELOAD: process.env.WEBLOCKS_COUNT_SENDS, SENDS_FILE: file}});
    assert.equal([out, err, code], ['done\n', '', 0]);
    return Number(readFileSync(file, 'utf8'));
}

test('64 at a time: at most half a packet for each pair of request and release', async t => {
    const sends = await countSends(t, `
        const work = async name => {
            for (let i = 0; i < ${PAIRS / 64}; i++)
                await locks.request(name, async () => {});
        };
        Promise.all(Array.from({length: 64}, (_value, number) => work('n' + number)))
            .then(() => console.log('done'));`);
    assert.true(sends <= PAIRS / 2, `${sends} packets for ${PAIRS} pairs`);
});

test('one at a time: two packets for each pair', async t => {
    const sends = await countSends(t, `
        (async () => {
            for (let i = 0; i < 100; i++)
                await locks.request('n', async () => {});
            console.log('done');
        })();`);
    assert.true(sends >= 200 && sends < 250, `${sends} packets for 100 pairs`);
});

await run();
