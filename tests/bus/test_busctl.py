# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The commands of docs/guides/by-hand.md work as printed, and show every method."""

import os
import re
import shlex
import subprocess
from glob import glob
from xml.etree import ElementTree

from buses import environment, read_text
from harness import PATIENCE, BusTestCase

PAGE = os.path.join(os.path.dirname(__file__), '..', '..', 'docs', 'guides', 'by-hand.md')


def members():
    """Of the methods and properties of the service's interfaces."""
    return {element.get('name')
            for path in glob(os.path.join(environment('WEBLOCKS_INTROSPECTION_DIR'), 'org.w3.*.xml'))
            for element in ElementTree.parse(path).getroot().iter()
            if element.tag in ('method', 'property')}


class ByHand(BusTestCase):
    def test_page(self):
        """Every command of the page works as printed, in its order; `…` is anything."""
        blocks = re.findall(r'^```console\n(.*?)^```$', read_text(PAGE), re.MULTILINE | re.DOTALL)
        (first, _), (second, _), *commands = re.findall(r'^\$ (.*)\n((?:(?!\$ ).*\n)*)', ''.join(blocks), re.MULTILINE)
        self.assertEqual(first, "weblocks run --why 'page 3' printer sleep 3600 &")
        self.assertEqual(second, 'weblocks run --bucket org.example.Editor document sleep 3600 &')
        client = self.client()
        client.request('printer', why='page 3', **{'for': 'sleep (pid 12)'})
        client.request('document', bucket='org.example.Editor')
        for line, output in commands:
            with self.subTest(line):
                done = subprocess.run(shlex.split(line), env=self.bus.environment(), capture_output=True, text=True,
                                      timeout=PATIENCE, check=False)
                pattern = '.*'.join(re.escape(part) for part in output.split('…'))
                self.assertRegex(done.stdout + done.stderr, f'^{pattern}$')
        shown = {word for line, _ in commands for word in shlex.split(line)}
        self.assertEqual(members() - shown, set())
