// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// A process that forgets locks: it acquires some, whose names begin with its argument, and releases some, keeps one and
// forgets the others. For each line on its standard input it collects garbage, and prints `ready`.

import {locks} from '../../client-lib/gjs/weblocks.js';
import {args, collectGarbage, finish, print, standardInput} from './host.js';

const [prefix] = args;
const kept = await locks.acquire(`${prefix} kept`);
for (let i = 0; i < 40; i++) {
    await (await locks.acquire(`${prefix} released ${i}`)).release();
    await locks.acquire(`${prefix} forgotten ${i}`);
}
print('ready');
for await (const _line of standardInput()) {
    await collectGarbage();
    print(kept.lost.aborted ? 'lost' : 'ready');
}
finish();
