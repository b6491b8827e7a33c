#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Opens the site in headless Chromium, and searches in it.

check_search.py SITE
"""

import os
import re
import subprocess
import sys
import tempfile

SITE = os.path.abspath(sys.argv[1])


def document(page):
    """The text of a page after its scripts have run, as HTML."""
    with tempfile.TemporaryDirectory(prefix='weblocks-chromium-') as profile:
        # As root, Chromium has no sandbox of its own.
        return subprocess.run(
            ['chromium', '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
             '--no-first-run', f'--user-data-dir={profile}', '--virtual-time-budget=10000',
             '--dump-dom', f'file://{SITE}/{page}'], check=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, timeout=300).stdout


def results(query):
    return re.findall(r'<li><a href="([^"]*)"', document(f'search.html?q={query}'))


# The first result of each search; None: there is none.
EXPECTED = {
    'request_sync': 'library/method.Manager.request_sync.html',
    'flow+control': 'docs/contract.html#flow-control',
    'GetNothing': None,
}

FAILED = False
for words, first in EXPECTED.items():
    found = results(words)
    good = first in found[:3] if first else not found
    print(f'{"ok" if good else "FAILED"}: {words}: {len(found)} results, {found[:3]}')
    FAILED = FAILED or not good
for name in ('index.html', 'library/index.html', 'reference/index.html'):
    good = len(document(name)) > 4000
    print(f'{"ok" if good else "FAILED"}: {name} opens')
    FAILED = FAILED or not good
sys.exit(FAILED)
