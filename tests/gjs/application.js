// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// In an application, `locks` uses the bucket with the application's id. A separate file, since a
// process has one default application.

import Gio from 'gi://Gio';

import {bucket, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

// Created after the import, as in applications.
const application = new Gio.Application({applicationId: 'org.example.Editor'});

test('the bucket is the id of the application', async t => {
    assert.true(Gio.Application.get_default() === application, 'default application');
    const name = t.name();
    await t.hold(locks, name);
    const {held} = await bucket('org.example.Editor').locks.query();
    assert.equal(held.map(info => info.name), [name]);
    assert.equal(await bucket('default').locks.query(), {held: [], pending: []});
});

test('the bucket does not change after its first use', async t => {
    const name = t.name();
    await locks.query();
    application.applicationId = 'org.example.Other';
    await t.hold(locks, name);
    const {held} = await bucket('org.example.Editor').locks.query();
    assert.equal(held.length, 1);
});

await run();
