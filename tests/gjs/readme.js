// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The examples in the README of the binding, or of the module for Node.js: each block of JavaScript is run, and prints
// the text of the next block.

import {readText} from './host.js';
import {FOLDER, runScript} from './scripts.js';
import {assert, run, test} from './testing.js';

const text = readText(`${FOLDER}/README.md`);
const examples = [...text.matchAll(/^```js\n(.*?)^```\n\n```\n(.*?)^```\n/gms)];

test('the README has examples, and shows what each prints', () => {
    assert.true(examples.length >= 2, 'two of them');
    assert.equal(examples.length, text.match(/^```js$/gm).length);
});

examples.forEach(([, script, out], index) => {
    test(`example ${index + 1} of the README`, async t => {
        assert.equal(await runScript(t, script, {name: 'script.mjs'}), {out, err: '', code: 0});
    });
});

await run();
