// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// DOMException: the platform's, or a replacement if it has none; and the exceptions of the standard
// for the errors of the library.

// The legacy codes of the exceptions that this module throws.
const CODES = {
    NotSupportedError: 9,
    InvalidStateError: 11,
    SecurityError: 18,
    NetworkError: 19,
    AbortError: 20,
    QuotaExceededError: 22,
    TimeoutError: 23,
};

class OwnDOMException extends Error {
    #name;

    constructor(message = '', name = 'Error') {
        super(`${message}`);
        this.#name = `${name}`;
    }

    get name() {
        return this.#name;
    }

    get code() {
        return CODES[this.#name] ?? 0;
    }

    get [Symbol.toStringTag]() {
        return 'DOMException';
    }
}

Object.defineProperty(OwnDOMException, 'name', {value: 'DOMException', configurable: true});

export const DOMException = globalThis.DOMException ?? OwnDOMException;

// The names for the codes of the library's errors.
const NAMES = new Map([
    ['not-supported', 'NotSupportedError'],
    ['security', 'SecurityError'],
    ['invalid-state', 'InvalidStateError'],
    ['closed', 'AbortError'],
    ['stolen', 'AbortError'],
    ['lost', 'NetworkError'],
    ['timeout', 'TimeoutError'],
    ['not-held', 'InvalidStateError'],
    ['limits', 'QuotaExceededError'],
    ['unavailable', 'NetworkError'],
    ['cancelled', 'AbortError'],
]);

// What a platform rejects the promise of a request with that was cancelled.
export const CANCELLED = Symbol('cancelled');

// Returns the exception for an error of the library. Its `cause` is an Error with the `code` of that
// error, such as 'stolen'; the cause of this one is the platform's object, if there is one.
export function newException(code, message, platformError = undefined) {
    const exception = code === 'invalid-argument'
        ? new TypeError(message) : new DOMException(message, NAMES.get(code) ?? 'UnknownError');
    const cause = new Error(message);
    cause.code = code;
    if (platformError !== undefined)
        cause.cause = platformError;
    Object.defineProperty(exception, 'cause', {
        value: cause, configurable: true, writable: true,
    });
    return exception;
}
