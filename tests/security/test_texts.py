# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""All texts that the service can send in errors or write to the log. They are fixed, except for
those listed here with a reason. A new text with a variable part fails this test until it is listed.

    test_texts.py SERVICE-DIRECTORY"""

import glob
import os
import re
import sys

# The functions that write errors, which their caller reads, with the index of the format.
ERRORS = {'sd_bus_error_setf': 2, 'sd_bus_reply_method_errorf': 2}
LOGS = {name: 0 for name in ('g_debug', 'g_info', 'g_message', 'g_warning', 'g_critical',
                             'g_error', 'g_printerr', 'g_print')} | {'lifecycle_fail': 1}

# Permitted in errors, which only the caller reads.
IN_ERRORS = {
    'limit_id_get_name(id)': 'of the table',
    'limits->max[id]': 'a number that Limits publishes',
    'g_strerror(-r)': "text of the C library",
    'why': 'one of the fixed texts of options.c',
    'escaped': "a key of the caller's own call, 64 bytes at most before it is escaped",
}

# Permitted in the log at any time, which the operator reads...
IN_LOG = {
    'BUS_SERVICE_NAME': 'fixed',
    'WEBLOCKS_VERSION': 'fixed',
    'error->message': "text of GLib about files and options that the operator chose",
    'fault': 'one of the fixed texts of state.c, log.c and restore.c',
    'aside_path': "the operator's",
    'path': "the state file, which the operator chose",
    'self->path': "the operator's",
    'self->directory': "the operator's",
    'log->path': "the operator's",
    'directory': "the operator's",
    'error != NULL ? error->message : "another service has the state now"': 'the same',
    'fd < 0 ? g_strerror(errno) : "it is on no tmpfs"': "fixed, or text of the C library",
    'get_reason(server)': 'one of the fixed texts of lifecycle.c',
    'reason': "one of the fixed texts of cluster-connection.c, or the C library's words",
    'g_strerror(errno)': "text of the C library",
    'g_strerror(-r)': "text of the C library",
    'client->unique_name': "the bus's",
    '(double)limit_us / G_USEC_PER_SEC': "the operator's",
}

# ... and with --verbose.
IN_DEBUG_LOG = {
    **IN_LOG,
    'name': "a unique name: the bus's",
    'unique_name': "the bus's",
    'lookup->unique_name': "the bus's",
    'problem': 'one of the fixed texts of credentials.c',
    'lock_call_get_name(call)': 'of the table of calls',
    'call->refusal_name != NULL ? ", not well-formed" : ""': 'fixed',
}


def arguments(text, at):
    """The arguments of the call whose parenthesis opens there."""
    depth, start, found, quoted = 0, at + 1, [], False
    while True:
        char = text[at]
        if char == '"' and text[at - 1] != '\\':
            quoted = not quoted
        elif not quoted and char in '([{':
            depth += 1
        elif not quoted and char in ')]}':
            depth -= 1
        if not quoted and (depth == 0 or (depth == 1 and char == ',')):
            found.append(' '.join(text[start:at].split()))
            start = at + 1
        if depth == 0:
            return found
        at += 1


def look(directory):
    """Yields (the mistake, or None; the place; the text)."""
    for path in sorted(glob.glob(os.path.join(directory, '**', '*.c'), recursive=True)):
        name = os.path.join('service', os.path.relpath(path, directory))
        with open(path, encoding='utf-8') as file:
            text = file.read()
        for match in re.finditer(r'\b(\w+)\(', text):
            function = match[1]
            place = ERRORS.get(function, LOGS.get(function))
            if place is None:
                continue
            given = arguments(text, match.end() - 1)
            if given[place].startswith('const char *'):
                continue  # its definition
            allowed = IN_ERRORS if function in ERRORS else \
                IN_DEBUG_LOG if function == 'g_debug' else IN_LOG
            where = f'{name}:{text.count(chr(10), 0, match.start()) + 1}'
            what = f'{function} {given[place]}'
            if not re.fullmatch(r'("(\\.|[^"\\])*"\s*|[A-Z0-9_]+\s*)+', given[place]):
                yield 'a format that is none', where, what
                continue
            odd = [value for value in given[place + 1:] if value not in allowed]
            yield (f'what is {", ".join(odd)}?' if odd else None), where, what


def main():
    number = failed = 0
    for problem, where, what in look(sys.argv[1]):
        number += 1
        failed += problem is not None
        print(f"{'not ok' if problem else 'ok'} {number} - {where} {what.replace('#', '')}")
        if problem:
            print(f'# {problem} If it may be published, add the reason to '
                  f'{os.path.basename(__file__)}.')
    number += 1
    # Otherwise the patterns match nothing.
    print(f"{'ok' if number > 20 else 'not ok'} {number} - texts were found")
    print(f'1..{number}')
    sys.exit(1 if failed or number <= 20 else 0)


if __name__ == '__main__':
    main()
