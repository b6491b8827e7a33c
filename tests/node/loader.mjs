// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Runs the tests of ../gjs on Node.js: host.js and module.js take the places of what is of GJS.

const REPLACED = new Map([
    ['./host.js', 'host.js'],
    ['./scripts.js', 'scripts.js'],
    ['../gjs/host.js', 'host.js'],
    ['../../client-lib/gjs/weblocks.js', 'module.js'],
    ['../../client-lib/gjs/navigator.js', 'navigator.js'],
]);
const TESTS = new URL('../', import.meta.url).href;
const SHARED = new URL('../../client-lib/js/', import.meta.url).href;

export async function resolve(specifier, context, next) {
    const name = REPLACED.get(specifier);
    return name === undefined ? next(specifier, context)
        : {url: new URL(name, import.meta.url).href, shortCircuit: true};
}

export async function load(url, context, next) {
    const isModule = url.startsWith(TESTS) || url.startsWith(SHARED);
    return next(url, isModule ? {...context, format: 'module'} : context);
}
