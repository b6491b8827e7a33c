# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The main functions with real processes, narrated.

    demo.py BUILD_DIR [--keep]

Starts a private bus with a service, then a few client processes (lineclient.py) that request the same lock.
Every line that it prints is what a process received from the service, and every duration was measured
between two processes on the machine's monotonic clock. With --keep the bus and the service stay, and the
commands to try are printed.
"""

import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from gi.repository import Gio, GLib

from harness import ProcessClient
from terminal import Terminal

HERE = pathlib.Path(__file__).resolve().parent
BUCKET = "/org/w3/WebLocks/bucket/default"
REPLY_MS = 10000

BUS_CONFIG = """<busconfig>
  <type>session</type>
  <listen>unix:path={directory}/bus</listen>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


class Person(ProcessClient):
    """A client process with a name for the output; its `name` is that on the bus."""

    def __init__(self, person, address):
        super().__init__(address, os.environ)
        self.person = person

    def expect_signal(self, signal):
        """Returns its last argument, a token or a reason, and when it came."""
        self.wait_for(lambda: self.events, what=signal)
        event = self.events.pop(0)
        if event.signal != signal:
            raise SystemExit(f"{self.person} got {event.signal} instead of {signal}")
        return event.args[-1], event.at

    def end(self):
        self.kill()
        self.process.wait()

    def leave(self):
        self.process.stdin.close()
        self.process.wait()

    def __str__(self):
        return f"{self.person:<6}(pid {self.pid})"


class Stage:
    """A private bus, the service on it, and a connection for queries."""

    def __init__(self, build_dir):
        self.directory = tempfile.mkdtemp(prefix="weblocks-demo-")
        config = pathlib.Path(self.directory, "bus.conf")
        config.write_text(BUS_CONFIG.format(directory=self.directory), encoding="utf-8")
        self.bus = subprocess.Popen(
            ["dbus-daemon", "--nofork", "--nopidfile", "--print-address", f"--config-file={config}"],
            stdout=subprocess.PIPE, text=True, start_new_session=True,
            stderr=pathlib.Path(self.directory, "bus.log").open("w", encoding="utf-8"))
        self.address = self.bus.stdout.readline().strip()
        self.connection = Gio.DBusConnection.new_for_address_sync(
            self.address,
            Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
            | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION,
            None, None)
        self.program = pathlib.Path(build_dir, "service", "weblocksd")
        self.service = self.start_service()
        self.weblocks = os.path.join(build_dir, "cli", "weblocks")
        self.library = os.path.join(build_dir, "client-lib")
        self.environment = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": self.address}
        self.people = []

    def start_service(self):
        """Starts the service, and waits for the owner of its name without polling."""
        loop = GLib.MainLoop()
        watch = Gio.bus_watch_name_on_connection(
            self.connection, "org.w3.WebLocks", Gio.BusNameWatcherFlags.NONE,
            lambda *_: loop.quit(), None)
        service = subprocess.Popen(
            [self.program, f"--address={self.address}", f"--state-dir={self.directory}/state"],
            start_new_session=True)
        GLib.timeout_add_seconds(10, loop.quit)
        loop.run()
        Gio.bus_unwatch_name(watch)
        return service

    def ask(self, path, interface, method, arguments=None):
        return self.connection.call_sync(
            "org.w3.WebLocks", path, interface, method, arguments, None,
            Gio.DBusCallFlags.NONE, REPLY_MS, None).unpack()

    def person(self, name):
        person = Person(name, self.address)
        self.people.append(person)
        return person

    def print_table(self):
        """Prints the reply to Inspect as a table."""
        rows = [("NAME", "MODE", "STATE", "POSITION", "CLIENT", "WHO", "WHY")]
        names = {person.name: str(person) for person in self.people}
        entries, _ = self.ask(BUCKET, "org.w3.WebLocks", "Inspect",
                              GLib.Variant("(a{sv})", ({},)))
        for entry in sorted(entries, key=lambda e: (e["name"], e["state"], e["position"])):
            rows.append((entry["name"], entry["mode"], entry["state"],
                         str(entry["position"] or "-"), entry["clientId"],
                         names.get(entry["clientId"], "?"), entry["why"] or "-"))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        print()
        for row in rows:
            print("     " + "  ".join(cell.ljust(width)
                                      for cell, width in zip(row, widths)).rstrip())

    def version(self):
        return self.ask("/org/w3/WebLocks", "org.freedesktop.DBus.Properties", "Get",
                        GLib.Variant("(ss)", ("org.w3.WebLocks.Service", "Version")))[0]

    def disconnect_clients(self):
        for person in self.people:
            if person.process.poll() is None:
                person.leave()

    def close(self):
        self.service.terminate()
        status = self.service.wait()
        self.bus.terminate()
        self.bus.wait()
        shutil.rmtree(self.directory)
        return status


def headline(text):
    print(f"\n  {text}\n")


def milliseconds(start, end):
    return f"{(end - start) * 1e3:.1f} ms"


def show_crash(stage):
    """Three processes request a lock, the holder is killed; returns the other two."""
    headline('1. Three processes request the lock "printer"')
    anna, ben, carla = (stage.person(name) for name in ("anna", "ben", "carla"))
    _, token = anna.request("printer", why="report.pdf")
    print(f"     {anna} requests it: granted immediately, fencing token {token}")
    for person, why in ((ben, "tickets.pdf"), (carla, "poster.pdf")):
        person.request("printer", why=why)
        print(f"     {person} requests it: pending")
    stage.print_table()

    headline("2. The holder crashes")
    killed_at = time.monotonic()
    anna.end()
    print(f"     {anna} is killed with SIGKILL while holding the lock")
    token, granted_at = ben.expect_signal("Granted")
    print(f"     {ben} gets the lock {milliseconds(killed_at, granted_at)} later, token {token}")
    stage.print_table()
    return ben, carla


def show_steal(stage, ben):
    headline("3. A process steals the lock")
    dora = stage.person("dora")
    lock, token = dora.steal("printer", why="fire-alarm.txt")
    print(f"     {dora} steals it: granted immediately, token {token}")
    reason, _ = ben.expect_signal("Released")
    print(f'     {ben} is notified that it has lost the lock; reason "{reason}"')
    stage.print_table()
    return dora, lock


def show_timeout(stage):
    headline("4. A request with a time-out of 300 ms")
    emil = stage.person("emil")
    asked_at = time.monotonic()
    emil.request("printer", why="memo.txt", timeout=300)
    reason, ended_at = emil.expect_signal("Released")
    print(f'     {emil} requests it: notified after {milliseconds(asked_at, ended_at)}; reason "{reason}"')


def show_order(stage, dora, lock, carla):
    headline("5. Carla has kept her place in the queue")
    released_at = time.monotonic()
    dora.release(lock)
    token, granted_at = carla.expect_signal("Granted")
    print(f"     {dora} releases it")
    print(f"     {carla} gets it {milliseconds(released_at, granted_at)} later, token {token}")
    stage.print_table()


def show_shared(stage):
    headline('6. Readers share the lock "album", a writer waits for them')
    readers = [stage.person(name) for name in ("finn", "gita")]
    for person in readers:
        person.request("album", why="looking", mode="shared")
        print(f"     {person} requests a shared lock: granted immediately")
    hugo = stage.person("hugo")
    hugo.request("album", why="sorting")
    print(f"     {hugo} requests an exclusive lock: pending")
    stage.print_table()
    return readers, hugo


def show_service_crash(stage, readers, hugo):
    headline("7. The service itself crashes")
    killed_at = time.monotonic()
    stage.service.kill()
    stage.service.wait()
    print(f"     weblocksd (pid {stage.service.pid}) is killed with SIGKILL")
    stage.service = stage.start_service()
    print(f"     weblocksd (pid {stage.service.pid}) serves "
          f"{milliseconds(killed_at, time.monotonic())} later, with all locks and requests:")
    stage.print_table()
    print()
    for person in readers:
        killed_at = time.monotonic()
        person.end()
        print(f"     {person} is killed, too")
    token, granted_at = hugo.expect_signal("Granted")
    print(f"     {hugo} gets it {milliseconds(killed_at, granted_at)} later, token {token}")


def show(stage, *arguments):
    """Prints a command line and its output on a terminal."""
    print(f"     $ weblocks {shlex.join(arguments)}")
    terminal = Terminal([stage.weblocks, *arguments], stage.environment)
    status = terminal.wait()
    terminal.end()
    for line in terminal.text.replace("\r", "\n").splitlines():
        # Lines of spaces, which overwrite others on a terminal, are not shown.
        if line.strip():
            print("       " + line)
    return status


def show_command(stage):
    headline('8. From a shell, with the command "weblocks"')
    script = 'echo "token $WEBLOCKS_TOKEN"; cat'
    print(f"     $ weblocks run --why nightly backup -- sh -c '{script}' &")
    with subprocess.Popen(
            [stage.weblocks, "run", "--why", "nightly", "backup", "--", "sh", "-c", script],
            env=stage.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE) as backup:
        print(f"       {backup.stdout.readline().rstrip()}")
        show(stage, "list", "backup")
        status = show(stage, "run", "-n", "backup", "true")
        print(f"       exit status {status}: another process holds the lock")
        status = show(stage, "run", "-w", "2.2", "backup", "true")
        print(f"       exit status {status}: not granted in time; on a terminal this is one line, and "
              "cleared at the end")
        backup.stdin.close()
        if backup.wait() != 0:
            raise SystemExit(f"the backup ended with {backup.returncode}")
    status = show(stage, "run", "-n", "backup", "true")
    print(f"       exit status {status}: the lock was free")


class Editor:
    """A process with a claim on a document."""

    def __init__(self, stage):
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "editor.py"), stage.address, "file:///home/anna/letter"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**stage.environment, "LD_LIBRARY_PATH": stage.library,
                 "GI_TYPELIB_PATH": stage.library})

    def expect(self, what):
        word, *rest = self.process.stdout.readline().split()
        if word != what:
            raise SystemExit(f"an editor printed {word!r} instead of {what!r}")
        return [float(number) if "." in number else int(number) for number in rest]

    def end(self):
        self.process.kill()
        self.process.wait()


def show_claim(stage):
    headline("9. Two editors have a document open, each with a claim: a WebLocksClaim of the library")
    first = Editor(stage)
    token, _ = first.expect("held")
    print(f"     editor (pid {first.process.pid}) may edit, token {token}")
    second = Editor(stage)
    holder, = second.expect("waiting")
    print(f"     editor (pid {second.process.pid}) is read-only: process {holder} edits")
    killed_at = time.monotonic()
    first.end()
    token, held_at = second.expect("held")
    print(f"     {first.process.pid} is killed, and {second.process.pid} may edit "
          f"{milliseconds(killed_at, held_at)} later, token {token}")
    second.end()


def print_lines_to_try(stage):
    call = f"busctl --user call org.w3.WebLocks {BUCKET} org.w3.WebLocks"
    headline("Bus and service keep running. In this or another shell:")
    print(f"     export DBUS_SESSION_BUS_ADDRESS='{stage.address}'")
    print(f"     {stage.weblocks} query")
    print(f"     {stage.weblocks} run backup -- sh -c 'echo mine; sleep 60' &")
    print(f"     {stage.weblocks} list backup")
    print(f"     {stage.weblocks} steal backup")
    print(f"     {call} Query")
    print(f"     {call} Request 'sa{{sv}}' printer 1 mode s shared")
    print(f"     {call} Steal 'sa{{sv}}' printer 0")
    print("     busctl --user introspect org.w3.WebLocks /org/w3/WebLocks")
    print("     busctl --user monitor org.w3.WebLocks")
    headline("To end them:")
    print(f"     kill {stage.service.pid} {stage.bus.pid}; rm -r {stage.directory}")


def run_demonstration(stage):
    print("\n  WebLocks for D-Bus\n")
    print(f"     bus      dbus-daemon, private, pid {stage.bus.pid}")
    print(f"     service  weblocksd {stage.version()}, pid {stage.service.pid}")
    ben, carla = show_crash(stage)
    dora, lock = show_steal(stage, ben)
    show_timeout(stage)
    show_order(stage, dora, lock, carla)
    readers, hugo = show_shared(stage)
    show_service_crash(stage, readers, hugo)
    show_command(stage)
    if os.path.exists(os.path.join(stage.library, "WebLocks-1.typelib")):
        show_claim(stage)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build_dir")
    parser.add_argument("--keep", action="store_true", help="leave bus and service running")
    arguments = parser.parse_args()

    stage = Stage(arguments.build_dir)
    keep = False
    try:
        run_demonstration(stage)
        keep = arguments.keep
    finally:
        stage.disconnect_clients()
        if keep:
            print_lines_to_try(stage)
        else:
            status = stage.close()
    if not keep:
        headline(f"The end: all clients have disconnected, and the service ended with status {status}.")
    return 0 if keep else status


if __name__ == "__main__":
    sys.exit(main())
