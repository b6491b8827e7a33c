// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Without libweblocks, without a bus: the import does not throw, and requests are rejected with the reason.

import {cpSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';

import {PACKAGE, makeFolder, runScript} from './scripts.js';
import {assert, run, test} from '../gjs/testing.js';

const REQUEST = `locks.request('n', () => console.log('called')).catch(error => {
    console.log(error instanceof DOMException, error.name, error.cause.code);
    console.log(error.message);
}).then(() => locks.query()).catch(error => console.log(error.name));`;

async function expectUnavailable(t, message, options) {
    const {out, err, code} = await runScript(t, REQUEST, options);
    const lines = out.split('\n');
    assert.equal([lines[0], lines[2], err, code], ['true NetworkError unavailable', 'NetworkError', '', 0]);
    assert.true(message.test(lines[1]), lines[1]);
}

// A folder in which the package has no addon, or another file in its place.
function makeBrokenFolder(t, contents) {
    const copy = path.join(makeFolder(t), 'copy');
    cpSync(PACKAGE, copy, {recursive: true, dereference: true});
    const prebuilds = path.join(copy, 'prebuilds', `linux-${process.arch}`);
    rmSync(path.join(prebuilds, 'weblocks.node'));
    if (contents !== undefined)
        writeFileSync(path.join(prebuilds, 'weblocks.node'), contents);
    return makeFolder(t, copy);
}

test('no bus', t => expectUnavailable(t, /cannot reach the lock service/,
    {env: {DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent'}}));

test('no addon', t => expectUnavailable(t, /could not load libweblocks: .*weblocks\.node/,
    {folder: makeBrokenFolder(t)}));

test('an addon that can not be loaded', t => expectUnavailable(t, /could not load libweblocks/,
    {folder: makeBrokenFolder(t, 'not an object')}));

test('no libweblocks', async t => {
    const options = {env: {LD_LIBRARY_PATH: '/nonexistent'}};
    const {out} = await runScript(t, "locks.query().then(() => console.log('installed'), () => {});", options);
    // Where the library is installed too, this can't be tried.
    if (out !== 'installed\n')
        await expectUnavailable(t, /could not load libweblocks: libweblocks-1\.so\.0: cannot open/, options);
});

await run();
