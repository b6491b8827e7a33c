// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The process of an AgentProcess: executes the commands on its standard input, and prints the
// results.

import {AbortController} from '../../client-lib/gjs/weblocks.js';
import {finish, newAgent, print, standardInput} from './host.js';
import {deferred} from './testing.js';

const {bucket, locks, getClientId, close} = newAgent();
const requests = new Map();

function write(message) {
    print(JSON.stringify(message));
}

function writeResult(id, promise) {
    promise.then(value => write({id, value: value ?? null}),
        error => write({id, reason: [error.name, error.message, error.cause?.code]}));
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
        close();
        write({id, value: null});
    },
};

write({clientId: await getClientId()});
for await (const text of standardInput()) {
    const line = JSON.parse(text);
    if (line.do === 'exit')
        break;
    COMMANDS[line.do](line);
}
finish();
