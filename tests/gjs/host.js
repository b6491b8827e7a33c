// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// What the tests need of GJS and of the processes on it. ../node/host.js has the same for Node.js.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import System from 'system';
import WebLocks from 'gi://WebLocks?version=1';

import {forAgent} from '../../client-lib/gjs/weblocks.js';

export const getenv = name => GLib.getenv(name);
export const getMonotonicMs = () => GLib.get_monotonic_time() / 1000;
export const readText = path => new TextDecoder().decode(GLib.file_get_contents(path)[1]);
export const print = globalThis.print;
export const args = ARGV;
export const exit = code => System.exit(code);

export async function collectGarbage() {
    for (let i = 0; i < 3; i++) {
        System.gc();
        await new Promise(resolve => setTimeout(resolve, 0));
    }
}

// Whether a FinalizationRegistry calls back, which GJS 1.74 never does.
export async function hasFinalization() {
    let isCalled = false;
    const registry = new FinalizationRegistry(() => (isCalled = true));
    for (let i = 0; i < 50; i++)
        registry.register({}, i);
    for (let i = 0; i < 10 && !isCalled; i++)
        await collectGarbage();
    return isCalled;
}

// An agent of its own: its `locks` and `bucket`, its clientId, and how to close it.
export function newAgent() {
    const agent = new WebLocks.Agent();
    const {bucket, locks} = forAgent(agent);
    return {
        bucket,
        locks,
        close: () => agent.close(),
        async getClientId() {
            await locks.query();
            return agent.clientId;
        },
    };
}

// Resolves with a line, or with null at the end.
function readLine(stream) {
    return new Promise((resolve, reject) => {
        stream.read_line_async(GLib.PRIORITY_DEFAULT, null, (_stream, result) => {
            try {
                const [bytes] = stream.read_line_finish(result);
                resolve(bytes === null ? null : new TextDecoder().decode(bytes));
            } catch (error) {
                reject(error);
            }
        });
    });
}

async function* readLines(baseStream) {
    const stream = new Gio.DataInputStream({baseStream});
    for (let line = await readLine(stream); line !== null; line = await readLine(stream))
        yield line;
}

export const standardInput = () => readLines(Gio.UnixInputStream.new(0, false));

// At the end of a script: what it holds and waits for ends with it.
export const finish = () => {};

// Starts a process with pipes to its standard input and output.
export function startProcess(argv) {
    const process = Gio.Subprocess.new(argv,
        Gio.SubprocessFlags.STDIN_PIPE | Gio.SubprocessFlags.STDOUT_PIPE);
    const ended = new Promise((resolve, reject) => {
        process.wait_async(null, (_process, result) => {
            try {
                resolve(process.wait_finish(result));
            } catch (error) {
                reject(error);
            }
        });
    });
    return {
        pid: process.get_identifier(),
        lines: readLines(process.get_stdout_pipe()),
        write: text => process.get_stdin_pipe().write_all(text, null),
        signal: number => process.send_signal(number),
        kill: () => process.force_exit(),
        // Its exit status, or null if a signal has ended it.
        async wait() {
            await ended;
            return process.get_if_exited() ? process.get_exit_status() : null;
        },
    };
}

// The command that runs a script of this folder.
export function scriptCommand(name) {
    const here = GLib.path_get_dirname(GLib.filename_from_uri(import.meta.url)[0]);
    return ['gjs', '-m', GLib.build_filenamev([here, name])];
}
