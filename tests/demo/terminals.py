# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Draws docs/images/terminals.svg: the terminals of two people who run commands for the same lock.

    terminals.py OUTPUT.svg

The commands are run on a private bus and private terminals; only the prompts are added to their
output. The environment is that of the tests (see tests/README.md), with WEBLOCKS_CLI_DIR."""

import html
import os
import re
import sys

from buses import Bus, environment
from harness import Client, Service, wait_for
from terminal import Terminal

COLUMNS, ROWS = 88, 9
CHARACTER, LINE, PADDING, HEAD = 7.85, 19, 14, 32
PROMPT = '$ '
AGE_MS = 3000  # of the lock, in the picture
ESCAPE = re.compile(r'\x1b\[[0-9;?]*[a-zA-Z]')


class Session:
    """A terminal in which one command after the other is run, and the lines on its screen."""

    def __init__(self, env):
        self.env = env
        self.lines = []  # of the commands before the last one
        self.terminal = None

    def start(self, command):
        self.lines.append(PROMPT + command)
        self.terminal = Terminal(['sh', '-c', command], self.env, ROWS, COLUMNS)

    def screen(self):
        return self.lines + [ESCAPE.sub('', line) for line in self.terminal.lines()]

    def wait_end(self):
        self.terminal.wait()
        self.lines = self.screen()[:-1]
        self.end()

    def end(self):
        if self.terminal is not None:
            self.terminal.end()
        self.terminal = None


def draw(terminals):
    width = round(COLUMNS * CHARACTER + 2 * PADDING)
    parts = []
    top = 0
    for title, lines in terminals:
        height = HEAD + len(lines) * LINE + PADDING
        parts.append(f'<rect y="{top}" width="{width}" height="{height}" rx="10" fill="#241f31"/>'
                     f'<text x="{width // 2}" y="{top + 20}" text-anchor="middle" class="title">'
                     f'{html.escape(title)}</text>')
        for number, line in enumerate(lines):
            style = ' class="typed"' if line.startswith(PROMPT) else ''
            parts.append(f'<text xml:space="preserve" x="{PADDING}" y="{top + HEAD + 15 + number * LINE}"{style}>'
                         f'{html.escape(line)}</text>')
        top += height + PADDING
    newline = '\n'
    return f'''<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors -->
<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->
<!-- Made by tests/demo/terminals.py -->
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top - PADDING}">
<style>text {{ font: 13px monospace; fill: #deddda; white-space: pre }}
.typed {{ fill: #ffffff; font-weight: bold }} .title {{ fill: #9a9996 }}</style>
{newline.join(parts)}
</svg>
'''


def main():
    bus = Bus('dbus-daemon').start()
    control = Client(bus.address)
    service = Service(bus).wait_ready(control)
    env = {**bus.environment(), 'TERM': 'xterm', 'LC_ALL': 'C.UTF-8',
           'PATH': environment('WEBLOCKS_CLI_DIR') + ':/usr/bin:/bin'}
    if 'LD_LIBRARY_PATH' in os.environ:
        env['LD_LIBRARY_PATH'] = os.environ['LD_LIBRARY_PATH']
    one, other = Session(env), Session(env)
    try:
        one.start("weblocks run --why 'nightly copy' backup sleep 1000")
        wait_for(lambda: control.query()[0], what='held lock')
        wait_for(lambda: control.inspect()[0][0]['age'] >= AGE_MS, what='age of the lock')
        other.start('weblocks list')
        other.wait_end()
        other.start('weblocks run backup echo checked')
        other.terminal.wait_for('Waiting for')
        screens = [('one terminal', one.screen()), ('another', other.screen())]
    finally:
        for session in (one, other):
            session.end()
        service.end()
        control.close()
        bus.stop()
    with open(sys.argv[1], 'w', encoding='utf-8') as file:
        file.write(draw(screens))


if __name__ == '__main__':
    main()
