// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The declarations of abort.js in GJS. Node.js has its own AbortSignal.

export interface AbortEvent {
    readonly type: 'abort';
    readonly target: AbortSignal;
}

export type AbortListener = ((event: AbortEvent) => void) | {handleEvent(event: AbortEvent): void};

/** The platform's where GJS has one, else of the same shape. */
export class AbortSignal {
    private constructor();
    static abort(reason?: unknown): AbortSignal;
    static timeout(milliseconds: number): AbortSignal;
    static any(signals: Iterable<AbortSignal>): AbortSignal;
    readonly aborted: boolean;
    readonly reason: any;
    onabort: ((event: AbortEvent) => void) | null;
    throwIfAborted(): void;
    addEventListener(type: 'abort', callback: AbortListener | null,
                     options?: boolean | {capture?: boolean; once?: boolean; signal?: AbortSignal}): void;
    removeEventListener(type: 'abort', callback: AbortListener | null,
                        options?: boolean | {capture?: boolean}): void;
    /** Of GJS, which has no Event: any object with a type. */
    dispatchEvent(event: {readonly type: string}): boolean;
}

/** The platform's where GJS has one, else of the same shape. */
export class AbortController {
    readonly signal: AbortSignal;
    abort(reason?: unknown): void;
}
