# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""`weblocks` outside and inside of real sandboxes: which locks it shows."""

import json
import os
import pathlib

from buses import environment
from cli import CliTestCase
from rawbus import DRIVER, DRIVER_PATH, PRINCIPALS
from sandboxcase import APP, OTHER_APP, Sandboxes, info

CLI = environment('WEBLOCKS_CLI')
BUILD = os.path.dirname(os.path.dirname(CLI))


class Sandboxed(Sandboxes, CliTestCase):
    def inside(self, *arguments):
        """`weblocks` in a sandbox of APP, behind its proxy."""
        mounts, descriptors = self.info_mounts(info(APP))
        bwrap, *options = self.bwrap(*mounts, '--bind', BUILD, BUILD)  # gcov writes there
        job = self.job(*options, CLI, *arguments, program=bwrap, pass_fds=descriptors,
                       env=self.env(DBUS_SESSION_BUS_ADDRESS=self.proxy(info(APP))))
        for descriptor in descriptors:
            os.close(descriptor)
        return job

    def application(self, app_id):
        app = self.app(app_id)
        PRINCIPALS[self.bus.address, app.name] = app_id
        return app

    def names(self):
        """The unique names on the bus."""
        names, = self.control.call(DRIVER_PATH, DRIVER, 'ListNames', destination=DRIVER)
        return {name for name in names if name[0] == ':'}

    @staticmethod
    def changes(job, count):
        found = [json.loads(job.line()) for _ in range(count)]
        return [(each['change'], each['state'], each['uid'], each['application'], each['bucket'],
                 each['name']) for each in found]

    def test_watch_all(self):
        """Inside, the application's own locks; outside, also those of each application."""
        uid = os.getuid()
        app, other = self.application(APP), self.application(OTHER_APP)
        first, _ = app.call('request', 'first', 'b')
        names = self.names()
        inside = self.inside('watch', '--all', '--json')
        self.assertEqual(self.changes(inside, 1), [('added', 'held', uid, APP, 'b', 'first')])
        name, = self.names() - names
        PRINCIPALS[self.bus.address, name] = APP
        outside = self.job('watch', '--all', '--json')
        self.assertEqual(self.changes(outside, 1), [('added', 'held', uid, APP, 'b', 'first')])

        self.locks.request('own', 'b')
        self.assertEqual(self.changes(outside, 1), [('added', 'held', uid, '', 'b', 'own')])
        other.call('request', 'others', 'b')
        self.assertEqual(self.changes(outside, 1),
                         [('added', 'held', uid, OTHER_APP, 'b', 'others')])
        app.call('request', 'second', 'later')
        for job in (inside, outside):
            self.assertEqual(self.changes(job, 1),
                             [('added', 'held', uid, APP, 'later', 'second')])
        app.call('release', first, 'b')
        for job in (inside, outside):
            self.assertEqual(self.changes(job, 1), [('removed', 'held', uid, APP, 'b', 'first')])

    @staticmethod
    def buckets(output):
        return [(each['uid'], each['application'], each['bucket'],
                 [lock['name'] for lock in each['held']])
                for each in json.loads(output)['buckets']]

    def test_list_all(self):
        uid = os.getuid()
        app, other = self.application(APP), self.application(OTHER_APP)
        app.call('request', 'x', 'b')
        other.call('request', 'y', 'b')
        self.locks.request('z', 'b')
        job = self.inside('list', '--all', '--json')
        output = job.line()
        self.assertEqual((job.wait(), job.stderr()), (0, ''))
        self.assertEqual(self.buckets(output), [(uid, APP, 'b', ['x'])])
        # The own ones come first; the order of the others is not specified.
        first, *others = self.buckets(self.check(0, 'list', '--all', '--json'))
        self.assertEqual((first, sorted(others)),
                         ((uid, '', 'b', ['z']),
                          [(uid, APP, 'b', ['x']), (uid, OTHER_APP, 'b', ['y'])]))
        rows = [line.split('\t')[0] for line in self.check(0, 'list', '--all').splitlines()]
        self.assertEqual(sorted(rows), ['b', f'{APP}:b', f'{OTHER_APP}:b'])

    def test_list_documents(self):
        """By their own names, with the applications that have them."""
        path = os.path.join(self.shared, 'document')
        pathlib.Path(path).write_text('text', encoding='ascii')
        app, other = self.application(APP), self.application(OTHER_APP)
        for each in (app, other):
            bucket, name = each.ask('open_document', path=path)
            each.call('request', name, bucket)
        self.locks.request(pathlib.Path(path).as_uri(), 'documents')
        rows = [line.split('\t') for line in self.check(0, 'list', '-b', 'documents').splitlines()]
        self.assertEqual({row[0] for row in rows}, {pathlib.Path(path).as_uri()})
        self.assertEqual([row[2] for row in rows], ['held', 'pending', 'pending'])
        self.assertEqual([row[4] for row in rows[:2]], [APP, OTHER_APP])
