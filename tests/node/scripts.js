// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Runs scripts as processes until they exit.

import {spawn} from 'node:child_process';
import {mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import process from 'node:process';

import {inTime} from '../gjs/testing.js';

export const PACKAGE = process.env.WEBLOCKS_NODE_PACKAGE;
export {PACKAGE as FOLDER};

// A folder in which the package is installed.
export function makeFolder(t, source = PACKAGE) {
    const folder = mkdtempSync(path.join(tmpdir(), 'weblocks-node-'));
    t.cleanup(() => rmSync(folder, {recursive: true}));
    mkdirSync(path.join(folder, 'node_modules'));
    symlinkSync(source, path.join(folder, 'node_modules', 'weblocks'));
    return folder;
}

// Starts a script that can import 'weblocks'. Its `locks` is there already, unless it is a module.
export function startScript(t, script, {env = {}, name = 'script.cjs', folder = makeFolder(t)} = {}) {
    const file = path.join(folder, name);
    writeFileSync(file, name.endsWith('.cjs') ? `const {locks} = require('weblocks');\n${script}` : script);
    const child = spawn(process.execPath, ['--preserve-symlinks', '--expose-gc', file],
        {cwd: folder, env: {...process.env, ...env}, stdio: ['pipe', 'pipe', 'pipe']});
    t.cleanup(() => child.kill('SIGKILL'));
    const output = {out: '', err: ''};
    const waiting = [];
    child.stdout.setEncoding('utf8').on('data', text => {
        output.out += text;
        waiting.forEach(check => check());
    });
    child.stderr.setEncoding('utf8').on('data', text => (output.err += text));
    child.stdin.on('error', () => {});
    const ended = new Promise((resolve, reject) => {
        child.on('error', reject);
        child.on('close', code => resolve({...output, code}));
    });
    return {
        child,
        output,
        wait: () => inTime(ended, 'end of the script'),
        // Resolves when it has printed this.
        printed: text => inTime(Promise.race([
            new Promise(resolve => {
                waiting.push(() => output.out.includes(text) && resolve());
                waiting.at(-1)();
            }),
            ended.then(({err}) => {
                if (!output.out.includes(text))
                    throw new Error(`it has ended without having printed ${text}: ${err}`);
            }),
        ]), `the output ${text}`),
    };
}

export function runScript(t, script, options) {
    return startScript(t, script, options).wait();
}
