// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// An uncontended lock requested and released in GJS. Prints the median of means in microseconds a pair, as
// bench_samples_steady() has it.
//
//     bench-gjs.js MODULE COUNT

import GLib from 'gi://GLib';
import System from 'system';

const [path, countText] = ARGV;
const WARM_UP = 200;
const BATCH = 10;

// In a main loop, as in a program: while a module awaits at its top, GJS polls without waiting.
const loop = new GLib.MainLoop(null, false);

async function main() {
    const {locks} = await import(`file://${path}`);
    const means = [];
    for (let i = 0; i < (WARM_UP + Number(countText)) / BATCH; i++) {
        const begin = GLib.get_monotonic_time();
        for (let j = 0; j < BATCH; j++)
            await locks.request('printer', async () => {});
        if (i >= WARM_UP / BATCH)
            means.push((GLib.get_monotonic_time() - begin) / BATCH);
    }
    means.sort((left, right) => left - right);
    print(`steady ${means[Math.floor(means.length / 2)]}`);
}

let status = 0;
main().catch(error => {
    logError(error);
    status = 1;
}).finally(() => loop.quit());
loop.run();
System.exit(status);
