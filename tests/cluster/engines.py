# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Engines in separate processes: see engine-client.c."""

import hashlib
import itertools
import os
import subprocess
import unittest

from buses import PATIENCE, end, environment, pump_until, readable, spawn
from ensemble import (SYNC_TICKS, TICK_MS, Ensemble, Network, why_no_networks,
                      why_no_servers)
from starved import RepeatedIfStarved


class Answer:
    """An EngineAnswer as printed by engine-client.c."""

    def __init__(self, words):
        self.result, version, block, sent, self.node, self.text, listed = words
        self.version = int(version)
        self.block = int(block)
        self.sent = int(sent)
        self.listed = [one for one in listed.split(',') if one]

    def __repr__(self):
        return f'{self.result} {self.version} {self.block} {self.node} {self.text} {self.listed}'


class EngineClient:
    """One engine. `states` and `changes` list its callbacks."""

    def __init__(self, servers, root='/weblocks', timeout_ms=6000, credential='', session=None,
                 place=None, program='WEBLOCKS_ENGINE_CLIENT'):
        argv = [environment(program), servers, root, str(timeout_ms), credential,
                *(session or ())]
        wrapper = os.environ.get('WEBLOCKS_TEST_WRAPPER', '').split()
        argv = wrapper + argv
        if place is not None:
            argv = place.command(argv)
        self.process = spawn(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.ids = itertools.count(1)
        self.answers = {}
        self.states = []
        self.changes = []
        self.session = None
        self.server = None
        self.timeout_ms = None
        self.error = None
        self.is_freed = False
        self._data = b''

    def pump(self, timeout):
        if not readable(self.process.stdout, timeout):
            return
        chunk = os.read(self.process.stdout.fileno(), 65536)
        if not chunk:
            self.process.wait()
            raise EOFError(f'engine-client ended with {self.process.returncode}: {self.error}')
        *lines, self._data = (self._data + chunk).split(b'\n')
        for line in lines:
            self._take(*line.decode().split('\t'))

    def _take(self, kind, *words):
        if kind == 'answer':
            identifier = int(words[0])
            if identifier in self.answers:
                raise RuntimeError(f'two answers to {identifier}')
            self.answers[identifier] = Answer(words[1:])
        elif kind == 'state':
            state, session, password, timeout, server = words
            self.states.append(state)
            self.session = (session, password)
            self.timeout_ms = int(timeout)
            self.server = server
        elif kind == 'changed':
            self.changes.append(list(words))
        elif kind == 'freed':
            self.is_freed = True
        else:
            self.error = words[0]

    def wait_for(self, condition, timeout=PATIENCE, what='condition'):
        pump_until(condition, self.pump, timeout, lambda: f'{what}: not within {timeout} s; {self.states}, '
                                                          f'{self.answers}, {self.changes}')

    def wait_for_state(self, state, timeout=PATIENCE):
        self.wait_for(lambda: self.states and self.states[-1] == state, timeout, state)

    def send(self, *words):
        """Sends a command. Returns its number."""
        identifier = next(self.ids)
        line = '\t'.join(str(word) for word in (identifier, *words)) + '\n'
        self.process.stdin.write(line.encode())
        return identifier

    def answer(self, identifier, timeout=PATIENCE):
        self.wait_for(lambda: identifier in self.answers, timeout, 'answer')
        return self.answers[identifier]

    def ask(self, *words):
        return self.answer(self.send(*words))

    def joined(self, host='alpha'):
        """Waits for the session, and joins."""
        self.wait_for_state('CONNECTED')
        answer = self.ask('join', host, '')
        if answer.result != 'OK':
            raise RuntimeError(f'join: {answer}')
        return self

    def prefix(self, turn=1, mode='e'):
        return f'{mode}-{int(self.session[0], 16):016x}-{turn:08x}-'

    def claim(self, path, turn=1, text='host'):
        """Creates a claim. Returns its node's name."""
        answer = self.ask('create', path, self.prefix(turn), text)
        if answer.result != 'OK':
            raise RuntimeError(f'create: {answer}')
        return answer.node

    def end(self):
        end(self.process)


@unittest.skipIf(why_no_servers(), why_no_servers())
class EngineCase(RepeatedIfStarved, unittest.TestCase):
    """Cases on servers that they share. With `size` 0, each case starts its own."""

    size = 1
    in_network = False
    sync_ticks = SYNC_TICKS
    tick_ms = TICK_MS

    @classmethod
    def setUpClass(cls):
        if cls.in_network and why_no_networks():
            raise unittest.SkipTest(why_no_networks())
        cls.network = None
        if cls.in_network:
            cls.network = cls.enterClassContext(Network())
        if cls.size:
            cls.ensemble = cls.enterClassContext(Ensemble(cls.size, cls.network, cls.sync_ticks, cls.tick_ms))

    def setUp(self):
        self.root = f'/{self.id().rpartition(".")[2]}-{self.attempt}'

    def report(self):
        return self.ensemble.log()

    def client(self, servers=None, root=None, **options):
        client = EngineClient(servers or self.ensemble.addresses, root or self.root, **options)
        self.addCleanup(client.end)
        return client

    def name_path(self, client, bucket='builds', uid=1000, name='one'):
        """Ensures a name. Returns its path."""
        self.assert_ok(client.ask('ensure', bucket, uid, name))
        return name_path(self.root, bucket, uid, name)

    def assert_ok(self, answer):
        self.assertEqual(answer.result, 'OK', answer)
        return answer

    def assert_result(self, result, answer):
        self.assertEqual(answer.result, result, answer)


def name_path(root, bucket, uid, name):
    return f'{root}/buckets/{bucket}/{uid}/{hashlib.sha256(name.encode()).hexdigest()}'
