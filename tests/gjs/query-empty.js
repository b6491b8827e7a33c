// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// query() in a bucket without any requests before: a separate file, since other tests make
// requests.

import {bucket, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

test('nothing is held and nothing is pending', async () => {
    assert.equal(await locks.query(), {held: [], pending: []});
    assert.equal(await bucket('never.used').locks.query(), {held: [], pending: []});
});

await run();
