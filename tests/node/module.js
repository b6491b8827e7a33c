// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The module for Node.js in the place of that for GJS.

import process from 'node:process';
import {pathToFileURL} from 'node:url';

const weblocks = await import(pathToFileURL(`${process.env.WEBLOCKS_NODE_PACKAGE}/index.mjs`));

export const {Lock, LockManager, StorageBucket, bucket, locks} = weblocks;
export const {AbortController, AbortSignal, DOMException} = globalThis;
