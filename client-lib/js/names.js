// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Resource names on D-Bus. A string of JavaScript may have what a string on D-Bus can't: U+0000, lone
// surrogates and noncharacters. Each of their code units is escaped as U+0010 `u` and four lower-case
// hexadecimal digits. What looks like this escape in a string, with any number of `e` after U+0010, gets one
// more `e`. All other strings are the same in both, so every language has the same locks by them.
//
// Every string on D-Bus is that of one string in JavaScript, and the other way round. Therefore the
// escapes of both halves of a character that D-Bus does carry are none: they are left as they are.

// Without the flag u, expressions match code units, and surrogate pairs before lone surrogates. The code
// point of a noncharacter outside the BMP ends in hexadecimal fffe or ffff, which determines the low bits
// of both surrogates.
const PAIR = /[\uD800-\uDBFF][\uDC00-\uDFFF]/.source;
const ALONE = /[\u0000\uD800-\uDFFF\uFDD0-\uFDEF\uFFFE\uFFFF]/.source;
const UNIT = '(?:0000|d[89a-f][0-9a-f]{2}|fd[de][0-9a-f]|fff[ef])';
const HALVES = '\u0010ud[89ab][0-9a-f]{2}\u0010ud[c-f][0-9a-f]{2}';
const ESCAPES = new RegExp(`${HALVES}|\u0010e*u${UNIT}`, 'g');
const SPECIAL = new RegExp(`${PAIR}|${ALONE}`, 'g');
const TO_DBUS = new RegExp(`${PAIR}|${HALVES}|\u0010e*u${UNIT}|${ALONE}`, 'g');

function isNoncharacter(pair) {
    return (pair.codePointAt(0) & 0xfffe) === 0xfffe;
}

function escape(unit) {
    return `\u0010u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function unescape(text) {
    return text.replace(/\u0010u([0-9a-f]{4})/g, (_match, hex) => String.fromCharCode(parseInt(hex, 16)));
}

function isHalves(match) {
    return match.lastIndexOf('\u0010') > 0;
}

function isOfNoncharacter(halves) {
    return isNoncharacter(unescape(halves));
}

// A string that is much longer than the limit is truncated before the conversion; it is still too
// long.
const LONGEST = 32768;

function cut(string) {
    return string.length > LONGEST ? string.slice(0, LONGEST + 1) : string;
}

export function toDBusName(name) {
    return cut(name).replace(TO_DBUS, match => {
        if (match[0] !== '\u0010')
            return match.length === 2 && !isNoncharacter(match) ? match : match.replace(/[^]/g, escape);
        if (isHalves(match) && !isOfNoncharacter(match))
            return match;
        return match.replaceAll('\u0010', '\u0010e');
    });
}

export function fromDBusName(dbusName) {
    return dbusName.replace(ESCAPES, match => {
        if (isHalves(match) && !isOfNoncharacter(match))
            return match;
        return match[1] === 'e' ? match.replace('e', '') : unescape(match);
    });
}

// Converts a string for display: characters that are not valid in D-Bus become U+FFFD.
export function toDBusText(text) {
    return cut(text).replace(SPECIAL, match => {
        if (match.length === 2 && !isNoncharacter(match))
            return match;
        return '\uFFFD';
    });
}

// Whether a string is valid in D-Bus, as far as it is checked.
export function isCarriable(string) {
    return toDBusText(string) === cut(string);
}
