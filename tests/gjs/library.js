// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// What goes to the library and comes from it: events between the end of the library's call and that of the promise.

import WebLocks from 'gi://WebLocks?version=1';

import {AbortController, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

const unused = () => {
    throw new Error('the callback must not be called');
};

test('an object whose prototype is a signal is no signal', async t => {
    const {signal} = new AbortController();
    await assert.rejects(locks.request(t.name(), {signal: Object.create(signal)}, unused), 'TypeError');
});

// Other events can occur between the end of the library's call and that of the promise.
test('aborted between the grant and the callback: never called, and released', async t => {
    const name = t.name();
    const controller = new AbortController();
    const {prototype} = WebLocks.Manager;
    const {request_finish: finish} = prototype;
    t.cleanup(() => (prototype.request_finish = finish));
    prototype.request_finish = function (result) {
        const lock = finish.call(this, result);
        controller.abort('just now');
        return lock;
    };
    await assert.rejectsWith(locks.request(name, {signal: controller.signal}, unused), 'just now');
    await locks.request(name, {ifAvailable: true}, lock => assert.notEqual(lock, null));
});

// The lock can end before there is anything that listens to that.
test('a lock that was stolen between the grant and the callback', async t => {
    const name = t.name();
    const {prototype} = WebLocks.Manager;
    const {request_finish: finish} = prototype;
    const stealer = new WebLocks.Agent();
    t.cleanup(() => stealer.close());
    prototype.request_finish = function (result) {
        prototype.request_finish = finish;
        const lock = finish.call(this, result);
        const options = new WebLocks.Options({steal: true});
        WebLocks.Manager.new(stealer, 'default').request_sync(name, options, null);
        while (lock.held)
            this.query_sync(null);
        return lock;
    };
    const broken = t.request(locks, name);
    await assert.rejects(broken.done, 'AbortError');
    assert.equal(broken.wasCalled, true);
});

await run();
