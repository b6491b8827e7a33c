# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A name is one lock in all languages: on D-Bus, in C (the command), Python, GJS and Node.js. And people see
the options `why` and `command` of scripts.

Names of JavaScript that D-Bus can't carry are escaped, and what looks like that escape elsewhere is such a
name in JavaScript: see docs/contract.md."""

import json
import os
import shutil
import subprocess

import gi
gi.require_version('WebLocks', '1')
from gi.repository import Gio, WebLocks  # noqa: E402

from buses import environment, spawn  # noqa: E402
from harness import PATIENCE, BusTestCase, wait_for  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))

# On D-Bus, and in JavaScript if it is another one there.
NAMES = {
    'plain': None,
    '': None,
    '\U0001f512': None,
    '\x10': None,
    'a\x10b': None,
    '\x10e': None,
    '\x10\x10ee': None,
    '\x10u0041': None,
    '\x10uD800': None,
    '\x10ud83d\x10udd12': None,
    '\x10u0000': '\x00',
    '\x10ud800': '\ud800',
    '\x10uffff': '\uffff',
    '\x10eu0000': '\x10u0000',
    '\x10eeuffff': '\x10euffff',
}


class BusParty:
    def __init__(self, case):
        self.client = case.client()

    def try_to_hold(self, name):
        """Returns a function that releases the lock, or None."""
        id_, granted, *_ = self.client.request(name, ifAvailable=True)
        return (lambda: self.client.release(id_)) if granted else None

    def held_names(self):
        return [entry[0] for entry in self.client.query()[0]]


class PythonParty:
    def __init__(self, case):
        self.manager = WebLocks.Manager.new(WebLocks.Agent.new(Gio.BusType.NONE, case.bus.address), 'default')
        self.options = WebLocks.Options(if_available=True)

    def try_to_hold(self, name):
        lock = self.manager.request_sync(name, self.options, None)
        return (lambda: lock.release_sync(None)) if lock else None

    def held_names(self):
        held = self.manager.query_sync(None).get_held()
        return [held.get_item(i).get_name() for i in range(held.get_n_items())]


class CommandParty:
    def __init__(self, case):
        self.case = case
        self.command = os.path.join(environment('WEBLOCKS_CLI_DIR'), 'weblocks')
        self.env = case.bus.environment()

    def try_to_hold(self, name):
        command = [self.command, 'run', '--nonblock', '-E', '99', '--', name, 'sh', '-c', 'echo held; cat']
        process = spawn(command, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.case.addCleanup(process.stdout.close)
        if process.stdout.readline() == 'held\n':
            return lambda: (process.stdin.close(), process.wait(PATIENCE))
        process.stdin.close()
        self.case.assertEqual(process.wait(PATIENCE), 99)
        return None


class ScriptParty:
    """JavaScript: agent-main.js, on GJS or Node.js."""

    def __init__(self, case, *command):
        self.case = case
        env = {**case.bus.environment(), 'WEBLOCKS_NODE_PACKAGE': os.environ.get('WEBLOCKS_NODE_PACKAGE', '')}
        self.process = spawn([*command, os.path.join(HERE, 'agent-main.js')], env=env,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for stream in (self.process.stdin, self.process.stdout):
            case.addCleanup(stream.close)
        case.addCleanup(self.process.kill)
        self.count = 0
        case.assertIn('clientId', self.read())

    def read(self):
        return json.loads(self.process.stdout.readline())

    def write(self, **message):
        print(json.dumps(message), file=self.process.stdin, flush=True)

    def try_to_hold(self, name, **options):
        self.count += 1
        number = self.count
        self.write(do='request', id=number, name=in_javascript(name),
                   options={'ifAvailable': True, **options}, bucket=None)
        granted = self.read()['granted']

        def release():
            self.write(do='release', id=number)
            self.case.assertEqual(self.read()['id'], number)
        if granted is None:
            release()
            return None
        self.case.assertEqual(granted['name'], in_javascript(name))
        return release

    def held_names(self):
        self.count += 1
        self.write(do='query', id=self.count)
        return [on_dbus(info['name']) for info in self.read()['value']['held']]


def in_javascript(name):
    return name if NAMES[name] is None else NAMES[name]


def on_dbus(name):
    return next((key for key in NAMES if in_javascript(key) == name), f'not a name: {name!r}')


class Names(BusTestCase):
    def script_parties(self):
        parties = []
        if shutil.which('gjs'):
            parties.append(ScriptParty(self, 'gjs', '-m'))
        if os.path.isdir(os.environ.get('WEBLOCKS_NODE_PACKAGE', '')) and shutil.which('node'):
            loader = os.path.join(os.path.dirname(HERE), 'node', 'loader.mjs')
            parties.append(ScriptParty(self, 'node', '--no-warnings',
                                       f'--experimental-loader=file://{loader}'))
        self.assertGreater(len(parties), 0, 'no JavaScript')
        return parties

    def test_what_people_see_of_a_lock_of_a_script(self):
        manager = PythonParty(self).manager
        for party in self.script_parties():
            release = party.try_to_hold('plain', why='to copy', command='rsync (pid 123)')
            info = manager.inspect_sync('plain', None).get_held().get_item(0)
            self.assertEqual((info.get_who(), info.get_who_pid(), info.get_why()), ('rsync', 123, 'to copy'))
            release()

    def test_a_name_is_one_lock_in_all_languages(self):
        parties = [BusParty(self), PythonParty(self), *self.script_parties()]
        command = CommandParty(self)
        for name in NAMES:
            for holder in parties:
                with self.subTest(name=name, holder=type(holder).__name__):
                    release = holder.try_to_hold(name)
                    self.assertIsNotNone(release)
                    for other in parties:
                        self.assertEqual(other.held_names(), [name], type(other).__name__)
                        self.assertIsNone(other.try_to_hold(name), type(other).__name__)
                    release()
            # Starting processes takes long, so the command tries each name once.
            release = command.try_to_hold(name)
            self.assertIsNotNone(release, name)
            for other in parties:
                self.assertIsNone(other.try_to_hold(name), type(other).__name__)
            release()
            wait_for(lambda: not parties[0].held_names(), what='end of the command')
