// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// WebLocks.Claim in JavaScript: properties, bindings, promises.

import Gio from 'gi://Gio';
import GObject from 'gi://GObject';
import WebLocks from 'gi://WebLocks?version=1';

import {assert, run, test, waitFor} from './testing.js';

const {ClaimState} = WebLocks;

Gio._promisify(WebLocks.Claim.prototype, 'take_over_async', 'take_over_finish');

function newManager() {
    return new WebLocks.Manager({agent: new WebLocks.Agent(), bucket: 'org.example.Claims'});
}

test('properties can be bound to those of a claim', async t => {
    const claim = new WebLocks.Claim({manager: newManager(), name: t.name()});
    const save = new Gio.SimpleAction({name: 'save'});
    claim.bind_property('held', save, 'enabled', GObject.BindingFlags.SYNC_CREATE);
    assert.equal([claim.state, claim.held, claim.lock, claim.token, claim.holder, claim.position],
        [ClaimState.IDLE, false, null, 0, null, 0]);
    assert.equal(save.enabled, false);
    claim.start();
    await waitFor(() => claim.held, 'held');
    assert.equal(save.enabled, true);
    assert.equal(claim.lock.token, claim.token);
    claim.stop();
    assert.equal(save.enabled, false);
});

test('a claim waits, is taken over, and waits again', async t => {
    const name = t.name();
    const first = new WebLocks.Claim({manager: newManager(), name, reclaim: true});
    const second = new WebLocks.Claim({manager: newManager(), name, why: 'to test'});
    const states = [];
    first.connect('notify::state', () => states.push(first.state));
    first.start();
    await waitFor(() => first.held, 'held');
    second.start();
    await waitFor(() => second.holder !== null, 'a holder');
    assert.equal(second.position, 1);
    assert.equal(second.holder.client_id, first.manager.agent.client_id);
    assert.equal(await second.take_over_async(null), true);
    await waitFor(() => first.holder !== null, 'another holder');
    assert.equal(first.holder.why, 'to test');
    assert.true(first.error.matches(WebLocks.Error, WebLocks.Error.STOLEN), 'the reason');
    second.stop();
    await waitFor(() => first.held, 'held again');
    assert.equal(first.error, null);
    first.stop();
    assert.equal(states, [ClaimState.WAITING, ClaimState.HELD, ClaimState.LOST, ClaimState.WAITING,
        ClaimState.HELD, ClaimState.IDLE]);
});

test('a claim with an invalid name fails', async () => {
    const claim = new WebLocks.Claim({manager: newManager(), name: '-reserved'});
    claim.start();
    await waitFor(() => claim.state === ClaimState.FAILED, 'failed');
    assert.true(claim.error.matches(WebLocks.Error, WebLocks.Error.NOT_SUPPORTED), 'the reason');
});

await run();
