# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Cases that show that a principal gets no information about another one: not by replies, signals or errors,
nor by differences between them or by their absence. Here the other one is another user; tests/sandbox has
the same cases with applications."""

import collections
import hashlib
import os
import random
import socket

from buses import can_be_others
from calls import ADMIN, LOCKS, PROPERTIES, ROOT, DBusError, Path, bucket_path, options, variants
from calls import FILTER_TYPES
from harness import BusTestCase, GLib, diagnostic
from rawbus import RawClient, method_call
from sockets import LockError, SocketClient, packets

INTROSPECTABLE = 'org.freedesktop.DBus.Introspectable'
SERVICE = 'org.w3.WebLocks'
MODES = ('exclusive', 'shared')
# Who has the name, and is another principal, is in another session.
COMMON_SESSION = 'private-' + '5' * 32


class Recording:
    """Keeps the bytes of what it gets from the service."""

    def _begin(self, sock):
        self.blobs = []
        super()._begin(sock)

    def take_bytes(self, blob):
        self.blobs.append(blob)
        super().take_bytes(blob)

    def last_answer(self):
        """Not the service's own question whether it is read."""
        return next(blob for blob in reversed(self.blobs) if blob[1] in (2, 3))


class Recorder(Recording, RawClient):
    """By the bus."""


class BySocket(SocketClient):
    """By a lock socket, whose packets have no text. Between it and the bus there is no order, so
    what came by it is kept apart."""

    def __init__(self, recorder):
        self.by_socket = []
        super().__init__(recorder)
        self.socket.key = 0

    def _on_event(self, found):
        self.by_socket.append(found)


def seed():
    value = os.environ.get('WEBLOCKS_TEST_SEED') or random.SystemRandom().randrange(1 << 32)
    diagnostic(f'WEBLOCKS_TEST_SEED={value}')
    return int(value)


class TwoPrincipals(BusTestCase):
    """Two clients of a bus that must not learn of each other."""

    other_uid = 65534

    def setUp(self):
        super().setUp()
        self.opened = []

    def recorder(self, uid=None):
        return self.open(Recorder(self.bus.address, uid=uid, descriptors=True))

    def open(self, client):
        self.opened.append(self._adopt(client))
        return client

    def other_client(self):
        if not can_be_others():
            self.skipTest('needs root, to connect as another user')
        return self.recorder(self.other_uid)

    def by_socket(self, recorder):
        client = BySocket(recorder)
        self.addCleanup(client.socket.close)
        self.monitor.position()
        return client


def public_name(name):
    """By which clients without a request in a private session see it."""
    return 'private:' + hashlib.sha256(name.encode()).hexdigest()[:32]


class Player:
    """Does things at random with one or two clients of a principal, all of whose messages are
    `mark`ed, and writes down what it sees: but for what differs from run to run."""

    def __init__(self, clients, mark, rng):
        self.clients = clients
        self.mark = mark
        self.rng = rng
        self.index = {client.name: number for number, client in enumerate(clients)}
        self.by_socket = {client.name for client in clients if isinstance(client, BySocket)}
        self.ids = collections.defaultdict(set)
        self.story = []
        self.errors = []

    def name(self):
        """Contended within the principal, and with the other one."""
        return self.rng.choice(['x', 'y', f'{self.mark}-lock'])

    def role_of(self, name):
        """Which of its own clients that is."""
        assert name in self.index, f'{name} is somebody else'
        return self.index[name]

    def bucket(self):
        return self.rng.choice(['common', f'{self.mark}-bucket', f'{self.mark}-bucket',
                                COMMON_SESSION])

    def options(self):
        chosen = {'mode': self.rng.choice(MODES), 'why': f'{self.mark}-why'}
        if self.rng.random() < 0.2:
            chosen['ifAvailable'] = True
        if self.rng.random() < 0.3:
            chosen['key'] = self.rng.randrange(1, 5)
        return chosen

    def step(self):
        client = self.rng.choice(self.clients)
        act = self.rng.choice([self.request] * 4 + [self.release] * 4 + [
            self.steal, self.abort, self.downgrade, self.query, self.inspect, self.watch, self.buckets,
            self.resync, self.introspect, self.get_limits, self.nonsense])
        try:
            seen = act(client)
        except (DBusError, LockError) as error:
            self.errors.append(error)
            seen = str(error)
        self.story.append((act.__name__, self.index[client.name], seen))

    def read_signals(self):
        """What has come meanwhile, one after the other."""
        for each in self.clients:
            each.ping()
            # A client that watches gets Pings.
            each.answer_pings()
            for event in each.events:
                self.story.append(('signal', self.index[each.name], self.event(event)))
            each.events.clear()
            if isinstance(each, BySocket):
                each.socket.sync()
                for key, value in each.by_socket:
                    assert key in self.ids[each.name], f'{key}: of somebody else'
                    self.story.append(('signal', self.index[each.name], key, isinstance(value, int)
                                       or value))
                each.by_socket.clear()

    def event(self, event):
        if event.signal in ('Missed', 'Downgraded'):
            return event.signal, event.path, event.args
        id_, name, mode, client, *last = event.args
        # For a client with a socket, the test has the keys instead.
        assert id_ in self.ids[client] or client in self.by_socket, f'{event}: the id of another principal'
        return (event.signal, event.path, id_, name, mode, self.role_of(client),
                last if event.signal == 'Released' else [bool(token) for token in last])

    def request(self, client):
        id_, token = client.request(self.name(), self.bucket(), **self.options())
        self.ids[client.name].add(id_)
        return id_, bool(token)

    def steal(self, client):
        id_, token = client.steal(self.name(), self.bucket())
        self.ids[client.name].add(id_)
        return id_, bool(token)

    def release(self, client):
        """As often as not, of no lock that the client has."""
        return client.release(self.rng.randrange(1, 40), self.bucket())

    def abort(self, client):
        return client.abort(self.rng.randrange(1, 40), self.bucket())

    def downgrade(self, client):
        return client.downgrade(self.rng.randrange(1, 40), self.bucket())

    def query(self, client):
        return [[(name, mode, self.role_of(name_of_client)) for name, mode, name_of_client in part]
                for part in client.query(self.bucket())]

    def inspect(self, client):
        entries, more = client.inspect(self.bucket())
        return [(entry['name'], entry['mode'], entry['state'], self.role_of(entry['clientId']),
                 bool(entry['token']), entry['why'], entry['position'],
                 [self.role_of(blocker) for blocker in entry['blockedBy']], entry['cursor'])
                for entry in entries], more

    def watch(self, client):
        return client.watch(self.rng.random() < 0.7, self.bucket())

    def buckets(self, client):
        return client.buckets()

    def resync(self, client):
        rows = client.resync()
        assert {row[2 if client.name in self.by_socket else 1] for row in rows} \
            <= self.ids[client.name], rows
        return [(bucket, id_, key, name, mode, bool(token), wanted)
                for bucket, id_, key, name, mode, token, _, wanted in rows]

    def introspect(self, client):
        return client.introspect(self.rng.choice(
            [ROOT, f'{ROOT}/bucket', bucket_path('common'), bucket_path(self.bucket())]))

    def get_limits(self, client):
        return client.get_property('Limits')

    def nonsense(self, client):
        """Each kind of error, with marked words in what is wrong."""
        mark, path = self.mark, bucket_path(self.bucket())
        body = GLib.Variant('(sa{sv})', (f'-{mark}', {}))
        return client.call(*self.rng.choice([
            (path, LOCKS, 'Request', body),
            (path, LOCKS, 'Request', GLib.Variant('(sa{sv})', (f'{mark}-lock', options(
                why='w' * 257)))),
            (path, LOCKS, 'Request', GLib.Variant('(sa{sv})', (f'{mark}-lock', {
                'mode': GLib.Variant('s', mark)}))),
            (path, LOCKS, 'Inspect', GLib.Variant('(a{sv})', ({
                'state': GLib.Variant('s', mark)},))),
            (path, LOCKS, 'Frobnicate', body),
            (path, 'org.example.Nothing', 'Frobnicate', body),
            (path, LOCKS, 'Request', GLib.Variant('(s)', (f'{mark}-lock',))),
            (ROOT, PROPERTIES, 'Get', GLib.Variant('(ss)', (ADMIN, mark))),
            (ROOT, PROPERTIES, 'Set', GLib.Variant('(ssv)', (
                ADMIN, 'Version', GLib.Variant('s', mark)))),
            (f'{ROOT}/bucket/_', LOCKS, 'Query')]))


class Random(TwoPrincipals):
    STEPS = 1000
    # Or it has shown little: so many steps for a message to each client, and for a signal.
    STEPS_FOR_MESSAGE, STEPS_FOR_SIGNAL = 2, 10

    def play(self, value, noisy):
        """What the first principal sees; with another one beside it, or alone."""
        mine = [self.recorder(), self.recorder(), self.recorder()]
        mine[2] = self.by_socket(mine[2])
        player = Player(mine, 'canary-mine', random.Random(value))
        other = None
        if noisy:
            theirs = [self.other_client(), self.by_socket(self.other_client())]
            other = Player(theirs, 'canary-theirs', random.Random(value + 1))
        for number in range(self.STEPS):
            for each in filter(None, (player, other)):
                each.step()
                if number % 5 == 4:
                    each.read_signals()
        return player, other

    def check_bytes(self, player, other):
        """No word of theirs in what we were sent, and none of their names, nor the reverse."""
        for one, two in ((player, other), (other, player)):
            words = [two.mark.encode()] + [name.encode() + b'\0' for name in two.index]
            for client in one.clients:
                packed = len(client.socket.log) if client.name in one.by_socket else 0
                self.assertGreater(len(client.blobs) + packed,
                                   self.STEPS // self.STEPS_FOR_MESSAGE)
                for blob in client.blobs:
                    for word in words:
                        self.assertNotIn(word, blob)

    def check_errors(self, player):
        """Nor a word of one's own."""
        self.assertGreater(len(player.errors), self.STEPS // 20)
        self.assertGreater(len({error.message for error in player.errors}), 5)
        for error in player.errors:
            self.assertNotIn(player.mark, error.message)
            self.assertLess(len(error.message), 300)

    def test_as_if_alone(self):
        """A thousand operations of each of two principals, in buckets of the same names: the first
        sees what it sees without the second."""
        value = seed()
        player, other = self.play(value, noisy=True)
        self.check_bytes(player, other)
        self.check_errors(player)
        for client in self.opened:
            client.close()
        self.wait_gone(*player.index, *other.index)
        alone, _ = self.play(value, noisy=False)
        self.assertEqual(len(player.story), len(alone.story))
        for number, pair in enumerate(zip(player.story, alone.story)):
            self.assertEqual(*pair, f'step {number}, seed {value}')
        kinds = collections.Counter(line[0] for line in alone.story)
        self.assertGreater(kinds['signal'], self.STEPS // self.STEPS_FOR_SIGNAL, kinds)


def anonymous(blob, n_values=0):
    """A reply without its serials, which number the messages; and without so many numbers at the
    beginning of its body."""
    data = bytearray(blob)
    data[8:12] = bytes(4)
    at = data.index(b'\x05\x01u\0') + 4
    data[at:at + 4] = bytes(4)
    if n_values:
        size = int.from_bytes(blob[4:8], 'little')
        data[len(data) - size:][:8 * n_values] = bytes(8 * n_values)
        data = data[:len(data) - size] + bytes(8 * n_values) + data[len(data) - size
                                                                    + 8 * n_values:]
    return bytes(data)


class Guesses(TwoPrincipals):
    """A client that names an object of another principal gets the same reply, byte for byte, as for
    one that does not exist."""

    def setUp(self):
        super().setUp()
        self.owner = self.recorder()
        self.friend = self.recorder()
        for number in range(3):
            self.owner.request('locked', self.bucket, key=7 + number)
        self.before = self.owner.query(self.bucket), self.owner.resync()

    def tearDown(self):
        self.owner.ping()
        self.assertEqual(self.owner.events, [])
        self.assertEqual((self.owner.query(self.bucket), self.owner.resync()), self.before)

    def ask(self, client, member, body, path=None, interface=LOCKS):
        """The bytes of the answer."""
        serial = client.send(method_call(SERVICE, path or bucket_path(self.bucket), interface,
                                         member, body))
        client.reply_to(serial)
        return client.last_answer()

    def assert_same(self, client, member, theirs, nobodys, n_values=0):
        with self.subTest(member, theirs=str(theirs), nobodys=str(nobodys)):
            first = self.ask(client, member, theirs)
            second = self.ask(client, member, nobodys)
            self.assertEqual(anonymous(first, n_values), anonymous(second, n_values))

    def check(self, client):
        held, waiting = 1, 2
        for member in ('Release', 'Abort', 'Downgrade'):
            for id_ in (held, waiting):
                self.assert_same(client, member, GLib.Variant('(t)', (id_,)),
                                 GLib.Variant('(t)', (10 ** 6,)))
        self.ask(client, 'Watch', GLib.Variant('(b)', (False,)))

    def check_socket(self, client):
        """Keys of others, and ids, on a lock socket."""
        sock = self.lock_socket(client)
        for kind in (packets.RELEASE, packets.ABORT, packets.DOWNGRADE):
            answers = set()
            for key in (7, 8, 9, 1, 2, 10 ** 6):
                data, serial = sock.encode(kind, key)
                sock.send(data)
                sock.wait_for(lambda s=serial: sock.has_answer(s), what='answer')
                answers.add(sock.log[-1]._replace(serial=0))
            self.assertEqual(len(answers), 1)
        # A key of another client's is no repeat.
        self.assertEqual(sock.request('own', self.bucket, key=7)[0], 7)
        sock.end()

    def check_names(self, client):
        for names in (('name', 'locked', 'nobody'), ('prefix', 'lo', 'no'), ('after', 1, 100)):
            key, theirs, nobodys = names
            entries = [GLib.Variant('(a{sv})', (variants(FILTER_TYPES, {key: value}),))
                       for value in (theirs, nobodys)]
            self.assert_same(client, 'Inspect', *entries)
        for member in ('Request', 'Steal'):
            self.assert_same(client, member, GLib.Variant('(sa{sv})', ('locked', options())),
                             GLib.Variant('(sa{sv})', ('nobody', options())), n_values=2)
        self.assert_same(client, 'Request',
                         GLib.Variant('(sa{sv})', ('aaa', options(key=7))),
                         GLib.Variant('(sa{sv})', ('bbb', options(key=99))), n_values=2)

    def test_of_another_principal(self):
        client = self.other_client()
        self.check(client)
        self.check_names(client)
        # And a watch gets no signal of what happens to them now.
        self.ask(client, 'Watch', GLib.Variant('(b)', (True,)))
        self.owner.request('watched', self.bucket, ifAvailable=True)
        self.owner.release(self.owner.resync()[-1][1], self.bucket)
        client.ping()
        self.assertEqual({event.args[3] for event in client.events}, {client.name})
        self.check_socket(self.other_client())

    def test_of_another_client(self):
        """Of the same principal, which may see the lock, and yet not touch it by its id."""
        self.check(self.friend)
        self.check_socket(self.friend)

    def test_an_id_of_before(self):
        """An id that was one's own is nobody's, and stays so: the next one is another."""
        client = self.other_client()
        used = set()
        for _ in range(20):
            id_, _ = client.request('again', self.bucket)
            self.assertNotIn(id_, used)
            for old in used:
                self.assertEqual(anonymous(self.ask(client, 'Release',
                                                    GLib.Variant('(t)', (old,)))),
                                 anonymous(self.ask(client, 'Release',
                                                    GLib.Variant('(t)', (10 ** 6,)))))
            client.release(id_, self.bucket)
            used.add(id_)


class Walks(TwoPrincipals):
    """A client that looks for buckets by their paths."""

    PATHS = ('/', '/org', '/org/w3', ROOT, f'{ROOT}/bucket')

    def see(self, client, paths):
        """All that can be asked of each path, as bytes without the path in them."""
        answers = []
        for path in paths:
            for interface, member, body in (
                    (INTROSPECTABLE, 'Introspect', None),
                    (PROPERTIES, 'GetAll', GLib.Variant('(s)', (LOCKS,))),
                    (PROPERTIES, 'Get', GLib.Variant('(ss)', (LOCKS, 'Name'))),
                    ('org.freedesktop.DBus.ObjectManager', 'GetManagedObjects', None),
                    (LOCKS, 'Query', None),
                    (LOCKS, 'Frobnicate', None)):
                serial = client.send(method_call(SERVICE, path, interface, member, body))
                client.reply_to(serial)
                answers.append(anonymous(client.last_answer()).replace(path.encode(), b'PATH'))
        return answers

    def test_what_is_there(self):
        """Before and after somebody else has buckets, it is the same."""
        client, owner = self.other_client(), self.recorder()
        theirs = self.unique('bucket')
        paths = self.PATHS + (bucket_path(theirs), bucket_path('default'))
        before = self.see(client, paths), client.buckets()
        for bucket in (theirs, 'default', self.unique('bucket')):
            owner.request('x', bucket)
            owner.watch(bucket=bucket)
        self.assertEqual((self.see(client, paths), client.buckets()), before)
        # The owner finds them.
        self.assertEqual(len(owner.buckets()), 3)
        for bucket in owner.buckets():
            self.assertIn(f'"{bucket_path(bucket).rpartition("/")[2]}"', owner.introspect(f'{ROOT}/bucket'))

    def test_paths_of_nothing(self):
        """A path that is no bucket's answers the same, whatever bucket it looks like."""
        client, owner = self.other_client(), self.recorder()
        owner.request('x', 'theirs_')
        for wrong in ('{}/x', '{}_zz', '{}_5F'):
            with self.subTest(wrong):
                paths = [wrong.format(bucket_path(bucket)) for bucket in ('theirs_', 'nobody_')]
                answers = [self.see(client, [path]) for path in paths]
                self.assertEqual(*answers)
                self.assert_error('UnknownObject', client.call, paths[0], LOCKS, 'Query')


class Tap(socket.socket):
    """Keeps the packets that it receives."""

    def __init__(self, sock):
        super().__init__(fileno=sock.detach())
        self.blobs = []

    def recv(self, *args):
        packet = super().recv(*args)
        self.blobs.append(packet)
        return packet


class Sessions(TwoPrincipals):
    """The name of a private session reaches its members only, whatever the others do: no byte of it
    is in what they receive."""

    STEPS = 400
    N_SESSIONS = 6
    NAMES = ('x', 'y')

    def setUp(self):
        super().setUp()
        self.rng = random.Random(seed())
        # Those who may look at each other's buckets are in both lists.
        self.members = [self.recorder(), self.by_tapped_socket(self.recorder()), self.other_client()]
        self.outsiders = [self.recorder(), self.by_tapped_socket(self.recorder()),
                          self.other_client(), self.by_tapped_socket(self.other_client())]
        self.names = [f'private-{self.rng.getrandbits(128):032x}' for _ in range(self.N_SESSIONS)]
        self.done = collections.Counter()
        for outsider in self.outsiders:
            outsider.watch_all()
            outsider.answers_pings = True

    def by_tapped_socket(self, recorder):
        client = self.by_socket(recorder)
        client.socket.socket = Tap(client.socket.socket)
        return client

    def received(self, client):
        return client.blobs + (client.socket.socket.blobs if isinstance(client, BySocket) else [])

    def attempt(self, function, *args, **kw):
        """Also what is refused may have a name in it."""
        try:
            result = function(*args, **kw)
        except (DBusError, LockError) as error:
            self.done[function.__name__, error.short] += 1
            return None
        self.done[function.__name__] += 1
        return result

    def play_member(self):
        client, bucket = self.rng.choice(self.members), self.rng.choice(self.names)
        name = self.rng.choice(self.NAMES)
        act = self.rng.choice(['request'] * 3 + ['steal', 'release', 'release', 'abort', 'downgrade', 'look'])
        if act == 'request':
            self.attempt(client.request, name, bucket, mode=self.rng.choice(MODES),
                         ifAvailable=self.rng.random() < 0.2)
        elif act == 'steal':
            self.attempt(client.steal, name, bucket)
        elif act in ('release', 'abort', 'downgrade'):
            live = client.resync()
            if live:
                of_bucket, id_, key, *_ = self.rng.choice(live)
                self.attempt(getattr(client, act), key if isinstance(client, BySocket) else id_,
                             of_bucket)
        else:
            self.attempt(client.observable)
            self.attempt(client.inspect, bucket)

    def play_outsider(self):
        client = self.rng.choice(self.outsiders)
        self.attempt(client.buckets)
        seen = [path for path, row in self.attempt(client.observable)
                if row['bucket'].startswith('private:')]
        paths = [Path(path) for path in seen] + \
            [Path(bucket_path(public_name(name))) for name in self.names]
        path, name = self.rng.choice(paths), self.rng.choice(self.NAMES)
        for function, *args in (
                (client.query, path), (client.inspect, path), (client.break_locks, name, path),
                (client.watch, self.rng.random() < 0.7, path), (client.resync,),
                (client.introspect, path), (client.introspect, path.rpartition('/')[0])):
            self.attempt(function, *args)
        client.answers_pings = True
        bucket = public_name(self.rng.choice(self.names))
        for function in (client.request, client.steal):
            self.assert_error('Security', function, name, bucket)
        # It has sessions of its own, which it may join.
        own = f'private-{self.rng.getrandbits(2):032x}'
        self.attempt(client.request, name, own, ifAvailable=True)

    def test_names_reach_members_only(self):
        for _ in range(self.STEPS):
            self.play_member()
            if self.rng.random() < 0.3:
                self.play_outsider()
        for client in self.members + self.outsiders:
            client.ping()
            if isinstance(client, BySocket):
                client.socket.sync()
        self.check_received()
        for act in ('request', 'steal', 'release', 'break_locks', 'inspect', 'watch'):
            self.assertGreater(self.done[act], 0, self.done)

    def check_received(self):
        words = [name.removeprefix('private-').encode() for name in self.names]
        public = [public_name(name).removeprefix('private:').encode() for name in self.names]
        for client in self.outsiders:
            blobs = self.received(client)
            for blob in blobs:
                for word in words:
                    self.assertNotIn(word, blob)
            self.assertTrue(any(word in blob for blob in blobs for word in public))
        # What members get has the names: they are found where they are.
        for client in self.members:
            self.assertTrue(any(word in blob for blob in self.received(client) for word in words))
