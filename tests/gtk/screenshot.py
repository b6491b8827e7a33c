# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Makes docs/images/notes.png: two windows of weblocks-notes on one file, and a third not shown.

  WEBLOCKSD=build/service/weblocksd WEBLOCKS_NOTES=build/client-lib/examples/weblocks-notes \\
  LD_LIBRARY_PATH=build/client-lib /usr/bin/python3 tests/gtk/screenshot.py docs/images/notes.png

Needs what the tests need, and ImageMagick, the fonts of fonts-cantarell, and adwaita-icon-theme.
"""

import os
import subprocess
import sys

from desktop import Display, Notes
from harness import Bus, RawClient, Service, wait_for

TEXT = '''Saturday

bread, milk, two lemons
call Ada about the boat
return the books
'''
SETTINGS = '''[Settings]
gtk-font-name=Cantarell 11
gtk-icon-theme-name=Adwaita
gtk-cursor-blink=false
'''


def is_still(display, window):
    """Whether two looks at it show the same."""
    def look():
        return subprocess.run(['import', '-display', display.name, '-window', window, 'rgb:-'],
                              stdout=subprocess.PIPE, check=True).stdout
    return look() == look()


def take(display, windows, target):
    pictures = []
    for notes in windows:
        wait_for(lambda window=notes.window: is_still(display, window), what='a still picture')
        # Without the frame, which is only there because there is no window manager.
        pictures += ['(', f'x:{notes.window}', '-shave', '4x4', '-bordercolor', '#8d8a88',
                     '-border', '1', ')']
    subprocess.run(['convert', '-display', display.name, *pictures, '-background', '#ffffff',
                    '+smush', '20', '-bordercolor', '#ffffff', '-border', '12', '-strip',
                    '-define', 'png:compression-level=9', 'PNG24:' + target], check=True)


def main():
    target = sys.argv[1]
    bus = Bus('dbus-daemon').start()
    display = Display(size='1800x600')
    try:
        config = os.path.join(bus.directory, '.config', 'gtk-4.0')
        os.makedirs(config)
        with open(os.path.join(config, 'settings.ini'), 'w', encoding='utf-8') as file:
            file.write(SETTINGS)
        path = os.path.join(bus.directory, 'notes.txt')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(TEXT)
        Service(bus).wait_ready(RawClient(bus.address))
        windows = []
        for waiting in range(3):
            windows.append(Notes(display, bus, path))
            windows[-1].wait_state(read_only=waiting > 0, waiting=waiting)
        # Each where no other covers it.
        for place, notes in enumerate(windows):
            notes.wait_state(waiting=2)
            display.xdotool('windowmove', '--sync', notes.window, 600 * place, 20)
        windows[0].press('ctrl+End')
        windows[0].type('mend the red bicycle')
        windows[0].wait_editing(unsaved=True)
        take(display, windows[:2], target)
    finally:
        display.stop()
        bus.stop()


if __name__ == '__main__':
    main()
