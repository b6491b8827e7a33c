// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Locks beside sharp, a module that brings a GLib of its own: sharp.cjs before|after, which is when sharp is loaded
// and used first. Prints the same in both orders.

'use strict';

const {readFileSync} = require('node:fs');
const path = require('node:path');
const process = require('node:process');

const {bucket, locks} = require(process.env.WEBLOCKS_NODE_PACKAGE);

async function draw() {
    const sharp = require(path.join(process.env.WEBLOCKS_NODE_MODULES, 'sharp'));
    const create = {width: 16, height: 8, channels: 3, background: 'red'};
    const png = await sharp({create}).png().toBuffer();
    const {width, height} = await sharp(png).metadata();
    return `${width}x${height}`;
}

async function lock() {
    await locks.request('n', async lock => {
        const {held} = await locks.query();
        console.log(lock.name, held.length, await draw());
        lock.lost.addEventListener('abort', () => console.log(lock.lost.reason.cause.code));
        await locks.request('n', {steal: true}, () => {});
    }).catch(error => console.log(error.name));
    await Promise.all(Array.from({length: 64}, (_value, i) => bucket('b').locks.request(`n${i}`, draw)));
}

async function main() {
    if (process.argv[2] === 'before')
        await draw();
    else
        await locks.request('n', () => {});
    await lock();
    await lock();
    const maps = readFileSync('/proc/self/maps', 'utf8');
    console.log(['/libvips-cpp', '/libglib-2.0.so.0', '/libweblocks-1.so'].filter(name => maps.includes(name)).join());
}

main();
