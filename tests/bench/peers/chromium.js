// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The page (and the worker) in which navigator.locks is measured. chromium.py sends the commands;
// every operation returns its duration in microseconds, if anything.

'use strict';

const inPage = typeof window !== 'undefined';

// As in the other programs: the median of the means of ten successive samples.
const BATCH = 10;

class Steady {
  #means = [];
  #count = 0;
  #begin = performance.now();

  // One more operation is complete.
  add() {
    this.#count++;
    if (this.#count % BATCH === 0) {
      const now = performance.now();
      this.#means.push((now - this.#begin) * 1000 / BATCH);
      this.#begin = now;
    }
  }

  get value() {
    return this.#means.sort((a, b) => a - b)[this.#means.length >> 1];
  }
}

async function pairs(count) {
  const steady = new Steady();
  for (let i = 0; i < count; i++) {
    await navigator.locks.request('printer', () => {});
    steady.add();
  }
  return steady.value;
}

let worker = null;

function workerPairs(count) {
  worker ??= new Worker('/bench.js');
  return new Promise((resolve, reject) => {
    worker.onmessage = event => resolve(event.data);
    worker.onerror = event => reject(new Error(event.message));
    worker.postMessage(count);
  });
}

// Holds this number of locks, with different names.
async function hold(count) {
  const held = [];
  for (let i = 0; i < count; i++) {
    held.push(new Promise(granted => {
      navigator.locks.request(`document ${i}`, () => {
        granted();
        return new Promise(() => {});
      });
    }));
  }
  await Promise.all(held);
}

async function queries(count) {
  const begin = performance.now();
  for (let i = 0; i < count; i++)
    await navigator.locks.query();
  return (performance.now() - begin) * 1000 / count;
}

// By name: the function that releases the lock, the number of grants still to be measured, and the
// function to call at the end.
const queues = new Map();

function join(name) {
  const gate = queues.get(name);
  navigator.locks.request(name, () => {
    gate.steady.add();
    gate.left--;
    if (gate.left > 0)
      return undefined;
    return new Promise(release => {
      gate.release = release;
      gate.done();
    });
  });
}

// One request holds the lock, and this number wait.
async function wait(count, name) {
  const gate = {left: 1, steady: new Steady()};
  queues.set(name, gate);
  const held = new Promise(done => (gate.done = done));
  join(name);
  await held;
  for (let i = 0; i < count; i++)
    join(name);
  await navigator.locks.query();
}

// Hands the lock over this number of times; then as many requests are added again.
async function grants(count, name) {
  const gate = queues.get(name);
  gate.left = count;
  const done = new Promise(resolve => (gate.done = resolve));
  gate.steady = new Steady();
  gate.release();
  await done;
  const result = gate.steady.value;
  for (let i = 0; i < count; i++)
    join(name);
  await navigator.locks.query();
  return result;
}

const operations = {pairs, workerPairs, hold, queries, wait, grants};

async function execute(command) {
  try {
    const value = await operations[command.operation](...command.arguments);
    return {value: value ?? 0};
  } catch (error) {
    return {error: String(error)};
  }
}

async function serve() {
  for (;;) {
    const command = await (await fetch('/next')).json();
    if (command) {
      const answer = await execute(command);
      await fetch('/answer', {method: 'POST', body: JSON.stringify(answer)});
    }
  }
}

if (inPage)
  serve();
else
  onmessage = async event => postMessage(await pairs(event.data));
