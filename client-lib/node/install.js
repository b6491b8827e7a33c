// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Builds the addon where the package has no prebuilt one: with the C compiler, pkg-config and the headers
// of libweblocks. Node-API's headers are in the package, so nothing is downloaded. Without the addon the
// package is installed all the same, and its requests are rejected.

'use strict';

const {execFileSync} = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const process = require('node:process');

const prebuilt = path.join(__dirname, 'prebuilds', `linux-${process.arch}`, 'weblocks.node');
const built = path.join(__dirname, 'build', 'weblocks.node');

function build() {
    const flags = execFileSync('pkg-config', ['--cflags', '--libs', 'weblocks-1'], {encoding: 'utf8'});
    fs.mkdirSync(path.dirname(built), {recursive: true});
    execFileSync(process.env.CC ?? 'cc', [
        '-shared', '-fPIC', '-O2', '-D_GNU_SOURCE', '-fvisibility=hidden', '-pthread',
        '-I', path.join(__dirname, 'include'), '-o', built,
        ...['addon.c', 'loop.c', 'value.c'].map(name => path.join(__dirname, 'src', name)),
        ...flags.trim().split(/\s+/), '-Wl,-z,nodelete',
    ], {stdio: 'inherit'});
}

if (!fs.existsSync(prebuilt) || process.env.npm_config_build_from_source) {
    try {
        build();
    } catch (error) {
        console.warn(`weblocks: the addon could not be built: ${error.message}`);
    }
}
