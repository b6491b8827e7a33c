# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The commands in the documentation work as printed."""

import re
import shlex
import subprocess

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

    def test_query(self):
        for address in (False, True):
            self.assertEqual(self.output_of(f'{CALL} Query', address=address), 'a(sss)a(sss) 0 0')

    def test_request(self):
        output = self.output_of(f"{CALL} Request 'sa{{sv}}' printer 1 mode s shared")
        self.assertRegex(output, r'^tt 1 [1-9][0-9]*$')

    def test_steal(self):
        holder = self.client()
        id_, token = holder.request('printer')
        output = self.output_of(f"{CALL} Steal 'sa{{sv}}' printer 0")
        self.assertRegex(output, r'^tt 1 [1-9][0-9]*$')
        self.assertGreater(int(output.split()[2]), token)
        holder.wait_released(id_, 'stolen')

    def test_the_lock_ends_with_busctl(self):
        watcher = self.client()
        watcher.watch()
        self.output_of(f"{CALL} Request 'sa{{sv}}' printer 1 mode s shared")
        watcher.wait_for(lambda: watcher.signals('Released', reason='terminated'))
        self.assertEqual(watcher.query(), ([], []))

    def test_query_shows_holder_and_waiter(self):
        holder, waiter = self.client(), self.client()
        holder.request('printer', mode='shared')
        waiter.request('printer')
        self.assertEqual(self.output_of(f'{CALL} Query'),
                         f'a(sss)a(sss) 1 "printer" "shared" "{holder.name}" '
                         f'1 "printer" "exclusive" "{waiter.name}"')

    def test_inspect(self):
        self.client().request('printer', why='page 3')
        output = self.output_of(f"{CALL} Inspect 'a{{sv}}' 1 state s held")
        self.assertTrue(output.startswith('aa{sv}b 1 '), output)
        self.assertTrue(output.endswith(' false'), output)
        self.assertIn('"why" s "page 3"', output)

    def test_errors_are_readable(self):
        done = self.run_line(f"{CALL} Request 'sa{{sv}}' printer 1 mode s both")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('mode', done.stderr)
        done = self.run_line(f'{CALL} Release t 1')
        self.assertNotEqual(done.returncode, 0)
        self.assertNotEqual(done.stderr.strip(), '')

    def test_tree(self):
        output = self.output_of('busctl --user tree --list org.w3.WebLocks').split()
        self.assertEqual(output[-3:], ['/org/w3/WebLocks', '/org/w3/WebLocks/bucket', BUCKET])

    def test_introspect(self):
        output = self.output_of(f'busctl --user introspect org.w3.WebLocks {BUCKET} org.w3.WebLocks')
        rows = {match[1]: match[2] for match in re.finditer(r'^\.(\w+) +(\w+)', output, re.M)}
        self.assertEqual(rows, {'Request': 'method', 'Steal': 'method', 'Release': 'method',
                                'Abort': 'method', 'Query': 'method', 'Inspect': 'method',
                                'Watch': 'method', 'Break': 'method', 'Waiting': 'signal', 'Granted': 'signal', 'Released': 'signal',
                                'Missed': 'signal'})

    def test_properties(self):
        output = self.output_of('busctl --user get-property org.w3.WebLocks /org/w3/WebLocks '
                         'org.w3.WebLocks.Service InterfaceVersion')
        self.assertEqual(output, 'u 1')
        output = self.output_of('busctl --user get-property org.w3.WebLocks /org/w3/WebLocks '
                         'org.w3.WebLocks.Service Limits')
        self.assertIn('"nameBytes" 1024', output)

    def test_buckets(self):
        holder = self.client()
        holder.request('printer', bucket='org.example.Editor')
        self.assertEqual(self.output_of('busctl --user call org.w3.WebLocks /org/w3/WebLocks '
                                   'org.w3.WebLocks.Service Buckets'), 'as 1 "org.example.Editor"')


if __name__ == '__main__':
    main()
