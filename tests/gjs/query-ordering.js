// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Pending requests for one name are listed in the order in which they were made.

import {AgentProcess} from './agent-process.js';
import {locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

test('requests of three agents', async t => {
    const order = [2, 0, 1];
    const name = t.name();
    const agents = await Promise.all([0, 1, 2].map(() => AgentProcess.start(t)));
    await t.hold(locks, name);
    for (const index of order) {
        agents[index].request(name);
        // The reply arrives after the service has processed the request.
        await agents[index].query();
    }
    const {pending} = await locks.query();
    assert.equal(pending.map(info => info.clientId),
        order.map(index => agents[index].clientId));
});

test('requests of one agent are in the order of the calls', async t => {
    const name = t.name();
    const modes = ['shared', 'exclusive', 'exclusive', 'shared', 'exclusive', 'shared'];
    await t.hold(locks, name);
    modes.forEach(mode => t.request(locks, name, {mode}));
    const {pending} = await locks.query();
    assert.equal(pending.map(info => info.mode), modes);
});

await run();
