# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Alternatives to locks over D-Bus, each started for the measurement only: on a unix socket or the
loopback interface, in a private directory, and ended afterwards.

A peer is a class with `title`, `optional` (only with --peers), missing(settings), which returns why it
is not available or None, and __enter__ and __exit__.
"""

import shutil
import subprocess
import tempfile

from buses import end, spawn

STARTING = 60


def available(settings, stack, key):
    """A peer that runs until the stack ends, or None."""
    # The modules of the peers need this one.
    from peers import chromium, redis  # pylint: disable=import-outside-toplevel
    peer_class = {'chromium': chromium.Chromium, 'redis': redis.Redis}[key]
    if peer_class.optional and not settings.peers:
        return None
    missing = peer_class.missing(settings)
    if missing:
        settings.skip(f'{peer_class.title}: {missing}')
        return None
    try:
        return stack.enter_context(peer_class())
    except (OSError, RuntimeError, TimeoutError) as error:
        settings.fail(f'{peer_class.title} does not start: {error}')
        return None


class Server:
    """A process with a separate directory. Subclasses define which, and when it is ready."""

    optional = True

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix='weblocks-bench-')
        self.process = None

    def start(self, argv, **options):
        self.process = spawn(argv, cwd=self.directory, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)

    def check(self):
        if self.process.poll() is not None:
            raise RuntimeError(f'{self.process.args[0]} ended with {self.process.returncode}')

    def begin(self):
        raise NotImplementedError

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception):
        end(self.process)
        shutil.rmtree(self.directory, ignore_errors=True)
