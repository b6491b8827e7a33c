// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Escaping of resource names for D-Bus. A DOMString may contain characters that are not valid in a
// D-Bus string: U+0000, lone surrogates and noncharacters. Each of their code units is escaped as
// U+0010 `u` and four lower-case hexadecimal digits, and U+0010 itself as U+0010 `e`. All other
// characters are unchanged.

const ESCAPE = '\u0010';

// Without the flag u, the expression matches code units. The first alternative matches surrogate
// pairs, so the later ones match only lone surrogates. The code point of a noncharacter outside the
// BMP ends in hexadecimal fffe or ffff, which determines the low bits of both surrogates.
const PAIR = /[\uD800-\uDBFF][\uDC00-\uDFFF]/.source;
const ALONE = /[\u0000\u0010\uD800-\uDFFF\uFDD0-\uFDEF\uFFFE\uFFFF]/.source;
const SPECIAL = new RegExp(`${PAIR}|${ALONE}`, 'g');

function isNoncharacter(pair) {
    return (pair.codePointAt(0) & 0xfffe) === 0xfffe;
}

function escapeUnit(unit) {
    if (unit === ESCAPE)
        return `${ESCAPE}e`;
    return `${ESCAPE}u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

// A string that is much longer than the limit is truncated before the conversion; it is still too
// long.
const LONGEST = 32768;

function cut(string) {
    return string.length > LONGEST ? string.slice(0, LONGEST + 1) : string;
}

export function toDBusName(name) {
    return cut(name).replace(SPECIAL, match => {
        if (match.length === 2 && !isNoncharacter(match))
            return match;
        return match.split('').map(escapeUnit).join('');
    });
}

// Reverses the escaping. Names from other clients that are not the result of escaping are returned
// unchanged.
export function fromDBusName(dbusName) {
    const name = dbusName.replace(/\u0010(?:e|u([0-9a-f]{4}))/g,
        (_match, hex) => hex === undefined ? ESCAPE : String.fromCharCode(parseInt(hex, 16)));
    return toDBusName(name) === dbusName ? name : dbusName;
}

// Converts a string for display: characters that are not valid in D-Bus become U+FFFD.
export function toDBusText(text) {
    return cut(text).replace(SPECIAL, match => {
        if (match === ESCAPE || (match.length === 2 && !isNoncharacter(match)))
            return match;
        return '\uFFFD';
    });
}

// Whether a string is valid in D-Bus, as far as it is checked.
export function isCarriable(string) {
    return toDBusText(string) === cut(string);
}
