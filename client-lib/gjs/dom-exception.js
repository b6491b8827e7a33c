// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// DOMException: that of GJS, or a replacement if GJS has none; and the conversion of the library's
// errors to the exceptions of the standard.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import WebLocks from 'gi://WebLocks?version=1';

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

export const DOMException = globalThis.DOMException ?? class DOMException extends Error {
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
};

const NAMES = new Map([
    [WebLocks.Error.NOT_SUPPORTED, 'NotSupportedError'],
    [WebLocks.Error.SECURITY, 'SecurityError'],
    [WebLocks.Error.INVALID_STATE, 'InvalidStateError'],
    [WebLocks.Error.CLOSED, 'AbortError'],
    [WebLocks.Error.STOLEN, 'AbortError'],
    [WebLocks.Error.LOST, 'NetworkError'],
    [WebLocks.Error.TIMEOUT, 'TimeoutError'],
    [WebLocks.Error.NOT_HELD, 'InvalidStateError'],
    [WebLocks.Error.LIMITS, 'QuotaExceededError'],
    [WebLocks.Error.UNAVAILABLE, 'NetworkError'],
]);

// Returns the exception for an error of the library, which becomes its `cause`.
export function exceptionFor(error) {
    if (!(error instanceof GLib.Error))
        return error;
    let exception;
    if (error.matches(Gio.IOErrorEnum, Gio.IOErrorEnum.INVALID_ARGUMENT))
        exception = new TypeError(error.message);
    else if (error.matches(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED))
        exception = new DOMException(error.message, 'AbortError');
    else if (error instanceof WebLocks.Error)
        exception = new DOMException(error.message, NAMES.get(error.code) ?? 'UnknownError');
    else
        exception = new DOMException(error.message, 'UnknownError');
    Object.defineProperty(exception, 'cause', {
        value: error, configurable: true, writable: true,
    });
    return exception;
}
