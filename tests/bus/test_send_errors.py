# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Sending fails: for lack of resources, and then no message is lost; or permanently, and then the service
exits, and the next instance has the whole state.

strace makes every n-th sendmsg() of the service fail, and every n-th send() on a lock socket. Meanwhile
clients on the bus and on lock sockets use one lock, and each counts every reply and every event.
"""

import os
import random
import shutil
import unittest
from unittest import mock

from harness import RawClient, Service, SocketClient, diagnostic
from rawbus import lock_call
from test_pressure import OwnBus

SEED = int(os.environ.get('WEBLOCKS_TEST_SEED', random.randrange(1 << 30)))
# Messages before it owns its name; if sending them fails, it doesn't start.
AT_START = 40
ROUNDS = 30


class SendErrors(OwnBus):
    @classmethod
    def setUpClass(cls):
        if shutil.which('strace') is None:
            raise unittest.SkipTest('there is no strace')
        diagnostic(f'seed {SEED}')

    def start_failing(self, error, when, *arguments):
        """Starts a service in which strace makes sendmsg() and send() fail."""
        # The leak sanitizer doesn't work in a traced process.
        sanitizer = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
        wrapper = (f'env ASAN_OPTIONS={sanitizer} strace -D -qq -o {self.bus.directory}/strace '
                   f'-e trace=sendmsg,sendto -e inject=sendmsg,sendto:error={error}:when={when}')
        with mock.patch.dict(os.environ, WEBLOCKS_TEST_WRAPPER=wrapper):
            service = Service(self.bus, arguments)
        self.addCleanup(service.end)
        return service.wait_ready(self.control)

    def n_failed(self):
        with open(os.path.join(self.bus.directory, 'strace'), encoding='utf-8') as file:
            return sum('(INJECTED)' in line for line in file)

    def workers(self):
        """Two clients on the bus, two on lock sockets."""
        clients = [self.client() for _ in range(2)]
        for _ in range(2):
            client = SocketClient(RawClient(self.bus.address, descriptors=True))
            self.addCleanup(client.close)
            clients.append(client)
        return clients

    def work(self, clients, rounds):
        """All request one lock, and each gets it once, in order. Returns the last token."""
        last = 0
        for _ in range(rounds):
            ids = []
            for client in clients:
                id_, token = client.request('x')
                self.assertEqual(token != 0, client is clients[0])
                last = max(last, token)
                ids.append(id_)
            for client, id_ in zip(clients, ids):
                if client is not clients[0]:
                    token = client.wait_granted(id_).args[4]
                    self.assertEqual(token, last + 1)
                    last = token
                client.release(id_)
        return last

    def when(self, error):
        """The first call and the interval. Chosen so that all kinds of messages fail."""
        rand = random.Random(f'{SEED} {error}')
        return f'{AT_START + rand.randrange(10)}+{rand.choice([3, 5, 7])}'

    def check_room(self, error):
        when = self.when(error)
        service = self.start_failing(error, when)
        for _ in range(AT_START):
            self.control.ping()
        clients = self.workers()
        self.work(clients, ROUNDS)
        self.assertEqual(self.control.query(), ([], []))
        diagnostic(f'{error} when={when}: {self.n_failed()} failed')
        self.assertGreater(self.n_failed(), 20)
        self.assert_clean_end(service)

    def test_for_lack_of_resources(self):
        for error in ('ENOBUFS', 'ENOMEM', 'EAGAIN', 'EINTR'):
            with self.subTest(error):
                self.check_room(error)

    def test_the_end_goes_on_after_a_retry(self):
        """The name is released as soon as the last of several messages, of which every second fails,
        is sent."""
        service = self.start_failing('ENOBUFS', f'{AT_START}+2', '--no-state')
        clients = [self.client() for _ in range(3)]
        for client in clients:
            client.request('x')
        for _ in range(AT_START):
            self.control.ping()
        self.assert_clean_end(service)
        for client in clients:
            client.wait_for(lambda c=client: c.signals('Released', reason='lost'), what='loss')

    def check_end(self, error, at):
        """Its connection is broken. Everything that it had replied to is in the state of the next
        instance."""
        service = self.start_failing(error, at)
        holder, waiter = self.client(), self.client()
        held, answered = [], 0
        while service.process.poll() is None and answered < 200:
            try:
                held.append((f'{answered}',
                             *holder.result(holder.send(lock_call('Request', f'{answered}')))))
                waiter.result(waiter.send(lock_call('Request', f'{answered}')))
                answered += 1
            except Exception:  # no answer: the service has exited
                break
        self.assertNotEqual(service.wait_exit(), 0)
        self.assertNotIn('CRITICAL', service.stderr())
        new = self.start()
        names = {(name, client) for name, _, client in holder.query()[0]}
        for name, id_, token in held:
            self.assertIn((name, holder.name), names)
            self.assertIn((id_, name, token), [(entry[1], entry[3], entry[5])
                                               for entry in holder.resync()])
        pending = {name for name, _, client in holder.query()[1] if client == waiter.name}
        self.assertLessEqual({f'{number}' for number in range(answered)}, pending)
        diagnostic(f'{error} at {at}: {len(held)} locks, all there')
        self.assert_clean_end(new)

    def test_epipe(self):
        self.check_end('EPIPE', AT_START + random.Random(SEED).randrange(60))

    def test_econnreset(self):
        self.check_end('ECONNRESET', AT_START + random.Random(SEED + 1).randrange(60))
