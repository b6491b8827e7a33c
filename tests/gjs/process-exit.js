// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Processes that exit with locks and requests: immediately, without output, and with nothing left.
// Also the message about an unhandled rejection.

import {locks} from '../../client-lib/gjs/weblocks.js';
import {runScript} from './scripts.js';
import {assert, run, test} from './testing.js';

const FOR_EVER = 'new Promise(() => {})';

// The lock's name is in the variable `name`.
function runNamed(t, name, script) {
    return runScript(t, `
        import {AbortController, locks} from 'file:///usr/share/weblocks-1/gjs/weblocks.js';
        import System from 'system';
        const name = ${JSON.stringify(name)};
        ${script}`);
}

const SCRIPTS = {
    'a lock that is held':
        `await new Promise(resolve => locks.request(name, () => (resolve(), ${FOR_EVER})));`,
    'a request that waits':
        `locks.request(name, () => ${FOR_EVER}); locks.request(name, () => {});
         locks.request(name, {signal: new AbortController().signal}, () => {});
         await locks.query();`,
    'a request that was just made':
        'locks.request(name, () => {});',
    'a query that was just made':
        'locks.query();',
    'nothing but the import':
        '',
    'a request that was just aborted':
        `const controller = new AbortController();
         locks.request(name, {signal: controller.signal}, () => {}).catch(() => {});
         controller.abort();`,
    'System.exit() while it holds and waits':
        `locks.request(name, () => ${FOR_EVER}); locks.request(name, () => {});
         await locks.query(); System.exit(0);`,
    'System.exit() in a callback':
        'await locks.request(name, () => System.exit(0));',
    'locks that are garbage':
        `for (let i = 0; i < 20; i++)
             locks.request(name + i, () => ${FOR_EVER});
         await locks.query(); System.gc();`,
};

for (const [what, script] of Object.entries(SCRIPTS)) {
    test(`a process ends with ${what}`, async t => {
        const name = t.name();
        const {out, err, code} = await runNamed(t, name, script);
        assert.equal({out, err, code}, {out: '', err: '', code: 0});
        await locks.request(name, lock => assert.equal(lock.name, name));
    });
}

test('the result arrives before the end of the main loop', async t => {
    const {out, err, code} = await runNamed(t, t.name(),
        "print(await locks.request(name, async lock => lock.mode));");
    assert.equal({out, err, code}, {out: 'exclusive\n', err: '', code: 0});
});

test('an unhandled rejection is reported, once', async t => {
    const {err, code} = await runNamed(t, t.name(), `
        locks.request(name, () => { throw new Error('not handled'); });
        await locks.query();
        await locks.request(name, () => {});`);
    assert.equal(code, 0);
    assert.equal(err.match(/Unhandled promise rejection/g)?.length, 1, err);
});

test('a handled rejection is not reported', async t => {
    const {err, code} = await runNamed(t, t.name(), `
        const granted = [];
        const stolen = locks.request(name, () => new Promise((resolve, reject) => {
            granted.push(reject);
        }));
        const handled = stolen.catch(() => {});
        await locks.query();
        await locks.request(name, {steal: true}, () => {});
        await handled;
        granted[0](new Error('after it was stolen'));
        await locks.query();`);
    assert.equal({err, code}, {err: '', code: 0});
});

await run();
