// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Defines navigator.locks for code that was written for web pages.

import {defineGlobals} from '../js/navigator.js';
import {locks} from './weblocks.js';

defineGlobals(locks);
