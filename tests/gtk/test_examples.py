# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The small examples with claims: several windows of one instance, and a job that is done by one of
several instances. Observed by the titles of their windows."""

import os
import re
import subprocess

from buses import PATIENCE, end, environment, spawn
from desktop import DisplayTestCase, gtk_environment
from harness import wait_for

EXAMPLES = environment('WEBLOCKS_EXAMPLES_DIR')


class ExamplesTestCase(DisplayTestCase):
    def setUp(self):
        super().setUp()
        self.processes = []

    def command(self, name, *arguments):
        return [os.path.join(EXAMPLES, f'weblocks-{name}'), *arguments]

    def start(self, name, *arguments):
        process = spawn(self.command(name, *arguments), stdin=subprocess.DEVNULL,
                        env=gtk_environment(self.display, self.bus))
        self.processes.append(process)
        self.addCleanup(end, process)
        return process

    def titles(self, process):
        self.assertIsNone(process.poll(), 'the example has ended')
        found = self.display.xdotool('search', '--onlyvisible', '--pid', process.pid) or ''
        return sorted(self.display.xdotool('getwindowname', window) or ''
                      for window in found.split())

    def wait_titles(self, process, *patterns):
        """Waits until the windows have titles that match, in alphabetical order."""
        def matches():
            titles = self.titles(process)
            return len(titles) == len(patterns) and all(
                re.fullmatch(pattern, title) for pattern, title in zip(patterns, titles))
        try:
            wait_for(matches, what='windows', every=0.1)
        except TimeoutError as error:
            titles = self.titles(process)
            raise TimeoutError(f'{error}: expected {patterns}, got {titles}') from None


class TwoWindows(ExamplesTestCase):
    def open_another(self, *paths):
        """As a user opens the document again; the running instance opens the window."""
        subprocess.run(self.command('two-windows', *paths), check=True, timeout=PATIENCE,
                       stdin=subprocess.DEVNULL, env=gtk_environment(self.display, self.bus))

    def test_one_window_edits(self):
        path = os.path.join(self.bus.directory, 'letter')
        application = self.start('two-windows', path)
        self.wait_titles(application, 'letter – Editing')
        self.open_another(path)
        self.wait_titles(application, 'letter – Editing', 'letter – Read only')
        other = os.path.join(self.bus.directory, 'other')
        self.open_another(other)
        self.wait_titles(application, 'letter – Editing', 'letter – Read only', 'other – Editing')
        # Another editor with the same document, which uses the same names.
        outside = self.client()
        outside.steal('file://' + os.path.realpath(path), 'documents')
        self.wait_titles(application, 'letter – Read only', 'letter – Read only', 'other – Editing')
        outside.close()
        self.wait_titles(application, 'letter – Editing', 'letter – Read only', 'other – Editing')


class SyncJob(ExamplesTestCase):
    def test_one_instance_does_the_job(self):
        first = self.start('sync-job')
        self.wait_titles(first, 'Synchronizations: [1-9][0-9]*')
        second = self.start('sync-job')
        self.wait_titles(second, f'Process {first.pid} synchronizes')
        first.kill()
        first.wait()
        self.wait_titles(second, 'Synchronizations: [1-9][0-9]*')
