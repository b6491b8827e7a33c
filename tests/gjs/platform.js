// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// With a GJS that has DOMException, AbortController and AbortSignal, those are used. Here they are
// simulated.

import {runScript} from './scripts.js';
import {assert, run, test} from './testing.js';

const PLATFORM = `
    globalThis.DOMException = class DOMException extends Error {
        constructor(message, name) {
            super(message);
            Object.defineProperty(this, 'name', {get: () => name});
        }
    };
    globalThis.AbortSignal = class AbortSignal {
        aborted = false;
        listeners = new Set();
        addEventListener(type, listener) {
            this.listeners.add(listener);
        }
        removeEventListener(type, listener) {
            this.listeners.delete(listener);
        }
        throwIfAborted() {
            if (this.aborted)
                throw this.reason;
        }
    };
    globalThis.AbortController = class AbortController {
        signal = new AbortSignal();
        abort(reason) {
            Object.assign(this.signal, {aborted: true, reason});
            this.signal.listeners.forEach(listener => listener());
        }
    };
    const weblocks = await import('file:///usr/share/weblocks-1/gjs/weblocks.js');
    const {locks} = weblocks;
    const controller = new AbortController();
    const {signal} = controller;
`;

async function expectOutput(t, script, out) {
    assert.equal(await runScript(t, PLATFORM + script), {out, err: '', code: 0});
}

test("the module exports the platform's", t => expectOutput(t, `
    for (const name of ['DOMException', 'AbortSignal', 'AbortController'])
        print(weblocks[name] === globalThis[name]);
`, 'true\ntrue\ntrue\n'));

test("the platform's signals end requests", t => expectOutput(t, `
    await locks.request('n', async () => {
        const promise = locks.request('n', {signal}, () => print('granted'));
        await locks.query();
        controller.abort('my reason');
        await promise.catch(reason => print(reason, signal.listeners.size));
        await locks.request('n', {signal}, () => print('granted')).catch(print);
        print((await locks.query()).pending.length);
    });
`, 'my reason 0\nmy reason\n0\n'));

test("the listener on the platform's signal is removed after the grant", t => expectOutput(t, `
    await locks.request('n', {signal}, () => print('granted', signal.listeners.size));
`, 'granted 0\n'));

test("errors are the platform's DOMExceptions", t => expectOutput(t, `
    await locks.request('-', () => {}).catch(error =>
        print(error.name, error instanceof globalThis.DOMException));
    const stolen = locks.request('n', () => new Promise(() => {})).catch(error =>
        print(error.name, error instanceof globalThis.DOMException));
    await locks.query();
    await locks.request('n', {steal: true}, () => {});
    await stolen;
`, 'NotSupportedError true\nAbortError true\n'));

await run();
