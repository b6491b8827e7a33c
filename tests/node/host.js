// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// What the tests of ../gjs need of Node.js and of the processes on it, as host.js there.

import {spawn} from 'node:child_process';
import {readFileSync} from 'node:fs';
import process from 'node:process';
import readline from 'node:readline';
import {fileURLToPath} from 'node:url';

import {bucket, locks} from './module.js';

export const getenv = name => process.env[name] ?? null;
export const getMonotonicMs = () => performance.now();
export const readText = path => readFileSync(path, 'utf8');
export const print = text => console.log(text);
export const args = process.argv.slice(2);
export const exit = code => process.exit(code);
export const finish = () => process.exit(0);

export async function collectGarbage() {
    globalThis.gc();
    await new Promise(resolve => setTimeout(resolve, 0));
}

export const hasFinalization = async () => true;

// The agent of this process.
export function newAgent() {
    return {
        bucket,
        locks,
        getClientId: () => locks.request('client id', async () => {
            const {held} = await locks.query();
            return held.find(info => info.name === 'client id').clientId;
        }),
    };
}

export const standardInput = () => readline.createInterface({input: process.stdin});

export function startProcess(argv) {
    const child = spawn(argv[0], argv.slice(1), {stdio: ['pipe', 'pipe', 'inherit']});
    const ended = new Promise((resolve, reject) => {
        child.on('exit', code => resolve(code));
        child.on('error', reject);
    });
    child.stdin.on('error', () => {});
    return {
        pid: child.pid,
        lines: readline.createInterface({input: child.stdout}),
        write: text => child.stdin.write(text),
        signal: number => process.kill(child.pid, number),
        kill: () => child.kill('SIGKILL'),
        wait: () => ended,
    };
}

export function scriptCommand(name) {
    const path = fileURLToPath(new URL(`../gjs/${name}`, import.meta.url));
    return [process.execPath, ...process.execArgv, path];
}
