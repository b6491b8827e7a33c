# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Packets that a client has sent take effect before its next call on the bus, and before its
disconnect.

Only the service orders a socket and the bus. So the cases are races, repeated many times: also with
the service stopped, so that both have data when it continues, and with clients that are killed
before they read."""

import contextlib
import fcntl
import mmap
import os
import select
import signal
import socket
import struct

import buses
from calls import ROOT, SERVICE
from harness import PATIENCE, BusTestCase, RawClient, diagnostic, full_size, wait_for
from rawbus import DRIVER, DRIVER_PATH, lock_call, method_call, unpack
from sockets import flood, open_socket, packets
from test_socket import SocketCase

# The client's last packets.
WORDS = 26
NAMES = [f'{number}' for number in range(WORDS)]
SYNC = packets.message(packets.SYNC, 1)
# The number of answers that a socket holds, and a number beyond it.
SOME_NOISE, MUCH_NOISE = SYNC * 100, SYNC * 4000


class Speaker:
    """A client that exits while or after it sends its last packets, in a separate process. The
    connections are opened here and used there, so that they are closed when that process exits."""

    def __init__(self, client, sock, words, dies_by_itself):
        self.name = client.name
        self.words = words
        # The number of packets that the kernel accepted, and whether it accepts no more.
        self.shared = mmap.mmap(-1, 16)
        go_read, self.go_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                buses.die_with_parent()
                signal.setitimer(signal.ITIMER_REAL, 0)
                os.close(self.go_write)
                os.read(go_read, 1)
                self._speak(sock.socket)
                if not dies_by_itself:
                    signal.pause()
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        os.close(go_read)
        sock.close()
        client.close()

    def _speak(self, sock):
        poll = select.poll()
        poll.register(sock, select.POLLOUT)
        sent = 0
        while sent < len(self.words):
            try:
                sock.send(self.words[sent], socket.MSG_NOSIGNAL)
                sent += 1
                self.shared[:] = struct.pack('qq', sent, 0)
            except BlockingIOError:
                self.shared[:] = struct.pack('qq', sent, 1)
                poll.poll()

    def n_sent(self):
        return struct.unpack('qq', self.shared)[0]

    def go(self):
        os.write(self.go_write, b'.')

    def kill_at(self, number):
        """Returns when the kernel has accepted this number of packets, or accepts no more."""
        while True:
            sent, is_full = struct.unpack('qq', self.shared)
            if sent >= number or is_full:
                break
        os.kill(self.pid, signal.SIGKILL)

    def wait_dead(self):
        os.waitpid(self.pid, 0)
        os.close(self.go_write)


class Slot:
    """One of the races that run in parallel: its holder loses all its locks by steals of the speaker, and is
    notified of each."""

    def __init__(self, case, number):
        self.bucket = f'{case.id()}.{number}'
        self.holder = case.raw_client()

    def take_all(self):
        self.holder.call_all([lock_call('Request', name, self.bucket) for name in NAMES])

    def stolen(self):
        """The names, in order."""
        self.holder.ping()
        return [event.args[1] for event in self.holder.signals('Released', reason='stolen')]

    def left_of(self, speaker):
        return [entry for entries in self.holder.query(self.bucket) for entry in entries
                if entry[2] == speaker.name]

    def clean(self):
        for line in self.holder.resync():
            self.holder.release(line[1], self.bucket)
        self.holder.events.clear()
        self.holder.forget()


class LastPackets(BusTestCase):
    """Races between the last packets of a client and its disconnect."""

    SLOTS = 10

    def speaker(self, slot, dies_by_itself, noise, late_end):
        client = RawClient(self.bus.address, descriptors=True)
        sock = open_socket(client)
        if late_end:
            # When a process ends, the kernel closes its descriptors in their order.
            late = fcntl.fcntl(client.socket, fcntl.F_DUPFD_CLOEXEC, sock.socket.fileno() + 1)
            client.socket.close()
            client.socket = socket.socket(fileno=late)
            client.socket.settimeout(PATIENCE)
        slot.take_all()
        if noise:
            sock.send(noise)
        words = [sock.encode_request(name, slot.bucket, steal=True)[0] for name in NAMES]
        return Speaker(client, sock, words, dies_by_itself)

    def run_round(self, slots, paused, noise, killed):
        speakers = [self.speaker(slot, not killed, noise, number % 2 == 0) for number, slot in enumerate(slots)]
        with self.daemon.paused() if paused else contextlib.nullcontext():
            for speaker in speakers:
                speaker.go()
            for number, speaker in enumerate(speakers):
                if killed:
                    speaker.kill_at(WORDS * number // self.SLOTS)
                speaker.wait_dead()
            # The service, when it continues, receives all of them together.
            names = {speaker.name for speaker in speakers}
            wait_for(lambda: not names & set(self.control._driver('ListNames')[0]), what='ends of clients',
                     every=0.001)
        # The service has received the disconnects before this.
        self.control.ping()
        return speakers

    def race(self, rounds, paused=False, noise=b'', killed=False):
        """`killed`: after each number of packets; otherwise the speaker kills itself after its last one."""
        slots = [Slot(self, number) for number in range(self.SLOTS)]
        n_words = 0
        for _ in range(full_size(-(-rounds // 4), rounds)):
            for slot, speaker in zip(slots, self.run_round(slots, paused, noise, killed)):
                sent = speaker.n_sent()
                if noise:  # more than the service serves in one turn
                    wait_for(lambda s=slot, n=sent: len(s.stolen()) >= n, what='all that was sent')
                    wait_for(lambda s=slot, one=speaker: not s.left_of(one), what='the end of the agent')
                done = slot.stolen()
                # In order, and all that were sent; one more may have been in transit.
                self.assertEqual(done, NAMES[:len(done)])
                self.assertGreaterEqual(len(done), sent)
                # And then the disconnect, after which nothing of it remains.
                self.assertEqual(slot.left_of(speaker), [])
                slot.clean()
                n_words += sent
        diagnostic(f'{n_words} words')
        self.assertGreater(n_words, 0)

    def test_immediately(self):
        self.race(8)

    def test_while_the_service_is_stopped(self):
        self.race(8, paused=True)

    def test_with_unread_answers_while_the_service_is_stopped(self):
        self.race(7, noise=SOME_NOISE, paused=True)

    def test_with_more_unread_answers_than_a_socket_holds(self):
        """So the service has stopped reading: everything remains in the socket."""
        self.race(6, noise=MUCH_NOISE)

    def test_killed_anywhere(self):
        self.race(8, killed=True)

    def test_killed_anywhere_while_the_service_is_stopped(self):
        self.race(8, paused=True, killed=True)


class SocketThenBus(SocketCase):
    """Everything that a client sent on its socket takes effect before its next call by the bus."""

    CLIENTS = 10

    def setUp(self):
        super().setUp()
        self.pairs = []
        for _ in range(self.CLIENTS):
            client = self.raw_client(descriptors=True)
            self.pairs.append((client, self.lock_socket(client)))

    def check_rounds(self, paused, rounds):
        names = [f'{number}' for number in range(20)]
        for _ in range(rounds):
            sent = []
            with self.daemon.paused() if paused else contextlib.nullcontext():
                for number, (client, sock) in enumerate(self.pairs):
                    bucket = f'{self.bucket}.{number}'
                    calls = [sock.encode_request(name, bucket) for name in names]
                    for data, _, _ in calls:
                        sock.send(data)
                    sent.append((bucket, calls, client.send(lock_call('Query', bucket=bucket))))
            for (client, sock), (bucket, calls, query) in zip(self.pairs, sent):
                self.assertEqual(len(client.result(query)[0]), len(names))
                sock.release_without_answer(*(key for _, _, key in calls))
                self.assertEqual(client.query(bucket), ([], []))
                sock.sync()
                sock.log.clear()

    def test_while_the_service_is_stopped(self):
        self.check_rounds(True, full_size(8, 30))

    def test_immediately(self):
        self.check_rounds(False, full_size(8, 30))

    def test_every_call(self):
        """Query, Inspect, Resync, Buckets, Watch, OpenSocket."""
        sock = self.lock_socket(self.raw)
        for number in range(full_size(20, 100)):
            name = f'{number}'
            bucket = f'{self.bucket}.{number}'
            if number % 2:
                self.daemon.pause()
            for key, call in enumerate((
                    lock_call('Query', bucket=bucket),
                    method_call(SERVICE, ROOT, 'org.w3.WebLocks.Service', 'Resync'),
                    method_call(SERVICE, ROOT, 'org.w3.WebLocks.Service', 'Buckets')), 1):
                data, _, _ = sock.encode_request(name, bucket, key=key)
                sock.send(data)
                serial = self.raw.send(call)
                self.daemon.resume()
                answer = self.raw.result(serial)
                if key == 1:
                    self.assertEqual(len(answer[0]), 1)
                elif key == 2:
                    self.assertEqual([line[2] for line in answer[0]], [1, 2])
                else:
                    self.assertEqual(answer[0], [bucket])
            sock.release_without_answer(1)
            # A watcher is not notified of what happened before it began to watch.
            self.raw.watch(bucket=bucket)
            self.raw.watch(False, bucket)
            self.assertEqual([entry['state'] for entry in self.raw.inspect(bucket)[0]],
                             ['held', 'pending'])
            self.assertEqual(self.raw.events, [])
            again = self.lock_socket(self.raw)
            self.assertEqual([entry.key for entry in again.live], [2, 3])
            again.end()
            sock.close()
            sock = again


class BehindMuch(SocketCase):
    """Calls by the bus that are deferred while the socket is read in many turns."""

    # Their answers fit into the socket, in packets of any number of them: the cases don't read it
    # meanwhile, and a client that does not read is not served.
    MANY = 400
    FILL = packets.with_key(packets.RELEASE, 0, 10 ** 6, packets.NO_ANSWER) * 2700

    def setUp(self):
        super().setUp()
        self.raw.query(self.bucket)
        self.sock = self.lock_socket(self.raw)

    def much(self, count=MANY):
        """As many packets as fit into a socket together."""
        return [self.FILL, *packets.packets(self.sock.encode_request(f'{name}', self.bucket)[0]
                                            for name in range(count))]

    def send_both(self, by_socket, by_bus):
        """The service receives both together. Returns the serials of the calls on the bus."""
        with self.daemon.paused():
            for packet in by_socket:
                self.sock.send_packet(packet)
            serials = self.raw.send_all(by_bus)
            self.raw.ping_the_bus()
            return serials

    def query(self):
        return lock_call('Query', bucket=self.bucket)

    def test_order(self):
        before = len(self.raw.log)
        calls = self.send_both(self.much(), [
            self.query(), method_call(SERVICE, ROOT, 'org.w3.WebLocks.Service', 'Buckets'),
            lock_call('Release', 1, self.bucket), self.query()] + [self.query()] * 100)
        results = [self.raw.reply_to(serial) for serial in calls]
        self.assertEqual([reply.get_error_name() is not None for reply in results],
                         [False, False, True] + [False] * 101)
        order = [message.get_reply_serial() for message in self.raw.log[before:]]
        self.assertEqual([serial for serial in order if serial in calls], calls)
        self.assertEqual(len(unpack(results[0])[0]), self.MANY)
        self.sock.sync()

    def test_the_socket_ends_meanwhile(self):
        with self.daemon.paused():
            for packet in self.much():
                self.sock.send_packet(packet)
            serial = self.raw.send(self.query())
            self.raw.ping_the_bus()
            self.sock.close()
        self.assertEqual(len(self.raw.result(serial)[0]), self.MANY)

    def check_death(self, closes):
        """It disconnects from the bus while its packets are unread."""
        holder = self.lock_socket()
        holder.request_all((f'{name}' for name in range(self.MANY)), self.bucket)
        steals = [self.sock.encode_request(f'{name}', self.bucket, steal=True)[0]
                  for name in range(self.MANY)]
        with self.daemon.paused():
            self.sock.send_packet(self.FILL)
            self.sock.send_all(steals)
            self.raw.close()
            if closes:
                self.sock.close()
            wait_for(lambda: self.raw.name not in self.control.call(
                DRIVER_PATH, DRIVER, 'ListNames', destination=DRIVER)[0],
                what='end of the client', every=0.001)
        holder.wait_for(lambda: len(holder.events) == self.MANY, what='losses')
        wait_for(lambda: self.other.query(self.bucket) == ([], []), what='end of the stealer')

    def test_killed(self):
        self.check_death(closes=True)

    def test_off_the_bus(self):
        """Another process still has the socket, so there is no EOF."""
        self.check_death(closes=False)
        self.sock.wait_for(lambda: self.sock.eof, what='end')


class Refilled(SocketCase):
    """Another process fills the socket again and again: a forked child, which outlives its parent's
    connection. The packets in the socket at the time of the call or the disconnect are served."""

    def setUp(self):
        super().setUp()
        self.sock = self.lock_socket(self.raw)
        self.held, _ = self.sock.request('x', self.bucket)
        self.waiting, _ = self.other.request('x', self.bucket)

    def start_child(self, packet):
        child = flood([self.sock], packet, without=[self.raw])
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, signal.SIGKILL)
        return child

    def test_calls_on_the_bus_are_served(self):
        for packet in (SYNC, SYNC * 500, self.sock.encode_request('y', self.bucket, key=9)[0]):
            self.start_child(packet)
            for _ in range(20):
                self.assertEqual(len(self.raw.query(self.bucket)[1]), 1)

    def test_it_ends_with_the_name(self):
        """The agent ends, pending requests are granted, and the child's socket is closed."""
        for packet in (SYNC * 100, packets.request(1, 2 ** 40, self.bucket, 'x'),
                       packets.request(1, 2 ** 41, self.bucket, 'y', options=packets.STEAL)):
            with self.subTest(len(packet)):
                before = self.descriptors_at_rest()
                child = flood([self.sock], packet, without=[self.raw])
                try:
                    self.sock.close()
                    self.raw.close()
                    self.other.wait_for(lambda: self.other.granted(self.waiting), PATIENCE / 2,
                                        what='grant')
                    self.assertEqual(self.other.query(self.bucket),
                                     ([('x', 'exclusive', self.other.name)], []))
                    self.wait_descriptors(before - 1)
                    # It has read EOF from the socket, and has exited.
                    self.assertEqual(os.waitpid(child, 0)[1], 0)
                    child = 0
                finally:
                    if child:
                        os.kill(child, signal.SIGKILL)
                        os.waitpid(child, 0)
                self.other.release(self.waiting, self.bucket)
                self.raw = self.raw_client(descriptors=True)
                self.sock = self.lock_socket(self.raw)
                self.sock.request('x', self.bucket)
                self.waiting, _ = self.other.request('x', self.bucket)

    def test_end_and_malformed_packets(self):
        """END by one process does not affect packets of the other; a malformed packet does."""
        child = flood([self.sock], SYNC, without=[self.raw])
        self.sock.socket.send(packets.message(packets.END, 5))
        self.other.wait_for(lambda: self.other.granted(self.waiting), what='grant')
        self.sock.socket.send(SYNC[:8])
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assert_nothing_live().sync()
