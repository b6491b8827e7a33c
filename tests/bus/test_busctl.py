# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The commands in the documentation work as printed."""

import re
import shlex
import subprocess

from calls import SERVICE
from harness import PATIENCE, BusTestCase, main

BUCKET = '/org/w3/WebLocks/bucket/default'
CALL = f'busctl --user call org.w3.WebLocks {BUCKET} org.w3.WebLocks'


class ByHand(BusTestCase):
    def run_line(self, line, address=False):
        """Runs a command line on this test's bus, by the environment or in place of --user."""
        words = shlex.split(line)
        if address:
            words = [f'--address={self.bus.address}' if word == '--user' else word
                     for word in words]
        return subprocess.run(words, env=self.bus.environment(), capture_output=True, text=True,
                              timeout=PATIENCE, check=False)

    def output_of(self, line, **kw):
        done = self.run_line(line, **kw)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout.rstrip('\n')

    def test_output(self):
        """Of each command, as a regular expression."""
        self.client().request('printer', 'org.example.Editor', why='page 3')
        path = '/org/w3/WebLocks'
        editor = CALL.replace('/default', '/org_2eexample_2eEditor')
        for line, expected in (
                (f'{CALL} Query', r'a\(sss\)a\(sss\) 0 0'),
                (f"{editor} Inspect 'a{{sv}}' 1 state s held",
                 r'aa\{sv\}b 1 .*"why" s "page 3".* false'),
                (f'busctl --user call {SERVICE} {path} {SERVICE}.Service Buckets',
                 'as 1 "org.example.Editor"'),
                (f'busctl --user get-property {SERVICE} {path} {SERVICE}.Service InterfaceVersion',
                 'u 1'),
                (f'busctl --user get-property {SERVICE} {path} {SERVICE}.Service Limits',
                 '.*"nameBytes" 1024.*'),
                (f'busctl --user tree --list {SERVICE}',
                 f'[^|]*\n{path}\n{path}/bucket\n{path}/bucket/default'),
                (f"{CALL} Request 'sa{{sv}}' printer 1 mode s shared", 'tt 1 [1-9][0-9]*'),
                (f"{CALL} Steal 'sa{{sv}}' printer 0", 'tt 1 [1-9][0-9]*')):
            for address in (False, True):
                with self.subTest(line, address=address):
                    self.assertRegex(self.output_of(line, address=address), f'^{expected}$')

    def test_query_shows_holder_and_waiter(self):
        holder, waiter = self.client(), self.client()
        holder.request('printer', mode='shared')
        waiter.request('printer')
        self.assertEqual(self.output_of(f'{CALL} Query'),
                         f'a(sss)a(sss) 1 "printer" "shared" "{holder.name}" '
                         f'1 "printer" "exclusive" "{waiter.name}"')

    def test_errors_are_readable(self):
        done = self.run_line(f"{CALL} Request 'sa{{sv}}' printer 1 mode s both")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('mode', done.stderr)
        done = self.run_line(f'{CALL} Release t 1')
        self.assertNotEqual(done.returncode, 0)
        self.assertNotEqual(done.stderr.strip(), '')

    def test_introspect(self):
        output = self.output_of(f'busctl --user introspect org.w3.WebLocks {BUCKET} org.w3.WebLocks')
        rows = {match[1]: match[2] for match in re.finditer(r'^\.(\w+) +(\w+)', output, re.M)}
        self.assertEqual(rows, {'Request': 'method', 'Steal': 'method', 'Release': 'method',
                                'Abort': 'method', 'Query': 'method', 'Inspect': 'method',
                                'Watch': 'method', 'Break': 'method', 'Waiting': 'signal', 'Granted': 'signal', 'Released': 'signal',
                                'Missed': 'signal'})


if __name__ == '__main__':
    main()
