# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Headless Chromium with a page that executes commands.

The page comes from a server on the loopback interface; it requests commands from the server, and
returns their duration by its own clock. Nothing else is accessed: no name is resolved."""

import http.server
import json
import os
import pathlib
import queue
import shutil
import threading

from buses import end, wait_exit
from peers import Server

PATIENCE = 300
SCRIPT = pathlib.Path(__file__).with_name('chromium.js')
PAGE = b'<!DOCTYPE html><title>bench</title><script src="/bench.js"></script>'
NOTHING_BUT_LOOPBACK = (
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--disable-default-apps', '--no-first-run', '--no-pings', '--disable-breakpad',
)


class PageServer(http.server.ThreadingHTTPServer):
    """The commands for the page, and its results."""

    daemon_threads = True

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Handler)
        self.commands = queue.Queue()
        self.answers = queue.Queue()

    def handle_error(self, request, client_address):
        """The page disconnected during a request, as it does at the end."""


class Handler(http.server.BaseHTTPRequestHandler):
    """A request of the page."""

    protocol_version = 'HTTP/1.1'

    def _send(self, body, kind):
        self.send_response(200)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body)))
        self.send_header('Cache-Control', 'no-store')
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):  # pylint: disable=invalid-name
        if self.path == '/next':
            try:
                command = self.server.commands.get(timeout=PATIENCE)
            except queue.Empty:
                command = None
            self._send(json.dumps(command).encode(), 'application/json')
        elif self.path == '/bench.js':
            self._send(SCRIPT.read_bytes(), 'text/javascript')
        else:
            self._send(PAGE, 'text/html')

    def do_POST(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.server.answers.put(json.loads(body))
        self._send(b'null', 'application/json')

    def log_message(self, *_arguments):  # pylint: disable=arguments-differ
        pass


class Chromium(Server):
    title = 'Chromium'

    def __init__(self):
        super().__init__()
        self.server = None

    @staticmethod
    def missing(_settings):
        return None if shutil.which('chromium') else 'chromium is not installed'

    def begin(self):
        self.server = PageServer()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        # Its sandbox does not work for root.
        as_root = ['--no-sandbox'] if os.geteuid() == 0 else []
        self.start(['chromium', '--headless=new', '--disable-gpu', *as_root, *NOTHING_BUT_LOOPBACK,
                    f'--user-data-dir={self.directory}/profile',
                    f'http://127.0.0.1:{self.server.server_port}/'],
                   env={**os.environ, 'HOME': self.directory})
        self.run_command('pairs', 10)

    def run_command(self, operation, *arguments):
        """The page's result: microseconds for each."""
        self.server.commands.put({'operation': operation, 'arguments': arguments})
        try:
            answer = self.server.answers.get(timeout=PATIENCE)
        except queue.Empty:
            raise TimeoutError(f'{operation}: no result of the page') from None
        if 'error' in answer:
            raise RuntimeError(f'{operation}: {answer["error"]}')
        return answer['value']

    def __exit__(self, *exception):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                wait_exit(self.process)
            except TimeoutError:
                end(self.process)
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
        super().__exit__(*exception)
