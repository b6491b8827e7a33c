# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The documentation site: every link has a target, and the search index has every section."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from glob import glob

from buses import environment, read_text

SCRIPTS = os.path.join(environment('WEBLOCKS_SOURCE_DIR'), 'docs', 'site')
BUILD = environment('WEBLOCKS_BUILD_DIR')


def script(name, *arguments):
    return subprocess.run([sys.executable, os.path.join(SCRIPTS, name), *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


@unittest.skipUnless(os.path.exists(os.path.join(BUILD, 'docs', 'library', 'weblocks-1')),
                     'built without the reference pages')
class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = tempfile.mkdtemp(prefix='weblocks-site-')
        cls.addClassCleanup(shutil.rmtree, cls.site)
        made = script('make_site.py', BUILD, cls.site)
        if made.returncode != 0:
            raise AssertionError(made.stdout)

    def read(self, name):
        return read_text(os.path.join(self.site, name))

    def test_every_link_has_a_target(self):
        checked = script('check_links.py', self.site)
        self.assertEqual((checked.stdout, checked.returncode), ('', 0))

    def test_pages_of_the_library_can_be_read_without_the_site(self):
        """They are plain Markdown, and in the site the names in them are links."""
        folder = os.path.join(os.path.dirname(SCRIPTS), 'library')
        for name in glob('*.md', root_dir=folder):
            with self.subTest(name), open(os.path.join(folder, name), encoding='utf-8') as file:
                text = file.read()
                self.assertEqual(re.findall(r'\[\w+@.*?\]|%[A-Z]+|^Slug:.*', text, re.MULTILINE), [])
                for page in re.findall(r'\]\(([\w.]+)\)', text):
                    self.assertTrue(os.path.exists(os.path.join(folder, page)), page)
        page = self.read('library/claims.html')
        for target in ('class.Claim', 'property.Claim.held', 'method.Claim.stop', 'ctor.Claim.new_for_file',
                       'const.DOCUMENTS_BUCKET'):
            self.assertIn(f'href="{target}.html"', page)
        self.assertIn('href="error.Error.html', self.read('library/losing.html'))

    def test_a_broken_link_is_found(self):
        page = os.path.join(self.site, 'broken.html')
        self.addCleanup(os.remove, page)
        with open(page, 'w', encoding='utf-8') as file:
            file.write('<a href="index.html#examples">good</a> <a href="index.html#no">no anchor</a>'
                       '<img src="none.png">')
        checked = script('check_links.py', self.site)
        self.assertEqual((checked.stdout.splitlines(), checked.returncode),
                         (['broken.html: index.html#no', 'broken.html: none.png'], 1))

    def test_index_has_pages_functions_and_members(self):
        text = self.read('search-index.js')
        index = json.loads(text[text.index('['):text.rindex(';')])
        found = {address: (title, words) for title, address, words in index}
        self.assertEqual(found['library/method.Manager.request_sync.html'][0],
                         'WebLocks.Manager.request_sync')
        self.assertIn('web_locks_manager_request_sync',
                      found['library/method.Manager.request_sync.html'][1])
        self.assertIn('Ping', found['docs/contract.html#flow-control'][1])
        self.assertEqual(found['reference/index.html#gdbus-method-org-w3-WebLocks.Request'][0],
                         'org.w3.WebLocks.Request')
