// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Any DOMString is a name, unless it begins with a hyphen. Strings that D-Bus does not support are
// escaped.

import {fromDBusName, isCarriable, toDBusName} from '../../client-lib/js/names.js';
import {bucket, locks} from '../../client-lib/gjs/weblocks.js';
import {getenv, readText} from './host.js';
import {FACTOR, assert, run, show, test} from './testing.js';

const NAMES = [
    '', 'abc', 'abc\x00def', '\x00', '\uD800', '\uDC00', '\uDC00\uD800', 'a\uD800b\uDC00c',
    '\uFFFF', '\uFFFE', '\uFDD0', '\uFDEF', '\uFFFD', '\u{1F512}', '\u{10FFFF}', '\u{1FFFE}',
    '\u{10FFFD}', '\uD800\u{1F512}\uDC00', '\u{1F512}\uDC00', '\uD800\u{1FFFF}',
    '\uD83D\uD83D\uDD12',
    '\u0010', '\u0010e', '\u0010u0000', '\u0010eu0000', '\u0010\u0010e',
    '\u0010euffff', '\u0010ud83d\u0010udd12', '\u0010ud83f\u0010udffe', '\x01\x7F', 'e', 'u0000', 'ä', 'a\u0308',
    ' ', '\n', 'x-anything', '/', 'constructor', '__proto__',
];

for (const name of NAMES) {
    test(`${show(name)} is a valid name`, async () => {
        await locks.request(name, async lock => {
            assert.equal(lock.name, name, 'the name of the lock');
            const {held} = await locks.query();
            assert.equal(held.map(info => info.name), [name], 'the name in the snapshot');
            await locks.request(name, {ifAvailable: true}, other => assert.equal(other, null));
        });
    });
}

test('a lone surrogate is not U+FFFD', async t => {
    await t.hold(locks, '\uD800');
    await locks.request('\uFFFD', {ifAvailable: true}, lock => assert.notEqual(lock, null));
});

test('a leading hyphen is reserved', async () => {
    for (const name of ['-', '-foo', '-\x00']) {
        await assert.rejects(locks.request(name, () => {}), 'NotSupportedError', show(name));
        await assert.rejects(locks.request(name, {steal: true}, () => {}), 'NotSupportedError');
    }
});

test('every code unit is decoded unchanged', () => {
    for (let unit = 0; unit <= 0xffff; unit++) {
        for (const name of [String.fromCharCode(unit), `\uD800${String.fromCharCode(unit)}`,
            `${String.fromCharCode(unit)}\uDFFF`]) {
            const back = fromDBusName(toDBusName(name));
            if (back !== name)
                throw new Error(`${show(name)} came back as ${show(back)}`);
        }
    }
});

// A generator of pseudo-random numbers (mulberry32), so that a failure can be repeated.
function makeRandom(seed) {
    return below => {
        seed = (seed + 0x6d2b79f5) | 0;
        let number = Math.imul(seed ^ (seed >>> 15), 1 | seed);
        number = (number + Math.imul(number ^ (number >>> 7), 61 | number)) ^ number;
        return ((number ^ (number >>> 14)) >>> 0) % below;
    };
}

test('every string has one on D-Bus, and every string on D-Bus is that of one', () => {
    const seed = Number(getenv('WEBLOCKS_TEST_SEED') ?? Date.now() % 1e6);
    const random = makeRandom(seed);
    const parts = ['\u0010', '\u0010', 'e', 'u', '0000', 'd83d', 'dd12', 'd83f', 'dffe', 'ffff', '0010', 'fdd0',
        '\x00', '\uD83D', '\uDD12', '\uD83F', '\uDFFE', '\uFFFF', '\uFDD0', 'a'];
    for (let i = 0; i < 20000; i++) {
        const name = Array.from({length: 1 + random(9)}, () => parts[random(parts.length)]).join('');
        const where = `${show(name)}, seed ${seed}`;
        assert.true(isCarriable(toDBusName(name)), where);
        assert.equal(fromDBusName(toDBusName(name)), name, where);
        if (isCarriable(name))
            assert.equal(toDBusName(fromDBusName(name)), name, where);
    }
});

test('1,024 bytes on D-Bus are accepted, and one more is refused', async () => {
    const fits = ['x'.repeat(1024), 'ä'.repeat(512), '\x00'.repeat(170) + 'xxxx'];
    for (const name of fits) {
        await locks.request(name, lock => assert.equal(lock.name, name));
        await assert.rejects(locks.request(`${name}x`, () => {}), 'QuotaExceededError');
    }
});

// The processor time of the main thread, which does not depend on other processes.
function getProcessorMs() {
    return Number(readText('/proc/self/schedstat').split(' ')[0]) / 1e6;
}

// Converting the whole name would take seconds, or throw at a special character.
test('a name of megabytes is refused', async () => {
    const names = ['n'.repeat(3e7), '\ud800'.repeat(3e7)];
    for (const name of names)
        assert.true(name.indexOf('x') === -1); // its characters are there, not only how often
    const begin = getProcessorMs();
    for (const name of names) {
        await assert.rejects(locks.request(name, () => {}), 'QuotaExceededError');
        await assert.rejects(locks.request('a', {why: name}, () => {}), 'QuotaExceededError');
        assert.throws(() => bucket(name), TypeError);
    }
    assert.true(getProcessorMs() - begin < 500 * FACTOR, 'in time');
});

await run();
