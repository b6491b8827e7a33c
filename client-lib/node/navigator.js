// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Defines navigator.locks for code that was written for web pages, where there is none.

'use strict';

const {defineGlobals} = require('./lib/navigator.js');
const {locks} = require('./index.js');

defineGlobals(locks);
