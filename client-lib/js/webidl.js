// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The argument conversions of Web IDL that Web Locks needs. They throw a TypeError or the exception
// of the script's toString() or getter.

export function toDOMString(value, what) {
    if (typeof value === 'symbol')
        throw new TypeError(`${what} is a symbol, which can't be converted to a string.`);
    return `${value}`;
}

export function toEnum(value, values, what) {
    const string = toDOMString(value, what);
    if (!values.includes(string))
        throw new TypeError(`${what} is '${string}', which is none of '${values.join("', '")}'.`);
    return string;
}

export function toCallback(value, what) {
    if (typeof value !== 'function')
        throw new TypeError(`${what} is not a function.`);
    return value;
}

// Converts to an integer from 0 to `most`, or throws a TypeError ([EnforceRange]).
export function toInteger(value, most, what) {
    if (typeof value === 'bigint' || typeof value === 'symbol')
        throw new TypeError(`${what} is not a number.`);
    const number = Math.trunc(Number(value));
    if (!(number >= 0 && number <= most))
        throw new TypeError(`${what} is not a number from 0 to ${most}.`);
    return number;
}

// Converts a dictionary. `members` has a conversion function for each member, which is not called
// for absent members. Members are read in alphabetical order.
export function toDictionary(value, members, what) {
    const dictionary = {};
    if (value === undefined || value === null)
        return dictionary;
    if (typeof value !== 'object' && typeof value !== 'function')
        throw new TypeError(`${what} is not an object.`);
    for (const member of Object.keys(members).sort()) {
        const given = value[member];
        if (given !== undefined)
            dictionary[member] = members[member](given);
    }
    return dictionary;
}

// Runs an operation that returns a promise; an exception becomes the reason of one. In place of an async function,
// which would settle two microtasks later than the promise that it returns: a lock that is stolen is reported to its
// holder before the callback of the other request is called.
export function promiseFrom(operation) {
    try {
        return operation();
    } catch (error) {
        return Promise.reject(error);
    }
}

// Gives a class the properties of a Web IDL interface: its methods and attributes are enumerable,
// and its constructor has no arguments.
export function defineInterface(class_, enumerable) {
    Object.defineProperty(class_, 'length', {value: 0, configurable: true});
    for (const member of enumerable) {
        const descriptor = Object.getOwnPropertyDescriptor(class_.prototype, member);
        Object.defineProperty(class_.prototype, member, {...descriptor, enumerable: true});
    }
    Object.defineProperty(class_.prototype, Symbol.toStringTag, {
        value: class_.name, configurable: true,
    });
}
