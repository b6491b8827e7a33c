# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The recipes of the manual page, run as they are printed there."""

import os
import re
import tarfile
import tempfile

from buses import environment, read_text
from cli import CliTestCase
from harness import Gio, GLib, RawClient
from rawbus import unpack


def read_recipes():
    """{title: [example]} of the section RECIPES, with each example as one text."""
    page = read_text(os.path.join(environment('WEBLOCKS_DATA_DIR'), 'weblocks.1'))
    page = page[page.index('.SH RECIPES'):page.index('.SH SEE ALSO')]
    page = page.replace('\\-', '-').replace('\\(aq', "'")
    recipes = {}
    for section in page.split('\n.SS ')[1:]:
        title, _, text = section.partition('\n')
        recipes[title] = re.findall(r'\.EX\n(.*?)\.EE', text, re.S)
    return recipes


class Recipes(CliTestCase):
    """Each test is of one recipe."""

    TITLES = {'From flock(1)', 'With systemd-inhibit(1)', 'SQLite in turn', 'In a crontab(5)'}

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = folder.name
        os.mkdir(os.path.join(self.home, 'work'))
        self.path = f'{self.commands()}:/usr/bin:/bin'

    def run_line(self, line, shell='bash', **env):
        """A job that runs the line as a user's shell would."""
        return self.job('-c', line, env=self.env(HOME=self.home, PATH=self.path, **env),
                        program=shell, cwd=self.home)

    def check_line(self, line, output=None, **options):
        job = self.run_line(line, **options)
        self.assertEqual((job.line(), job.wait(), job.stderr()), (output, 0, ''), line)

    def check_waits(self, line, **env):
        """It waits while another client has the lock."""
        holder = self.client()
        lock, _ = holder.request('backup')
        job = self.run_line(line, **env)
        self.wait_pending('backup')
        holder.release(lock)
        return job

    def check_backup(self):
        path = os.path.join(self.home, 'backup.tar')
        with tarfile.open(path) as archive:
            self.assertEqual(archive.getnames(), ['work'])
        os.remove(path)

    def test_all_are_tested(self):
        self.assertEqual(set(read_recipes()), self.TITLES)

    def test_flock(self):
        commands, script = read_recipes()['From flock(1)']
        before, step, after = commands.splitlines()
        for line in before, step, after:
            self.check_line(line)
            self.check_backup()
        for line in step, after, script:
            self.assertEqual(self.check_waits(line).wait(), 0)
            self.check_backup()
        # The first two exclude each other.
        slow = self.run_line(re.sub('tar .*', 'sh -c "echo on; read x"', step))
        self.assertEqual(slow.line(), 'on')
        at_once = self.run_line(before.replace('-w 60', '-n'))
        self.assertEqual(at_once.wait(), 1)
        slow.write_line()
        self.assertEqual(slow.wait(), 0)

    def test_systemd_inhibit(self):
        """The real systemd-inhibit, with a mock of logind that replies to one request."""
        line, = read_recipes()['With systemd-inhibit(1)'][0].splitlines()
        logind = RawClient(self.bus.address, descriptors=True)
        self.addCleanup(logind.close)
        logind._driver('RequestName', GLib.Variant('(su)', ('org.freedesktop.login1', 0)))
        job = self.check_waits(line, DBUS_SYSTEM_BUS_ADDRESS=self.bus.address)

        def calls():
            return [message for message in logind.log if message.get_member() == 'Inhibit']
        logind.wait_for(calls, what='Inhibit')
        what, _, why, _ = unpack(calls()[0])
        self.assertEqual((what, why, self.held('backup')), ('sleep', 'Backup', ['exclusive']))
        reply = Gio.DBusMessage.new_method_reply(calls()[0].to_gio())
        reply.set_body(GLib.Variant('(h)', (0,)))
        own_end, callers_end = os.pipe()
        logind.send_with_descriptors(reply, [callers_end])
        os.close(callers_end)
        self.assertEqual((job.wait(), job.stderr()), (0, ''))
        os.close(own_end)
        self.check_backup()

    def test_sqlite(self):
        write, read = read_recipes()['SQLite in turn'][0].splitlines()
        self.check_line('sqlite3 ~/library.db "CREATE TABLE books (title)"')
        self.check_line(write)
        self.check_line(read, '1')
        # Readers share the lock, and the writer waits for them.
        reader = self.client()
        lock, _ = reader.request('library.db', mode='shared')
        self.check_line(read, '1')
        writer = self.run_line(write)
        self.wait_pending('library.db')
        reader.release(lock)
        self.assertEqual(writer.wait(), 0)
        self.check_line(read, '2')

    def test_cron(self):
        setting, hourly, daily = read_recipes()['In a crontab(5)'][0].splitlines()
        self.assertEqual(setting, 'XDG_RUNTIME_DIR=/run/user/1000')
        # The bus is where that of the session would be; the rest of the environment is cron's.
        os.symlink(re.search('path=([^,]+)', self.bus.address)[1], os.path.join(self.home, 'bus'))
        minimal = {'HOME': self.home, 'LOGNAME': 'root', 'SHELL': '/bin/sh', 'PATH': self.path,
                   'XDG_RUNTIME_DIR': self.home}

        def job(line, **env):
            command = re.fullmatch(r'(?:\S+ ){5}(.*)', line)[1]
            return self.job('-c', command, env={**minimal, **env}, program='/bin/sh',
                            cwd=self.home)

        for line in hourly, daily:
            started = job(line, DBUS_SYSTEM_BUS_ADDRESS=self.bus.address)
            self.assertEqual((started.line(), started.wait(), started.stderr()), (None, 0, ''),
                             line)
            self.check_backup()
        # Nothing is printed if the lock is held.
        self.client().request('backup')
        started = job(hourly)
        self.assertEqual((started.line(), started.wait(), started.stderr()), (None, 0, ''))
        self.assertFalse(os.path.exists(os.path.join(self.home, 'backup.tar')))
