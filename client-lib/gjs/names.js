// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Resource names on the wire. A DOMString may hold what a D-Bus string can't carry: U+0000, lone
// surrogates and noncharacters. Each of their code units travels as U+0010 `u` and four lower-case
// hex digits, and U+0010 itself as U+0010 `e`. All other names, so practically all, are unchanged.

const ESCAPE = '\u0010';

// Without the flag u this sees code units. A pair stands first, so what the later alternatives find
// of surrogates is alone. The second half of an astral noncharacter ends in hex fffe or ffff, and
// its first half in the last two bits of a plane.
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

// A string that is far longer than any limit is cut before it is converted: it is still too long.
const LONGEST = 32768;

function cut(string) {
    return string.length > LONGEST ? string.slice(0, LONGEST + 1) : string;
}

export function toWireName(name) {
    return cut(name).replace(SPECIAL, match => {
        if (match.length === 2 && !isNoncharacter(match))
            return match;
        return match.split('').map(escapeUnit).join('');
    });
}

// The name behind a wire name. Clients that know nothing of this may use names that no DOMString
// becomes; they are shown as they are.
export function fromWireName(wireName) {
    const name = wireName.replace(/\u0010(?:e|u([0-9a-f]{4}))/g,
        (_match, hex) => hex === undefined ? ESCAPE : String.fromCharCode(parseInt(hex, 16)));
    return toWireName(name) === wireName ? name : wireName;
}

// A string for people: what D-Bus can't carry shows as U+FFFD.
export function toWireText(text) {
    return cut(text).replace(SPECIAL, match => {
        if (match === ESCAPE || (match.length === 2 && !isNoncharacter(match)))
            return match;
        return '\uFFFD';
    });
}

// Whether D-Bus carries a string unchanged, as far as it is looked at.
export function isCarriable(string) {
    return toWireText(string) === cut(string);
}
