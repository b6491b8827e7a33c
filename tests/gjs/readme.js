// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The examples in the README of the binding: each block of JavaScript is run, and prints the text
// of the next block.

import GLib from 'gi://GLib';

import {BINDING, runScript} from './scripts.js';
import {assert, run, test} from './testing.js';

const [, bytes] = GLib.file_get_contents(GLib.build_filenamev([BINDING, 'README.md']));
const text = new TextDecoder().decode(bytes);
const examples = [...text.matchAll(/^```js\n(.*?)^```\n\n```\n(.*?)^```\n/gms)];

test('the README has examples, and shows what each prints', () => {
    assert.true(examples.length >= 2, 'two of them');
    assert.equal(examples.length, text.match(/^```js$/gm).length);
});

examples.forEach(([, script, output], index) => {
    test(`example ${index + 1} of the README`, async t => {
        assert.equal(await runScript(t, script), {out: output, err: '', code: 0});
    });
});

await run();
