# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs one storm: starts, stops and kills processes, and pauses all of them from time to time."""

import collections
import contextlib
import heapq
import os
import random
import selectors
import shutil
import signal
import subprocess
import time

from buses import FACTOR, Bus, can_be_others, spawn
from lateness import Lateness
from observer import Observer
from processes import OTHER_UID, ClientProcess, Killer, ServiceProcess, WatcherProcess
from smallfs import SmallFileSystem
from history import Kind, Left, Log, now, unique_of

# Time limit of the service, counting only time in which there is a service, the client
# runs, and the machine does: see lateness.py.
PATIENCE = 3.0 * FACTOR
# Time limit of everything else, also on a busy machine.
TIME_LIMIT = 30.0 * FACTOR
# A watcher that is stopped for this long misses signals.
WATCHER_STOP = 0.5
MEMORY_ALLOWANCE_KIB = 8192
# Size of the file system that is filled.
SMALL_BYTES = 2 << 20


class StormError(Exception):
    """The storm itself failed: it shows nothing about the service."""


class Storm:
    """One round. `options` are those of storm.py; `directory` is for the files."""

    def __init__(self, options, directory, seed):
        self.options = options
        self.directory = directory
        self.seed = seed
        self.random = random.Random(seed)
        self.log = Log(os.path.join(directory, 'supervisor.log'), seed)
        self.noise = open(os.path.join(directory, 'noise.txt'), 'ab')
        self.uids = [os.getuid()]
        if options.two_users and can_be_others():
            self.uids.append(OTHER_UID)
            os.chmod(directory, 0o777)
        self.bus = None
        self.bus_number = 0
        self.observer = None
        self.watcher = None
        self.watched = collections.Counter()
        self.watcher_answer = 0
        self.differences = []
        self.service = None
        self.environment = None
        self.small = self.make_small_file_system() if options.full else None
        self.starts_while_full = 0
        self.clients = {}
        self.dead_names = set()
        self.count = 0
        self.pauses = 0
        self.is_paused = False
        self.is_ending = False
        self.early_deaths = 0
        self.can_trace = True
        self.baseline = None
        self.selector = selectors.DefaultSelector()
        self.timers = []
        self.timer_count = 0
        self.started = 0.0
        self.lateness = Lateness()

    def make_small_file_system(self):
        path = os.path.join(self.directory, 'small')
        os.mkdir(path)
        return SmallFileSystem(path, SMALL_BYTES)

    # ---- paths and users

    def program(self, name):
        return os.path.join(self.options.build, 'tests', 'storm', name)

    def is_other(self, slot):
        return len(self.uids) > 1 and slot % 4 == 3

    # ---- the loop

    def at(self, seconds, function):
        self.timer_count += 1
        heapq.heappush(self.timers, (time.monotonic() + seconds, self.timer_count, function))

    def every(self, rate, function):
        """Whether to act now: at random, so many times a second."""
        def again():
            if self.is_ending:
                return
            if not self.is_paused:
                function()
            self.at(self.random.expovariate(rate), again)
        if rate > 0:
            self.at(self.random.expovariate(rate), again)

    def step(self, timeout):
        """Handles events; waits for them up to this time."""
        if self.timers:
            timeout = min(timeout, self.timers[0][0] - time.monotonic())
        for key, _ in self.selector.select(max(0, timeout)):
            # One of these may have been ended by another's function.
            if key.fd in self.selector.get_map():
                key.data()
        # Other events may have arrived while a reply was awaited.
        self.on_owner()
        while self.timers and self.timers[0][0] <= time.monotonic():
            heapq.heappop(self.timers)[2]()

    def run_until(self, condition, timeout):
        begin = time.monotonic()
        while not condition():
            left = self.time_left(begin, timeout)
            if left <= 0:
                return False
            self.step(min(left, 0.05))
        return True

    def time_left(self, begin, timeout):
        """Runs until then, and longer if the machine stalled meanwhile."""
        return begin + timeout + self.lateness.since(begin) - time.monotonic()

    def patience(self):
        """The patience of the checker, on this machine."""
        return PATIENCE + self.lateness.worst(4 * PATIENCE)

    # ---- the service

    def start_service(self):
        if self.options.activation:
            return
        # A successor that starts before the bus has noticed the end could not own the name.
        self.observer.wait_no_owner(TIME_LIMIT)
        if self.small is not None and self.small.is_full():
            self.starts_while_full += 1
        process = self.spawn_service()
        self.adopt_service(ServiceProcess(process.pid, process))

    def spawn_service(self):
        return spawn([*self.service_command(), '--replace'], stdin=subprocess.DEVNULL, stdout=self.noise,
                     stderr=self.noise, env=self.environment)

    def keeps_state(self):
        return '--no-state' not in self.options.service_options

    def service_command(self):
        keeps = [f'--state-dir={self.state_directory}'] if self.keeps_state() else []
        return [self.options.service, f'--address={self.bus.address}', *keeps,
                *self.options.service_options]

    def adopt_service(self, service):
        self.service = service
        self.selector.register(service.pidfd, selectors.EVENT_READ, self.on_service_dead)

    def on_service_dead(self):
        self.bury_service()
        self.early_deaths += 1
        if self.early_deaths > 20:
            raise StormError(f'the service does not come up; see {self.noise.name}')
        self.start_service()

    def bury_service(self):
        self.selector.unregister(self.service.pidfd)
        self.service.reap(self)

    def on_owner(self):
        if self.observer.update() and self.observer.owner:
            self.early_deaths = 0
            self.log.note(Kind.SERVICE_READY)
        if self.observer.owner and (self.service is None or self.service.dead):
            self.adopt_owner()

    def adopt_owner(self):
        """The bus has started a service, or has not noticed yet that one has ended."""
        pid = self.observer.owner_pid()
        if pid is not None and (self.service is None or pid != self.service.pid):
            with contextlib.suppress(ProcessLookupError):
                self.adopt_service(ServiceProcess(pid))

    def has_service(self):
        return bool(self.observer.owner) and self.service is not None and not self.service.dead

    def kill_service_now(self, number=signal.SIGKILL):
        """Kills the service unless it has ended, and handles its end; does not start the next one."""
        if not self.service.dead:
            self.service.kill(self, number)
            self.expect_end()

    def expect_end(self):
        if not self.service.is_dead(TIME_LIMIT):
            raise StormError('the service survives its kill')
        self.bury_service()

    def replace_service(self):
        self.log.note(Kind.SERVICE_KILL)
        process = self.spawn_service()
        self.expect_end()
        self.adopt_service(ServiceProcess(process.pid, process))

    def wait_service(self):
        def is_there():
            if self.options.activation and not self.observer.owner:
                self.observer.ping()
            return self.has_service()
        if not self.run_until(is_there, TIME_LIMIT):
            raise StormError(f'no service within {TIME_LIMIT} s; see {self.noise.name}')

    def on_kill_service(self):
        if not self.has_service() or self.service.killer is not None:
            return
        if self.can_trace and self.random.random() < 0.5:
            calls = int(self.random.expovariate(1 / 40)) + 1
            self.service.killer = Killer(self, self.service.pid, calls, 200,
                                         self.random.random() < 0.6)
            service = self.service
            self.at(1.0, lambda: self.check_killer(service))
            return
        if self.random.random() < 0.3:
            self.kill_clients(self.random.randint(1, 3))
        how = self.random.choice(self.ways_to_end())
        self.watched[f'services_{how}'] += 1
        if how == 'replaced':
            self.replace_service()
            return
        self.kill_service_now(signal.SIGTERM if how == 'ended' else signal.SIGKILL)
        self.start_service()

    def ways_to_end(self):
        """Only without its state it may not do it by itself, and what replaces it needs room for the state."""
        if not self.keeps_state():
            return ['killed']
        return ['killed', 'ended'] if self.small or self.options.activation else ['killed', 'ended', 'replaced']

    def check_killer(self, service):
        """If tracing is not permitted, all kills are at random times."""
        killer = service.killer
        if killer is not None and not service.is_dead() and killer.process.poll() is not None:
            self.can_trace = killer.end()
            service.killer = None

    # ---- the clients

    def start_client(self, slot):
        self.count += 1
        client = ClientProcess(self, self.count, slot)
        self.clients[slot] = client
        self.selector.register(client.pidfd, selectors.EVENT_READ,
                               lambda: self.on_client_dead(client))
        self.selector.register(client.output, selectors.EVENT_READ,
                               lambda: self.on_client_said(client))

    def on_client_said(self, client):
        # It may have been found dead by another event of this turn: then its descriptor is closed, and
        # the number may be that of the next client, whose output it would wait for.
        if self.clients.get(client.slot) is not client:
            return
        client.read()
        if client.process.poll() is not None:
            self.on_client_dead(client)

    def on_client_dead(self, client):
        if self.clients.get(client.slot) is not client:
            return
        self.selector.unregister(client.pidfd)
        self.selector.unregister(client.output)
        name = client.reap()
        if name:
            self.dead_names.add(name)
        del self.clients[client.slot]
        if client.process.returncode not in (0, -signal.SIGKILL):
            raise StormError(f'client {client.number} ended with {client.process.returncode}; '
                             f'see {self.noise.name}')
        if not self.is_paused and not self.is_ending:
            self.start_client(client.slot)

    def choose_clients(self, count):
        running = [self.clients[slot] for slot in sorted(self.clients)]
        return self.random.sample(running, min(count, len(running)))

    def kill_clients(self, count):
        for client in self.choose_clients(count):
            client.kill()

    def on_kill_client(self):
        self.kill_clients(1)

    def on_stop_client(self):
        for client in self.choose_clients(1):
            if not client.stopped:
                client.stop()
                self.at(self.random.uniform(0.01, 0.5), client.resume_if_there)

    def resume_all(self):
        for client in self.clients.values():
            client.resume()

    def fill_slots(self):
        for slot in range(self.options.clients):
            if slot not in self.clients:
                self.start_client(slot)

    # ---- barriers

    @contextlib.contextmanager
    def paused(self):
        self.is_paused = True
        try:
            yield
        finally:
            self.is_paused = False
            self.fill_slots()

    def barrier(self):
        """Waits until bus and service have noticed all clients that have ended."""
        begin = now()
        self.observer.wait_gone(self.dead_names, TIME_LIMIT)
        if self.observer.ping():
            self.log.note(Kind.BARRIER, detail=begin)
            self.dead_names.clear()

    def look(self, quiet=False):
        """As long as the service is there."""
        self.barrier()
        count = self.observer.look(quiet)
        if quiet and count is not None and self.watcher is not None:
            self.check_watchers()
        return count

    # ---- the watchers

    def start_watcher(self):
        self.watcher = WatcherProcess(self)
        self.watcher_answer = 0
        self.selector.register(self.watcher.output, selectors.EVENT_READ, self.on_watcher_said)

    def end_watcher(self):
        if self.watcher is None:
            return
        self.selector.unregister(self.watcher.output)
        self.watcher.close()
        self.watcher = None

    def on_watcher_said(self):
        answers = self.watcher.read()
        if answers is None:
            raise StormError(f'the watchers have ended; see {self.noise.name}')
        for answer in answers:
            self.watcher_answer = answer.pop('number')
            self.differences += [f'{text} (seed {self.seed})' for text in answer.pop('differences')]
            self.watched.update(answer)

    def check_watchers(self):
        """The state that watchers have rebuilt from signals is what Query returns."""
        self.watcher.resume()
        number = self.watcher.check()
        if not self.run_until(lambda: self.watcher_answer == number, TIME_LIMIT):
            self.differences.append(f'expected the state of all buckets at check {number}, '
                                    f'actual: none within {TIME_LIMIT} s (seed {self.seed})')

    def on_stop_watcher(self):
        watcher = self.watcher

        def resume():
            if self.watcher is watcher and watcher.stopped:
                watcher.resume()
        if not watcher.stopped:
            watcher.stop()
            self.at(WATCHER_STOP, resume)

    # ---- pauses

    def settle(self):
        """Pauses all clients without operations in flight; records those that don't pause."""
        self.pauses += 1
        begin = now()
        for client in self.clients.values():
            client.send(f'pause {self.pauses}')

        def is_quiet():
            return all(client.settled == self.pauses for client in self.clients.values())
        if not self.run_until(is_quiet, 2 * PATIENCE):
            for client in self.clients.values():
                if client.settled != self.pauses:
                    self.log.note(Kind.UNSETTLED, subject=client.number, detail=begin)

    def on_quiet(self):
        """The clients' requests and the service's replies are the same, also after a kill."""
        with self.paused():
            self.drop_killer()
            self.resume_all()
            self.wait_service()
            self.settle()
            self.look(quiet=True)
            if self.options.steal:
                self.steal_and_exit()
            if self.options.kill_service > 0 and self.random.random() < 0.6:
                self.kill_service_now()
                self.start_service()
                self.wait_service()
                self.look(quiet=True)
                # By now the remaining clients have repeated their requests.
                self.run_until(lambda: False, 0.2)
                self.look(quiet=True)
            for client in self.clients.values():
                client.send('go')

    def steal_and_exit(self):
        """A client steals all locks that others hold and exits, and the bus has reported its end,
        before the service reads any of its calls."""
        self.observer.occupy()
        for client in self.choose_clients(1):
            client.send('steal and exit')
            self.run_until(lambda: client not in self.clients.values(), TIME_LIMIT)
        self.observer.rest()
        self.look()

    def drop_killer(self):
        """Waits for a kill at a system call that has been started."""
        if self.service is not None and not self.service.dead and self.service.killer is not None:
            self.run_until(lambda: self.service.dead or self.service.killer is None, 5.0)
            if not self.service.dead and self.service.killer is not None:
                self.service.killer.process.kill()
                self.service.killer.end()
                self.service.killer = None

    def on_freeze(self):
        """The service is killed and restarted while all clients are stopped; some clients are killed
        too, which the new service can find out only by asking the bus."""
        with self.paused():
            self.drop_killer()
            self.wait_service()
            for client in self.clients.values():
                if not client.stopped:
                    client.stop()
            self.kill_service_now()
            killed = self.choose_clients(self.random.choice((0, 1, 2, 3)))
            for client in killed:
                client.kill()
            self.run_until(lambda: not any(client in self.clients.values()
                                           for client in killed), TIME_LIMIT)
            self.observer.wait_gone(self.dead_names, TIME_LIMIT)
            self.start_service()
            self.wait_service()
            self.look()
            self.resume_all()

    # ---- the bus

    def start_bus(self):
        """Starts another bus, with new unique names; the state directory is the same."""
        self.bus_number += 1
        self.bus = Bus(self.options.bus)
        self.bus.start()
        self.environment = self.bus.environment()
        for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LSAN_OPTIONS'):
            if name in os.environ:
                self.environment[name] = os.environ[name]
        if self.options.activation:
            self.bus.add_service_file(' '.join(self.service_command()))
        self.log.note(Kind.BUS, detail=self.bus_number)
        self.observer = Observer(self.bus.address, self.log, self.uids)
        self.selector.register(self.observer, selectors.EVENT_READ, self.on_owner)
        if self.options.watch:
            self.start_watcher()
        self.service = None

    def stop_bus(self):
        self.end_watcher()
        self.selector.unregister(self.observer)
        self.observer.close()
        self.bus.stop()
        self.bus = None

    def on_restart_bus(self):
        """Kills bus, service and clients, and starts them again with the same state directory."""
        if self.is_ending:
            return
        if self.is_paused:
            # The pause waits for its clients, and would then wait for the new ones.
            self.at(0.05, self.on_restart_bus)
            return
        with self.paused():
            self.drop_killer()
            self.kill_service_now()
            for client in self.clients.values():
                client.kill()
            self.run_until(lambda: not self.clients, TIME_LIMIT)
            self.dead_names.clear()
            self.stop_bus()
            self.start_bus()
            # They connect before the service, so that some have the unique names of earlier clients.
            self.fill_slots()
            self.run_until(lambda: all(unique_of(client.path)
                                       for client in self.clients.values()), TIME_LIMIT)
            self.start_service()
            self.wait_service()
            self.look()

    # ---- the round

    @property
    def state_directory(self):
        return os.path.join(self.small.path if self.small else self.directory, 'state')

    def on_fill(self):
        """Another process uses up the file system for a while."""
        if not self.small.is_full():
            self.small.fill()
            # Otherwise a start meets a full file system by chance only.
            if self.starts_while_full == 0 and self.has_service() and self.service.killer is None:
                self.kill_service_now()
                self.start_service()
            self.at(self.random.uniform(0.05, 0.5), self.small.empty)

    def schedule(self):
        options = self.options
        self.every(options.kill_clients, self.on_kill_client)
        self.every(options.stop, self.on_stop_client)
        self.every(options.stop / 20 if options.watch else 0, self.on_stop_watcher)
        self.every(options.kill_service, self.on_kill_service)
        self.every(1 / options.quiet_every if options.quiet_every else 0, self.on_quiet)
        if not options.activation:
            self.every(options.kill_service / 2, self.on_freeze)
        self.every(options.full, self.on_fill)
        for i in range(options.restart_bus):
            self.at(options.round_seconds * (i + 1) / (options.restart_bus + 1),
                    self.on_restart_bus)

    def end_clients(self):
        """Ends some clients, and kills others."""
        self.is_ending = True
        self.log.note(Kind.STORM_END)
        for client in list(self.clients.values()):
            if client.number % 2:
                client.send('end')
            else:
                client.kill()
        if not self.run_until(lambda: not self.clients, TIME_LIMIT):
            raise StormError('clients do not end')

    def check_empty(self, what):
        """Checks that nothing is left within a second."""
        begin = time.monotonic()
        while True:
            left = self.time_left(begin, FACTOR)
            count = self.look()
            if count == 0 or left < 0:
                break
            self.run_until(lambda: False, 0.02)
        self.log.note(Kind.LEFT, name=what, detail=count or 0)

    def check_left(self):
        self.wait_service()
        self.observer.unload()
        self.check_empty(Left.ROWS)
        descriptors, memory = self.baseline
        self.run_until(lambda: self.service.descriptors() <= descriptors, FACTOR)
        self.log.note(Kind.LEFT, name=Left.DESCRIPTORS, detail=self.service.descriptors(),
                      token=descriptors)
        if FACTOR == 1:
            self.log.note(Kind.LEFT, name=Left.MEMORY, detail=self.service.memory_kib(),
                          token=memory + MEMORY_ALLOWANCE_KIB)
        self.kill_service_now()
        self.start_service()
        self.wait_service()
        self.check_empty(Left.STATE)

    def run(self):
        """Runs the round and keeps its files; raises StormError if they can't be used."""
        try:
            self.start_bus()
            self.start_service()
            self.wait_service()
            self.look()  # which is served when the state is restored
            self.baseline = self.service.descriptors(), self.service.memory_kib()
            self.fill_slots()
            self.schedule()
            deadline = time.monotonic() + self.options.round_seconds
            while time.monotonic() < deadline:
                self.step(min(0.05, deadline - time.monotonic()))
            self.is_ending = True
            self.on_last_quiet()
            self.end_clients()
            self.check_left()
        finally:
            self.close()

    def on_last_quiet(self):
        self.is_paused = True
        self.drop_killer()
        self.resume_all()
        self.wait_service()
        self.settle()
        self.look(quiet=True)
        self.end_watcher()

    def close(self):
        for client in list(self.clients.values()):
            client.process.kill()
            client.process.wait()
            client.shorten()
        if self.service is not None and not self.service.dead:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.service.pid, signal.SIGKILL)
            if self.service.process is not None:
                self.service.process.wait()
        if self.watcher is not None:
            self.watcher.close()
        if self.bus is not None:
            self.observer.close()
            self.bus.stop()
        if self.small is not None:
            self.small.close()
        self.selector.close()
        self.lateness.stop()
        self.log.close()
        self.noise.close()

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)
