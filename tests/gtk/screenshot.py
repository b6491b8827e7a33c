# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Makes the pictures of the documentation:

  screenshot.py notes docs/images/notes.png     two windows of weblocks-notes, and a third not shown
  screenshot.py viewer docs/images/viewer.png   weblocks-viewer, of these and of commands; and also
                                                viewer-lock.png, viewer-narrow.png, viewer-dark.png,
                                                and viewer-evidence.png of a command that is stopped

  WEBLOCKSD=build/service/weblocksd WEBLOCKS_NOTES=build/client-lib/examples/weblocks-notes \\
  WEBLOCKS_VIEWER=build/viewer/weblocks-viewer WEBLOCKS_CLI=build/cli/weblocks \\
  LD_LIBRARY_PATH=build/client-lib PYTHONPATH=tests/lib \\
  /usr/bin/python3 tests/gtk/screenshot.py notes docs/images/notes.png

Needs what the tests need, and ImageMagick, the fonts of fonts-cantarell, and adwaita-icon-theme.
"""

import os
import signal
import subprocess
import sys

from accessibility import AccessibilityBus
from buses import environment, read_text, spawn, write_text
from desktop import Display, Notes
from harness import Bus, RawClient, Service, wait_for
from viewer import Viewer

TEXT = '''Saturday

bread, milk, two lemons
call Ada about the boat
return the books
'''
SETTINGS = '''[Settings]
gtk-font-name=Cantarell 11
gtk-icon-theme-name=Adwaita
gtk-cursor-blink=false
gtk-decoration-layout=:close
'''


# Two applications; the notes' and the two commands' locks, and those who wait, twice.
N_ROWS = 9


def is_still(display, window):
    """Whether two looks at it show the same."""
    def look():
        return subprocess.run(['import', '-display', display.name, '-window', window, 'rgb:-'],
                              stdout=subprocess.PIPE, check=True).stdout
    return look() == look()


def take(display, windows, target):
    pictures = []
    for window in windows:
        wait_for(lambda window=window: is_still(display, window), what='a still picture')
        # Without the frame, which is only there because there is no window manager.
        pictures += ['(', f'x:{window}', '-shave', '4x4', '-bordercolor', '#8d8a88',
                     '-border', '1', ')']
    subprocess.run(['convert', '-display', display.name, *pictures, '-background', '#ffffff',
                    '+smush', '20', '-bordercolor', '#ffffff', '-border', '12', '-strip',
                    '+dither', '-colors', '256', '-define', 'png:compression-level=9',
                    'PNG8:' + target], check=True)


def open_notes(display, bus, count):
    path = os.path.join(bus.directory, 'Documents', 'notes.txt')
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_text(path, TEXT)
    windows = []
    for waiting in range(count):
        windows.append(Notes(display, bus, path))
        windows[-1].wait_state(read_only=waiting > 0, waiting=waiting)
    # Each where no other covers it.
    for place, notes in enumerate(windows):
        notes.wait_state(waiting=count - 1)
        display.xdotool('windowmove', '--sync', notes.window, 600 * place, 20)
    return windows


def take_notes(display, bus, target):
    windows = open_notes(display, bus, 3)
    windows[0].press('ctrl+End')
    windows[0].type('mend the red bicycle')
    windows[0].wait_editing(unsaved=True)
    take(display, [notes.window for notes in windows[:2]], target)


def take_window(display, accessibility, bus, picture, width=560, text=None, lock=None, **environ):
    """The list, when it shows the text, or the page of a lock."""
    viewer = Viewer(display, accessibility, bus, DBUS_SYSTEM_BUS_ADDRESS=bus.address, **environ)
    viewer.wait_for(lambda: len(viewer.rows()) == N_ROWS, 'rows')
    viewer.wait_for(lambda: viewer.find('tab', 'System'), 'both buses')
    viewer.resize(width, 640)
    if text:
        viewer.wait_text(text)
    if lock:
        viewer.open_item(lock)
    take(display, [viewer.find_window()], picture)
    viewer.close()


def take_viewer(display, bus, target):
    accessibility = AccessibilityBus(display)
    base = target.removesuffix('.png')
    try:
        open_notes(display, bus, 2)
        commands = [spawn([environment('WEBLOCKS_CLI'), 'run', '--why', why, name, 'sleep', '1000'],
                          env=bus.environment())
                    for why, name in (('nightly copy', 'backup'),
                                      ('copy before the update', 'backup'),
                                      ('to print a page', 'printer'))]
        take_window(display, accessibility, bus, target)
        take_window(display, accessibility, bus, base + '-lock.png', lock='notes.txt')
        take_window(display, accessibility, bus, base + '-narrow.png', width=360)
        take_window(display, accessibility, bus, base + '-dark.png',
                    ADW_DEBUG_COLOR_SCHEME='prefer-dark')
        os.kill(int(read_text(f'/proc/{commands[0].pid}/task/{commands[0].pid}/children')), signal.SIGSTOP)
        take_window(display, accessibility, bus, base + '-evidence.png',
                    text='The process is stopped.')
    finally:
        accessibility.stop()


def main():
    what, target = sys.argv[1:]
    bus = Bus('dbus-daemon').start()
    display = Display(size='1800x1000')
    try:
        config = os.path.join(bus.directory, '.config', 'gtk-4.0')
        os.makedirs(config)
        write_text(os.path.join(config, 'settings.ini'), SETTINGS)
        Service(bus).wait_ready(RawClient(bus.address))
        {'notes': take_notes, 'viewer': take_viewer}[what](display, bus, target)
    finally:
        display.stop()
        bus.stop()


if __name__ == '__main__':
    main()
