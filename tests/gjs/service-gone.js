// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Without the service, and when it ends and returns. This file runs on a bus without a service, and
// starts and kills its own.

import {AgentProcess} from './agent-process.js';
import {DOMException, locks} from '../../client-lib/gjs/weblocks.js';
import {getenv, readText, startProcess} from './host.js';
import {assert, deferred, inTime, isSettled, run, test, waitFor} from './testing.js';

const DAEMON = getenv('WEBLOCKSD');
const [SIGCONT, SIGSTOP] = [18, 19];
const ADDRESS = getenv('DBUS_SESSION_BUS_ADDRESS');

async function startService(t, ...more) {
    const process = startProcess([DAEMON, `--address=${ADDRESS}`, ...more]);
    const service = {
        // Resolves when the process has stopped, which may be later than the signal.
        async pause() {
            process.signal(SIGSTOP);
            await waitFor(() => {
                const stat = readText(`/proc/${process.pid}/stat`);
                return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
            }, 'end of all activity of the service');
        },

        resume() {
            process.signal(SIGCONT);
        },

        async kill() {
            process.kill();
            await process.wait();
        },
    };
    t.cleanup(() => service.kill());
    await waitFor(() => locks.query().then(() => true, () => false), 'service on the bus');
    return service;
}

// No service is left at the end of these tests to be queried for remaining locks.
const options = {keepsLocks: true};

test('without a service requests and queries are refused', async t => {
    for (const given of [{}, {ifAvailable: true}, {steal: true}, {mode: 'shared'}]) {
        const error = await assert.rejects(locks.request(t.name(), given, () => {
            throw new Error('the callback must not be called');
        }), 'NetworkError');
        assert.instance(error, DOMException);
        assert.notEqual(error.message, '');
        assert.equal(error.cause.code, 'unavailable');
    }
    assert.equal((await assert.rejects(locks.query(), 'NetworkError')).cause.code, 'unavailable');
}, options);

test('a service without its state: promises of holders are rejected, and their callbacks continue', async t => {
    const service = await startService(t);
    const granted = deferred();
    const goOn = deferred();
    let continued = false;
    const done = locks.request(t.name(), async lock => {
        granted.resolve(lock);
        await goOn.promise;
        continued = true;
    });
    done.catch(() => {});
    const {lost} = await granted.promise;
    assert.equal([await isSettled(done), lost.aborted], [false, false]);
    await service.kill();
    await startService(t, '--no-state');
    const error = await assert.rejects(done, 'NetworkError');
    assert.true(error.message.includes('service'), error.message);
    assert.equal([lost.aborted, lost.reason === error, error.cause.code], [true, true, 'lost']);
    assert.equal(continued, false);
    goOn.resolve();
    await waitFor(() => continued, 'the rest of the callback');
}, options);

test('the promise settles when the release was sent: a service that is stopped releases the lock later', async t => {
    const service = await startService(t);
    const agent = await AgentProcess.start(t);
    const name = t.name();
    const holder = await t.hold(locks, name);
    const waiter = agent.request(name);
    await waitFor(async () => (await locks.query()).pending.length === 1, 'request of the other agent');
    await service.pause();
    assert.equal(await inTime(holder.release('result'), 'the end of request()'), 'result');
    assert.equal(await isSettled(waiter.granted), false, 'granted by a service that is stopped');
    service.resume();
    await inTime(waiter.granted, 'the grant to the other agent');
    await waiter.release();
}, options);

test('timers run while a service that is stopped gets requests', async t => {
    const service = await startService(t);
    await service.pause();
    const requests = [];
    for (let i = 0; i < 100; i++) {
        requests.push(locks.request(t.name(), () => i));
        await new Promise(resolve => setTimeout(resolve, 1));
    }
    service.resume();
    assert.equal(await inTime(Promise.all(requests), 'the grants'), requests.map((_request, i) => i));
}, options);

await run();
