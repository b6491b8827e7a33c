// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// When a process ends, and what is left of it: nothing.

import {AsyncLocalStorage} from 'node:async_hooks';
import {writeFileSync} from 'node:fs';
import path from 'node:path';
import process from 'node:process';

import {locks} from './module.js';
import {makeFolder, runScript, startScript} from './scripts.js';
import {assert, run, test, waitFor} from '../gjs/testing.js';

const FOR_EVER = 'new Promise(() => {})';

const isFree = name => locks.request(name, {ifAvailable: true}, lock => lock !== null);
const isPending = async name => (await locks.query()).pending.some(info => info.name === name);

// What keeps a process alive, by what it prints before it ends.
const PENDING = {
    'a query': "locks.query().then(() => console.log('done'));",
    'a request': "locks.request(name, () => console.log('done'));",
    'a release': "locks.request(name, () => {}).then(() => console.log('done'));",
    'a request that is aborted': `
        const signal = AbortSignal.timeout(20);
        locks.request(name, () => new Promise(resolve => {
            locks.request(name, {signal}, () => {}).catch(error => {
                console.log(error.name === 'TimeoutError' ? 'done' : error);
                resolve();
            });
        }));`,
};

for (const [what, script] of Object.entries(PENDING)) {
    test(`${what} keeps the process alive until it is done`, async t => {
        const result = await runScript(t, `const name = ${JSON.stringify(t.name())}; ${script}`);
        assert.equal(result, {out: 'done\n', err: '', code: 0});
    });
}

test('a request that waits keeps the process alive until it is granted', async t => {
    const name = t.name();
    const holder = await t.hold(locks, name);
    const script = startScript(t, `locks.request('${name}', () => console.log('granted'));`);
    await waitFor(() => isPending(name), 'the request');
    // A process without anything to wait for ends, as in the next case, in a few milliseconds.
    await runScript(t, `locks.request('${t.name()}', () => ${FOR_EVER});`);
    assert.equal([script.child.exitCode, script.output.out], [null, '']);
    await holder.release();
    assert.equal(await script.wait(), {out: 'granted\n', err: '', code: 0});
});

test('a held lock does not keep the process alive', async t => {
    const name = t.name();
    const script = `locks.request('${name}', () => (console.log('held'), ${FOR_EVER}));`;
    assert.equal(await runScript(t, script), {out: 'held\n', err: '', code: 0});
    await locks.request(name, () => {});
});

test('require() and import have the same objects', async t => {
    const {out, err} = await runScript(t, `
        import {createRequire} from 'node:module';
        import * as imported from 'weblocks';
        const required = createRequire(import.meta.url)('weblocks');
        const names = Object.keys(required).sort();
        console.log(names.every(name => required[name] === imported[name]),
            names.join() === Object.keys(imported).sort().join());`, {name: 'script.mjs'});
    assert.equal([out, err], ['true true\n', '']);
});

test('the import alone does not keep the process alive', async t => {
    assert.equal(await runScript(t, ''), {out: '', err: '', code: 0});
});

test('process.exit() in a callback ends the process at once, and frees everything', async t => {
    const name = t.name();
    const waiting = t.name();
    const holder = await t.hold(locks, waiting);
    assert.equal(await runScript(t, `
        locks.request('${waiting}', () => {});
        locks.request('${name}', () => {
            process.exit(3);
            console.log('not reached');
        }).then(() => console.log('not reached'));`), {out: '', err: '', code: 3});
    await locks.request(name, () => {});
    await holder.release();
    assert.equal(await locks.query(), {held: [], pending: []});
});

test('an unhandled rejection ends the process as Node.js does it', async t => {
    const name = t.name();
    const {out, err, code} = await runScript(t, `
        locks.request('${name}', async () => { throw new Error('not handled'); });
        locks.request('${name}', () => ${FOR_EVER});`);
    assert.equal([out, code], ['', 1]);
    assert.true(err.includes('Error: not handled'), err);
    await locks.request(name, () => {});
});

test('exceptions of listeners are uncaught ones, and the others are called', async t => {
    const [left, right] = [t.name(), t.name()];
    const script = startScript(t, `
        process.on('uncaughtException', error => console.log(error.message));
        for (const name of ['${left}', '${right}']) {
            locks.request(name, lock => {
                lock.onwanted = () => { throw new Error('wanted: ' + name); };
                console.log('held: ' + name);
                return ${FOR_EVER};
            });
        }
        setInterval(() => {}, 60000);`);
    await script.printed(`held: ${right}`);
    const waiting = [left, right].map(name => locks.request(name, () => {}));
    await script.printed(`wanted: ${left}`);
    await script.printed(`wanted: ${right}`);
    script.child.kill();
    await Promise.all(waiting);
});

// The answer is often there within the same turn of the event loop. It is looked for 16 times in a turn, and if the
// turn began with an answer to the waiting thread, so many times before.
test('the event loop has a turn while locks are requested one after the other', async t => {
    const name = t.name();
    const counts = [];
    let count = 0;
    let isOver = false;
    const turn = () => {
        counts.push(count);
        count = 0;
        isOver ||= counts.length >= 1000;
        if (!isOver)
            setImmediate(turn);
    };
    turn();
    setTimeout(() => (isOver = true), 5000);
    while (!isOver) {
        await locks.request(name, () => {});
        count++;
    }
    const most = Math.max(...counts);
    assert.true(most <= 33, `${most} in one turn`);
    assert.true(most > 1, 'never two in one turn');
});

test('callbacks and continuations have the AsyncLocalStorage of their request', async t => {
    const storage = new AsyncLocalStorage();
    const name = t.name();
    const stores = await Promise.all(Array.from({length: 20}, (_value, i) => storage.run(i, async () => {
        const inCallback = await locks.request(name, () => storage.getStore());
        return [inCallback, storage.getStore()];
    })));
    assert.equal(stores, Array.from({length: 20}, (_value, i) => [i, i]));
});

test('children inherit no descriptor and no lock', async t => {
    const name = t.name();
    const script = startScript(t, `
        const {spawn, spawnSync} = require('node:child_process');
        const list = () => spawnSync('ls', ['/proc/self/fd'], {encoding: 'utf8'}).stdout;
        const before = list();
        locks.request('${name}', () => {
            console.log(before === list() ? 'the same' : before + list());
            const child = spawn('sleep', ['1000'], {stdio: ['ignore', 'ignore', 'ignore'], detached: true});
            console.log('child', child.pid);
            return ${FOR_EVER};
        });
        setInterval(() => {}, 1000);`);
    await script.printed('child');
    const [, pid] = script.output.out.match(/child (\d+)/);
    t.cleanup(() => process.kill(Number(pid), 'SIGKILL'));
    assert.equal(script.output.out, `the same\nchild ${pid}\n`);
    script.child.kill('SIGKILL');
    await locks.request(name, () => {});
    process.kill(Number(pid), 0); // it still runs
});

test('nobody else gets in while the event loop of the holder is blocked', async t => {
    const name = t.name();
    const folder = makeFolder(t);
    const script = startScript(t, `locks.request('${name}', () => {
            console.log('blocked');
            while (!require('node:fs').existsSync('end'))
                Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
        }).then(() => console.log('released'));`, {folder});
    await script.printed('blocked');
    for (let i = 0; i < 100; i++)
        assert.equal(await isFree(name), false);
    writeFileSync(path.join(folder, 'end'), '');
    await locks.request(name, () => {});
    assert.equal((await script.wait()).out, 'blocked\nreleased\n');
});

await run();
