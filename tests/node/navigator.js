// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The module's navigator.js. Node.js 24 has a navigator.locks between its workers, which is left alone.

import process from 'node:process';
import {pathToFileURL} from 'node:url';

if (globalThis.navigator !== undefined)
    delete globalThis.navigator.constructor.prototype.locks;
await import(pathToFileURL(`${process.env.WEBLOCKS_NODE_PACKAGE}/navigator.js`));
