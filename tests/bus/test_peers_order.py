# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What a client sent takes effect: before what it sends by the bus, and before its end.

Between a private socket and the bus there is no order but the one that the service makes. So each
case is a race, run many times, and none may be lost: also with the service stopped, so that both
sides of the race wait for it together, and with clients that die without having read.
"""

import mmap
import os
import select
import signal
import struct

import buses
from calls import ADMIN, ROOT, SERVICE
from harness import PATIENCE, BusTestCase, RawClient, diagnostic, full_size, main, wait_for
from rawbus import DRIVER, DRIVER_PATH, PrivateSocket, lock_call, method_call, unpack

# What a client says last.
WORDS = 26


class Shared:
    """Two numbers that a child and we see: bytes that the kernel took; whether it takes more."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 16)

    def get(self):
        return struct.unpack('qq', self.memory)

    def put(self, sent, is_full):
        self.memory[:] = struct.pack('qq', sent, is_full)


class Speaker:
    """A client that dies while or after it sends its last words, in a process of its own.

    `by` is where it says them, the client itself or its private socket. The connections are made
    here and used there: this process closes them, so that their ends are the child's death."""

    def __init__(self, client, peer, by, blobs, dies_by_itself):
        self.name = client.name
        self.ends = [sum(map(len, blobs[:count])) for count in range(len(blobs) + 1)]
        self.shared = Shared()
        go_read, self.go_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                buses.die_with_parent()
                os.close(self.go_write)
                by.socket.setblocking(False)
                os.read(go_read, 1)
                self._speak(by.socket, b''.join(blobs))
                if not dies_by_itself:
                    signal.pause()
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        os.close(go_read)
        client.close()
        if peer is not None:
            peer.close()

    def _speak(self, sock, data):
        poll = select.poll()
        poll.register(sock, select.POLLOUT)
        sent = 0
        while sent < len(data):
            try:
                sent += sock.send(data[sent:])
                self.shared.put(sent, 0)
            except BlockingIOError:
                self.shared.put(sent, 1)
                poll.poll()

    def go(self):
        os.write(self.go_write, b'.')

    def kill_at(self, size):
        """Once the kernel has taken that many bytes, or takes no more."""
        while True:
            sent, is_full = self.shared.get()
            if sent >= size or is_full:
                break
        os.kill(self.pid, signal.SIGKILL)

    def wait_dead(self):
        os.waitpid(self.pid, 0)
        os.close(self.go_write)

    def count_sent(self):
        """How many of its words the kernel took whole."""
        sent = self.shared.get()[0]
        return sum(end <= sent for end in self.ends[1:])


class Slot:
    """One of the races that run side by side: a bucket, and somebody to whom things happen."""

    def __init__(self, case, number):
        self.bucket = case.unique(f'bucket{number}')
        self.case = case
        self.victim = case.raw_client()
        self.watches = False

    def request_all(self, client, names):
        return [client.result(serial)[0] for serial in client.send_all(
            [lock_call('Request', name, self.bucket) for name in names])]

    def heard(self, member, reason):
        """The names of which that was heard, in the order in which it was."""
        self.victim.ping()
        return [event.args[1] for event in self.victim.signals(member, reason=reason)]

    def clean(self):
        self.victim.events.clear()
        self.victim.forget()


class Steals(Slot):
    """The speaker steals from the victim, which is told of each."""

    def __init__(self, case, number):
        super().__init__(case, number)
        self.names = [f'{number}' for number in range(WORDS)]

    def prepare(self, speaker):
        # Who is gone before the service knows who it is has asked for nothing.
        speaker.query(self.bucket)
        self.request_all(self.victim, self.names)

    def words(self, first_id):
        return [lock_call('Steal', name, self.bucket) for name in self.names]

    def done(self):
        return self.heard('Released', 'stolen')


class Releases(Slot):
    """The speaker releases what it has, without asking for an answer. If that comes too late, the
    watching victim hears `terminated` instead of `released`."""

    def __init__(self, case, number):
        super().__init__(case, number)
        self.names = [f'{number}' for number in range(WORDS)]
        self.victim.watch(bucket=self.bucket)

    def prepare(self, speaker):
        self.first_id = self.request_all(speaker, self.names)[0]

    def words(self, first_id):
        return [lock_call('Release', self.first_id + number, self.bucket, reply=False)
                for number in range(WORDS)]

    def done(self):
        return self.heard('Released', 'released')

    def clean(self):
        self.victim.answer_pings()
        self.victim.answered = 0
        super().clean()


class LongSteals(Steals):
    """Each of another length, so that many lengths of messages come to stand before others."""

    def __init__(self, case, number):
        super().__init__(case, number)
        self.names = [f'{number}{number * 4 * "x"}' for number in range(80, 80 + WORDS)]
        self.bucket = f'lengths{number}'


class Handovers(Slot):
    """Requests, a steal of what they got, and releases, each of which lets the victim in."""

    def __init__(self, case, number):
        super().__init__(case, number)
        self.names = [f'{number}' for number in range(WORDS // 2)]

    def prepare(self, speaker):
        self.ids = self.request_all(speaker, self.names)
        self.waiting = self.request_all(self.victim, self.names)

    def words(self, first_id):
        messages = []
        for id_, name in zip(self.ids, self.names):
            messages += [lock_call('Request', name, self.bucket),
                         lock_call('Release', id_, self.bucket)]
        return messages

    def done(self):
        """Two words each: the request behind the victim changes nothing, the release does."""
        self.victim.ping()
        granted = [event.args[1] for event in self.victim.signals('Granted')]
        return [name for name in granted for _ in range(2)]

    def clean(self):
        for id_ in self.waiting:
            self.victim.release(id_, self.bucket)
        super().clean()


class LastWords(BusTestCase):
    """Races between what a client said last and its end."""

    time_limit = 90.0
    SLOTS = 10

    def setUp(self):
        super().setUp()
        self.noise = self.unique('noise')
        self.trials = 0
        self.words = 0

    def noise_call(self):
        """Its answer is long: 20 of them are more than a socket holds."""
        return lock_call('Query', bucket=self.noise)

    def make_noise(self):
        holder = self.raw_client()
        for serial in holder.send_all([lock_call('Request', f'{number}' * 100, self.noise)
                                       for number in range(100, 150)]):
            holder.result(serial)

    def speaker(self, slot, by_bus, unread, dies_by_itself, between, late_end):
        client = RawClient(self.bus.address, descriptors=True)
        if late_end:
            # When a process ends, the kernel closes its descriptors in their order.
            client.socket, first = client.socket.dup(), client.socket
            peer = None if by_bus else PrivateSocket(client)
            client.socket.close()
            client.socket = first
        else:
            peer = None if by_bus else PrivateSocket(client)
        by = peer or client
        slot.prepare(by)
        by.send_all([self.noise_call() for _ in range(unread)])
        blobs = []
        for word in slot.words(1):
            blobs += [by.encode(message)[0]
                      for message in [word] + [self.noise_call() for _ in range(between)]]
        return Speaker(client, peer, by, blobs, dies_by_itself)

    def run_round(self, slots, paused, kill_at, **kw):
        speakers = [self.speaker(slot, dies_by_itself=kill_at is None,
                                 late_end=number % 2 == 0, **kw)
                    for number, slot in enumerate(slots)]
        if paused:
            self.daemon.pause()
        try:
            for speaker in speakers:
                speaker.go()
            for number, speaker in enumerate(speakers):
                if kill_at is not None:
                    speaker.kill_at(kill_at(speaker, number))
                speaker.wait_dead()
            if paused:
                self.wait_left(speakers)
        finally:
            self.daemon.resume()
        self.wait_left(speakers)
        # The service has heard of their ends before it hears of this.
        self.control.ping()
        return speakers

    def wait_left(self, speakers):
        names = {speaker.name for speaker in speakers}
        wait_for(lambda: not names & set(self.control.call(
            DRIVER_PATH, DRIVER, 'ListNames', destination=DRIVER)[0]),
            what='ends of clients', every=0.001)

    def race(self, kind, rounds, by_bus=False, paused=False, unread=0, between=0, kill_at=None):
        """`kill_at` tells at how many bytes the speaker is killed; without it, it kills itself
        after its last word."""
        slots = [kind(self, number) for number in range(self.SLOTS)]
        if unread or between:
            self.make_noise()
        for _ in range(full_size(-(-rounds // 4), rounds)):
            start = self.monitor.position() if by_bus else 0
            speakers = self.run_round(slots, paused, kill_at, by_bus=by_bus, unread=unread,
                                      between=between)
            for slot, speaker in zip(slots, speakers):
                sent = self.count_passed(speaker, start) if by_bus else speaker.count_sent()
                self.check(slot, speaker, -(-sent // (1 + between)))
        diagnostic(f'{self.trials} trials, {self.words} words')

    def count_passed(self, speaker, start):
        """Of a client that is gone dbus-daemon may throw away what it has not passed on yet, if
        answers are on their way to it. What counts is what the service was given."""
        mark = speaker.name.encode() + b'\0'
        with self.monitor._lock:
            blobs = self.monitor._blobs[start:]
        passed = sum(blob[1] == 1 and mark in blob and (b'Steal' in blob or b'Release\0' in blob)
                     for blob in blobs)
        self.assertLessEqual(passed, WORDS)
        return passed

    def check(self, slot, speaker, sent):
        done = slot.done()
        expected = slot.names if not isinstance(slot, Handovers) else \
            [name for name in slot.names for _ in range(2)]
        # In their order, and all that were sent; one more may have been on its way.
        self.assertEqual(done, expected[:len(done)])
        self.assertGreaterEqual(len(done) + isinstance(slot, Handovers), sent,
                                f'{sent} sent, {len(done)} done; trial {self.trials}')
        # And then the end, with which everything of it is over.
        left = [entry for entries in slot.victim.query(slot.bucket) for entry in entries
                if entry[2] == speaker.name]
        self.assertEqual(left, [])
        slot.clean()
        self.rest(slot)
        self.trials += 1
        self.words += sent

    def rest(self, slot):
        """Nobody has anything, for the next round."""
        left = slot.victim.query(slot.bucket)[0]
        ids = [entry['cursor'] for entry in slot.victim.inspect(slot.bucket)[0]] if left else []
        self.assertTrue(not left or ids)
        if left:
            thief = self.raw_client()
            for name, _, _ in left:
                thief.steal(name, slot.bucket)
            thief.close()
            self.wait_gone(thief.name)
            slot.victim.ping()
            slot.victim.events.clear()


class BySocket(LastWords):
    def test_at_once(self):
        self.race(Steals, 8)

    def test_while_the_service_is_stopped(self):
        self.race(Steals, 8, paused=True)

    def test_releases(self):
        self.race(Releases, 6)

    def test_releases_while_the_service_is_stopped(self):
        self.race(Releases, 6, paused=True)

    def test_handovers(self):
        self.race(Handovers, 6)

    def test_handovers_while_the_service_is_stopped(self):
        self.race(Handovers, 6, paused=True)

    def test_with_unread_answers(self):
        """Then the service's end of the socket is broken before it reads."""
        self.race(Steals, 7, unread=2)

    def test_with_unread_answers_while_the_service_is_stopped(self):
        self.race(Steals, 7, unread=2, paused=True)

    def test_releases_with_unread_answers(self):
        self.race(Releases, 6, unread=2)

    def test_with_more_unread_answers_than_a_socket_holds(self):
        """So the service doesn't read: all of it waits in the socket."""
        self.race(Steals, 5, unread=60)

    def test_releases_with_more_unread_answers_than_a_socket_holds(self):
        self.race(Releases, 5, unread=60)

    def test_messages_of_any_length(self):
        self.race(LongSteals, 2, paused=True)
        self.race(LongSteals, 2, unread=2)

    def test_questions_in_between(self):
        """More than the socket holds in the one direction or the other, so it is cut anywhere."""
        self.race(Steals, 5, between=40, kill_at=lambda speaker, number: speaker.ends[-1])

    def test_questions_in_between_while_the_service_is_stopped(self):
        self.race(Steals, 5, between=40, paused=True,
                  kill_at=lambda speaker, number: speaker.ends[-1])

    def test_killed_anywhere(self):
        self.race(Steals, 8, kill_at=lambda speaker, number: speaker.ends[-1] * number // 10)

    def test_killed_anywhere_with_questions_in_between(self):
        self.race(Steals, 5, between=40,
                  kill_at=lambda speaker, number: speaker.ends[-1] * number // 10)


class ByBus(LastWords):
    def test_at_once(self):
        self.race(Steals, 6, by_bus=True)

    def test_while_the_service_is_stopped(self):
        self.race(Steals, 6, by_bus=True, paused=True)

    def test_releases(self):
        self.race(Releases, 6, by_bus=True)

    def test_releases_while_the_service_is_stopped(self):
        self.race(Releases, 6, by_bus=True, paused=True)


class SocketThenBus(BusTestCase):
    """A call by the bus finds all done that the client sent by its socket before."""

    CLIENTS = 10

    def setUp(self):
        super().setUp()
        self.bucket = self.unique('bucket')
        self.pairs = []
        for _ in range(self.CLIENTS):
            client = self.raw_client(descriptors=True)
            self.pairs.append((client, self.private_socket(client)))

    def check_round(self, paused, count):
        if paused:
            self.daemon.pause()
        rounds = []
        try:
            for number, (client, peer) in enumerate(self.pairs):
                bucket = f'{self.bucket}.{number}'
                serials = peer.send_all([lock_call('Request', f'{name}', bucket)
                                         for name in range(count)])
                rounds.append((client, peer, bucket, serials,
                               client.send(lock_call('Query', bucket=bucket))))
        finally:
            self.daemon.resume()
        for client, peer, bucket, serials, query in rounds:
            held, _ = client.result(query)
            self.assertEqual(len(held), count)
            ids = [peer.result(serial)[0] for serial in serials]
            # Since the last call came by the bus, so does what is lost now.
            self.release_all(client, peer, bucket, ids)

    def release_all(self, client, peer, bucket, ids):
        """By socket and by bus in turn, each release without an answer; the last one shows."""
        for id_ in ids:
            way = peer if id_ % 2 else client
            way.send(lock_call('Release', id_, bucket, reply=False))
        self.assertEqual(peer.query(bucket) if ids[-1] % 2 else client.query(bucket),
                         ([], []))

    def test_while_the_service_is_stopped(self):
        for _ in range(full_size(10, 30)):
            self.check_round(paused=True, count=20)

    def test_at_once(self):
        for _ in range(full_size(10, 30)):
            self.check_round(paused=False, count=20)

    def test_messages_of_any_length(self):
        """Long ones and then short ones, so that no length is mistaken for the end."""
        client, peer = self.pairs[0]
        lengths = set()
        for size in range(0, 1000, 4):
            pairs = [peer.encode(lock_call('Request', name, 'b', ifAvailable=True))
                     for name in (size * 'x', 'last')]
            lengths.add(len(pairs[0][0]))
            self.daemon.pause()
            try:
                peer.socket.sendall(b''.join(blob for blob, _ in pairs))
                query = client.send(lock_call('Query', bucket='b'))
            finally:
                self.daemon.resume()
            self.assertEqual(len(client.result(query)[0]), 2, f'{size}')
            for _, serial in pairs:
                peer.release(peer.result(serial)[0], 'b')
        self.assertLessEqual({256, 512, 1024}, lengths)

    def test_steal_by_socket_and_release_by_bus(self):
        """The bus call uses what the socket's calls make; their ids are known beforehand."""
        victim = self.raw_client()
        client, peer = self.pairs[0]
        last = 0
        for number in range(200):
            victim.request('x', self.bucket)
            paused = number % 2 == 0
            if paused:
                self.daemon.pause()
            peer.send_all([lock_call('Steal', 'x', self.bucket) for _ in range(3)])
            release = client.send(lock_call('Release', last + 3, self.bucket))
            self.daemon.resume()
            client.result(release)
            last += 3
            self.assertEqual(client.query(self.bucket), ([], []))
            # Two of the three it took from itself: told by the way of the last call then.
            peer.pump()

    def test_open_peer_is_such_a_call(self):
        client = self.raw_client(descriptors=True)
        for count in (10,) * full_size(30, 100) + (300,) * 3:
            peer = PrivateSocket(client)
            self.daemon.pause()
            try:
                peer.send_all([lock_call('Request', f'{name}', self.bucket)
                               for name in range(count)])
                serial = client.send(method_call(SERVICE, ROOT, ADMIN, 'OpenPeer'))
            finally:
                self.daemon.resume()
            client.result(serial)
            second = PrivateSocket.of(client.descriptors.pop(), client.name)
            held, _ = second.query(self.bucket)
            self.assertEqual(len(held), count)
            self.assertTrue(peer.at_end())
            self.assertEqual(len([message for message in peer.log
                                  if message.get_reply_serial()]), count)
            for message in peer.log:
                second.release(message.get_body().unpack()[0], self.bucket)
            peer.close()
            second.close()

    def test_while_the_client_does_not_read(self):
        """Its socket is full, so the service has stopped reading there."""
        noise = self.unique('noise')
        client, peer = self.pairs[0]
        holder = self.raw_client()
        for number in range(100, 200):
            holder.request(f'{number}' * 100, noise)
        for number in range(10):
            client = self.raw_client(descriptors=True)
            peer = self.private_socket(client)
            bucket = f'{self.bucket}.{number}'
            peer.send_all([lock_call('Query', bucket=noise) for _ in range(15)])
            self.control.ping()
            peer.send_all([lock_call('Request', f'{name}', bucket) for name in range(20)])
            self.assertEqual(len(client.query(bucket)[0]), 20)


class BehindMuch(BusTestCase):
    """Calls by the bus that wait while the socket is read in many turns."""

    # A thousand messages; and fewer answers than a socket holds, since nobody reads them meanwhile.
    FILL = 700
    MANY = 300
    # Of the service: messages that it reads in one turn.
    TURN = 32

    def setUp(self):
        super().setUp()
        self.bucket = 'b'
        self.client = self.raw_client(descriptors=True)
        self.peer = self.private_socket(self.client)

    def names(self, count=MANY):
        return [f'{number}' for number in range(count)]

    def requests(self, names):
        return [lock_call('Request', name, self.bucket) for name in names]

    def fill(self):
        return [lock_call('Release', 10 ** 6, self.bucket, reply=False)] * self.FILL

    def much(self):
        return self.fill() + self.requests(self.names())

    def send_both(self, by_socket, by_bus):
        """The service finds all of both at once. The serials of each."""
        self.daemon.pause()
        try:
            serials = (self.peer.send_all(by_socket), self.client.send_all(by_bus))
            self.client.ping_the_bus()
            return serials
        finally:
            self.daemon.resume()

    def test_order(self):
        """Of the calls too, and of a Ping among them."""
        query = lock_call('Query', bucket=self.bucket)
        ping = method_call(SERVICE, ROOT, 'org.freedesktop.DBus.Peer', 'Ping')
        before = len(self.client.log)
        requests, calls = self.send_both(
            self.much(),
            [query, lock_call('Release', 1, self.bucket), query, ping,
             lock_call('Release', 2, self.bucket, reply=False), query, ping])
        self.client.wait_for(lambda: len(self.client.log) == before + 1 + 6, what='answers')
        answers = {message.get_reply_serial(): message for message in self.client.log[before:]}
        wanted = [serial for serial in calls if serial != calls[4]]
        self.assertEqual([serial for serial in answers if serial in calls], wanted)
        self.assertEqual([len(unpack(answers[calls[at]])[0]) for at in (0, 2, 5)],
                         [self.MANY, self.MANY - 1, self.MANY - 2])
        for serial in requests[self.FILL:]:
            self.peer.result(serial)
        # The socket is heard as before.
        self.assertEqual(len(self.peer.query(self.bucket)[0]), self.MANY - 2)

    def test_more_calls_than_one_turn_serves(self):
        names = self.names()
        count = 5 * self.TURN
        _, calls = self.send_both(
            self.much(),
            [lock_call('Release', number + 1, self.bucket, reply=False)
             for number in range(count)] + [lock_call('Query', bucket=self.bucket)])
        self.assertEqual([entry[0] for entry in self.client.result(calls[-1])[0]], names[count:])

    def test_others_are_served_meanwhile(self):
        """A call by the bus holds up nobody: what comes behind it from others comes first."""
        other = self.raw_client()
        other.query(self.bucket)
        self.daemon.pause()
        try:
            self.peer.send_all(self.much())
            own = self.client.send(lock_call('Query', bucket=self.bucket))
            self.client.ping_the_bus()
            foreign = other.send(lock_call('Query', bucket=self.bucket))
            other.ping_the_bus()
        finally:
            self.daemon.resume()
        self.assertLess(len(other.result(foreign)[0]), self.MANY)
        self.assertEqual(len(self.client.result(own)[0]), self.MANY)

    def test_the_socket_ends_meanwhile(self):
        self.daemon.pause()
        try:
            self.peer.send_all(self.much())
            query = self.client.send(lock_call('Query', bucket=self.bucket))
            self.client.ping_the_bus()
            self.peer.close()
        finally:
            self.daemon.resume()
        self.assertEqual(len(self.client.result(query)[0]), self.MANY)

    def test_half_a_message_is_not_waited_for(self):
        blobs = [self.peer.encode(message)[0] for message in self.requests(self.names(101))]
        self.daemon.pause()
        try:
            self.peer.socket.sendall(b''.join(blobs)[:-1])
            query = self.client.send(lock_call('Query', bucket=self.bucket))
            self.client.ping_the_bus()
        finally:
            self.daemon.resume()
        # The rest of it may take 5 s, and never comes.
        self.assertEqual(len(self.client.result(query, timeout=4)[0]), 100)
        # Nor if the service has seen it before.
        query = self.client.send(lock_call('Query', bucket=self.bucket))
        self.assertEqual(len(self.client.result(query, timeout=4)[0]), 100)

    def make_noise(self):
        holder = self.raw_client()
        noise = self.unique('noise')
        for serial in holder.send_all([lock_call('Request', f'{number}' * 100, noise)
                                       for number in range(100, 300)]):
            holder.result(serial)
        return lock_call('Query', bucket=noise)

    def test_the_client_stops_reading_meanwhile(self):
        """It reads nothing but the answer that it waits for; which comes, and at once."""
        noise = self.make_noise()
        _, (query,) = self.send_both([noise] * 50 + self.requests(self.names(100)),
                                     [lock_call('Query', bucket=self.bucket)])
        self.assertEqual(len(self.client.result(query, timeout=PATIENCE / 2)[0]), 100)
        self.assertTrue(self.peer.at_end())
        self.assertLess(len(self.peer.log), 150)
        self.client.release(100, self.bucket)

    def check_death(self, before, closes=True):
        """It is killed while its calls wait. All of them take effect, behind the socket's."""
        count = 200
        victim = self.raw_client()
        names = self.names(count + WORDS)
        for serial in victim.send_all(self.requests(names)):
            victim.result(serial)
        self.daemon.pause()
        try:
            self.peer.send_all(before + [lock_call('Steal', name, self.bucket)
                                         for name in names[:count]])
            self.client.send_all([lock_call('Steal', name, self.bucket)
                                  for name in names[count:]])
            self.client.ping_the_bus()
            self.client.close()
            if closes:
                self.peer.close()
            name = self.client.name
            wait_for(lambda: name not in self.control.call(DRIVER_PATH, DRIVER, 'ListNames',
                                                           destination=DRIVER)[0],
                     what='end of the client', every=0.001)
        finally:
            self.daemon.resume()
        self.control.ping()
        victim.ping()
        self.assertEqual([event.args[1] for event in victim.signals('Released', reason='stolen')],
                         names)
        self.assertEqual(victim.query(self.bucket), ([], []))

    def test_killed(self):
        self.client.query(self.bucket)
        self.check_death(self.fill())

    def test_off_the_bus(self):
        """Somebody else has the socket still, so its end shows nothing."""
        self.client.query(self.bucket)
        self.check_death(self.fill(), closes=False)

    def test_killed_with_unread_answers(self):
        noise = self.make_noise()
        self.client.query(self.bucket)
        self.check_death([noise] * 20)


class ManyCallsBehind(BusTestCase):
    """More calls by the bus than may wait: none is refused."""

    arguments = ('--limit', 'callsWaiting=5')

    def test_none_is_refused(self):
        client = self.raw_client(descriptors=True)
        peer = self.private_socket(client)
        self.daemon.pause()
        try:
            peer.send_all([lock_call('Request', f'{name}', 'b') for name in range(800)])
            releases = client.send_all([lock_call('Release', number + 1, 'b', reply=False)
                                        for number in range(50)])
            calls = client.send_all([lock_call('Query', bucket='b') for _ in range(20)])
        finally:
            self.daemon.resume()
        self.assertEqual(len(releases), 50)
        for serial in calls:
            self.assertEqual(len(client.result(serial)[0]), 750)


if __name__ == '__main__':
    main()
