# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""po/ has every file with texts for users, and the German translation every text."""

import os
import re
import shutil
import tempfile
import unittest

from buses import environment, read_text
from installation import run

SOURCE = environment('WEBLOCKS_SOURCE_DIR')
FOLDERS = ('cli', 'client-lib', 'viewer')
# Patterns of texts for users, by the suffix of the file's name.
MARKED = {
    '.c': r'\b(_|N_|C_|NC_|g_dngettext)\(\s*[N"]',
    '.h': r'\b(_|N_|C_|NC_)\(\s*"',
    '.ui': r'translatable="(yes|1|true)"',
    '.desktop.in': r'(?m)^Name=',
    '.metainfo.xml.in': r'<name>',
}
# As in meson's preset for GLib.
KEYWORDS = ('_', 'N_', 'C_:1c,2', 'NC_:1c,2', 'g_dngettext:2,3')


def read(*path):
    return read_text(os.path.join(SOURCE, *path))


def listed():
    return [line for line in read('po', 'POTFILES').splitlines() if line and line[0] != '#']


def marked():
    """The files with texts for users."""
    for folder in FOLDERS:
        for place, _, names in os.walk(os.path.join(SOURCE, folder)):
            for name in names:
                path = os.path.relpath(os.path.join(place, name), SOURCE)
                if any(name.endswith(end) and re.search(pattern, read(path))
                       for end, pattern in MARKED.items()):
                    yield path


class Translations(unittest.TestCase):
    def test_files(self):
        self.assertEqual(listed(), sorted(marked()))

    def test_german_is_complete(self):
        """msgcmp fails for a text without a translation, or with a fuzzy one."""
        if not shutil.which('msgcmp'):
            self.skipTest('no gettext')
        german = os.path.join(SOURCE, 'po', 'de.po')
        with tempfile.TemporaryDirectory(prefix='weblocks-po-') as directory:
            template = os.path.join(directory, 'weblocks.pot')
            run('xgettext', '--from-code=UTF-8', *(f'--keyword={word}' for word in KEYWORDS),
                f'--directory={SOURCE}', f'--output={template}', *listed())
            run('msgcmp', german, template)
        self.assertIn(' translated messages.\n',
                      run('msgfmt', '--check-format', '--check-domain', '--statistics',
                          '--output-file=/dev/null', german))
