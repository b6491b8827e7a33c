// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Agents in separate processes: AgentProcess is the test's side, agent-main.js runs in the process.
// Each line through the pipes is one JSON value.

import {scriptCommand, startProcess} from './host.js';
import {assert, deferred, inTime} from './testing.js';

export class AgentProcess {
    // Starts an agent that ends at the end of the test `t`, if not before.
    static async start(t) {
        const agent = new AgentProcess();
        t.cleanup(() => agent.kill());
        const {clientId} = await inTime(agent._ready.promise, 'start of an agent process');
        agent.clientId = clientId;
        return agent;
    }

    constructor() {
        this._process = startProcess(scriptCommand('agent-main.js'));
        this._ready = deferred();
        this._calls = new Map();
        this._count = 0;
        this._listen().catch(error => {
            this._ready.reject(error);
            for (const {done} of this._calls.values())
                done.reject(error);
        });
    }

    async _listen() {
        for await (const text of this._process.lines) {
            const line = JSON.parse(text);
            if ('clientId' in line) {
                this._ready.resolve(line);
                continue;
            }
            const {granted, done} = this._calls.get(line.id);
            if ('granted' in line)
                granted.resolve(line.granted);
            else if ('reason' in line)
                done.reject(Object.assign(new Error(line.reason[1]), {
                    name: line.reason[0], cause: {code: line.reason[2]},
                }));
            else
                done.resolve(line.value);
        }
    }

    _send(message) {
        this._process.write(`${JSON.stringify(message)}\n`);
    }

    _call(message) {
        const id = ++this._count;
        const call = {granted: deferred(), done: deferred()};
        call.done.promise.catch(() => {});
        this._calls.set(id, call);
        this._send({...message, id});
        return {
            granted: call.granted.promise,
            done: call.done.promise,
            release: value => {
                this._send({do: 'release', id, value});
                return call.done.promise;
            },
            abort: () => this._send({do: 'abort', id}),
        };
    }

    // Returns an object like a Request of testing.js. With `signal: true` it can be aborted.
    request(name, options = {}, bucket = null) {
        return this._call({do: 'request', name, options, bucket});
    }

    async hold(name, options = {}, bucket = null) {
        const request = this.request(name, options, bucket);
        const lock = await inTime(Promise.race([request.granted, request.done]), 'a grant');
        assert.notEqual(lock, null, 'lock of an agent process');
        return request;
    }

    query() {
        return inTime(this._call({do: 'query'}).done, 'query of an agent process');
    }

    // Closes the agent; the process continues.
    closeAgent() {
        return inTime(this._call({do: 'close'}).done, 'close of an agent');
    }

    _waitGone() {
        return inTime(this._process.wait(), 'end of an agent process');
    }

    // Lets the process run to the end of its script, whatever it holds and waits for.
    async exit() {
        this._send({do: 'exit'});
        return this._waitGone();
    }

    // SIGKILL; resolves when the process has ended.
    async kill() {
        this._process.kill();
        await this._waitGone();
    }
}
