// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The examples in the README of the module: each block of JavaScript is run, and prints the text of the next
// block. And `require()` and `import` have the same objects.

import {readFileSync} from 'node:fs';
import path from 'node:path';

import {PACKAGE, runScript} from './scripts.js';
import {assert, run, test} from '../gjs/testing.js';

const text = readFileSync(path.join(PACKAGE, 'README.md'), 'utf8');
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

test('require() and import have the same objects', async t => {
    const {out, err} = await runScript(t, `
        import {createRequire} from 'node:module';
        import * as imported from 'weblocks';
        const required = createRequire(import.meta.url)('weblocks');
        const names = Object.keys(required).sort();
        console.log(names.every(name => required[name] === imported[name]),
            names.join() === Object.keys(imported).sort().join());`, {name: 'script.mjs'});
    assert.equal([out, err], ['true true\n', '']);
});

await run();
