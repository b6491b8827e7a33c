// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The process of an AgentProcess: executes the commands on its standard input, and prints the
// results.

import Gio from 'gi://Gio';
import WebLocks from 'gi://WebLocks?version=1';

import {AbortController, forAgent} from '../../client-lib/gjs/weblocks.js';
import {readLine} from './agent-process.js';
import {deferred} from './testing.js';

const agent = new WebLocks.Agent();
const {bucket, locks} = forAgent(agent);
const requests = new Map();

function write(message) {
    print(JSON.stringify(message));
}

function writeResult(id, promise) {
    promise.then(value => write({id, value: value ?? null}),
        error => write({id, reason: [error.name, error.message]}));
}

const COMMANDS = {
    request({id, name, options, bucket: bucketName}) {
        const end = deferred();
        const controller = new AbortController();
        if (options.signal)
            options.signal = controller.signal;
        requests.set(id, {end, controller});
        const manager = bucketName === null ? locks : bucket(bucketName).locks;
        writeResult(id, manager.request(name, options, lock => {
            write({id, granted: lock && {name: lock.name, mode: lock.mode, token: lock.token}});
            return end.promise;
        }));
    },

    release({id, value}) {
        requests.get(id).end.resolve(value);
    },

    abort({id}) {
        requests.get(id).controller.abort();
    },

    query({id}) {
        writeResult(id, locks.query());
    },

    close({id}) {
        agent.close();
        write({id, value: null});
    },
};

await locks.query();
write({clientId: agent.clientId});
const input = new Gio.DataInputStream({baseStream: Gio.UnixInputStream.new(0, false)});
for (let line = await readLine(input); line !== null; line = await readLine(input)) {
    if (line.do === 'exit')
        break;
    COMMANDS[line.do](line);
}
