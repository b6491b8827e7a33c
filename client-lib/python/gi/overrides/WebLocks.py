# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""PyGObject overrides of libweblocks: locks as context managers, coroutines, attributes, lists.

README.md beside the package shows how to use it. Support for asyncio is in WebLocks_asyncio.py, which
is only imported when a coroutine is used.
"""

import functools
import math
import threading

from gi.module import get_introspection_module
from gi.overrides import override
from gi.overrides.WebLocks_calls import pumps
from gi.repository import GLib

WebLocks = get_introspection_module('WebLocks')
__all__ = []

TIMEOUT_MS_MAX = 2**32 - 1

@functools.cache
def call_on_asyncio():
    from gi.overrides import WebLocks_asyncio
    return WebLocks_asyncio.call


def on_asyncio(start, finish, **options):
    """A coroutine that calls `start`, awaits its callback, and returns the result of `finish`."""
    return call_on_asyncio()(start, finish, **options)


# ---- options

def mode_from(mode):
    """Converts a mode, which may be a string of the standard."""
    if isinstance(mode, WebLocks.Mode):
        return mode
    modes = {'exclusive': WebLocks.Mode.EXCLUSIVE, 'shared': WebLocks.Mode.SHARED}
    if mode not in modes:
        raise ValueError(f"mode is 'exclusive' or 'shared', not {mode!r}")
    return modes[mode]


def milliseconds(timeout):
    """Converts seconds, or None, to milliseconds; 0 means no time-out."""
    if timeout is None:
        return 0
    if math.isnan(timeout) or timeout < 0:
        raise ValueError(f'timeout is a number of seconds or None, not {timeout!r}')
    return max(1, math.ceil(min(timeout * 1000, TIMEOUT_MS_MAX)))


def options_from(mode, timeout, why, steal, if_available, slots, command):
    """Converts to the options of the library; None: the defaults."""
    if (mode == 'exclusive' and timeout is None and why is None and steal is False and
            if_available is False and slots == 1 and command is None):
        return None
    return WebLocks.Options(mode=mode_from(mode), timeout=milliseconds(timeout), why=why,
                            steal=steal, if_available=if_available, slots=slots, command=command)


# ---- results after a cancellation

def release_lock(lock):
    """Releases a lock that was granted after the caller stopped waiting."""
    if lock is not None:
        lock.release()


def release_locks(locks):
    for lock in locks:
        release_lock(lock)


# ---- lock()

def kick_pumps():
    """A call may have added work to the main context that an asyncio loop runs in this thread."""
    for pump in pumps.get(threading.get_ident(), ()):
        pump.kick()


# The functions themselves, without the wrappers that the classes below have.
new_request = WebLocks.Request.new
wait_for_request = WebLocks.Request.wait
finish_request = WebLocks.Request.finish
get_lock_error = WebLocks.Lock.get_error
release_without_waiting = WebLocks.Lock.release
prepare = WebLocks.Manager.prepare
try_enter = WebLocks.Handle.try_enter
has_entered = WebLocks.Handle.get_entered
request_of_handle = WebLocks.Handle.request
take = WebLocks.Handle.take
get_loss = WebLocks.Handle.get_error
leave = WebLocks.Handle.leave


def request_sync(manager, name, options, cancellable):
    """Like Manager.request_sync(), but signal handlers run while it waits.

    Python runs them between two of its instructions, in the main thread. The wait is one, which a
    signal ends. If the handler raises an exception, the request is dropped, which aborts it. That
    the wait has ended is no exception: PyGObject would run the handler while it makes one.
    """
    request = new_request(manager, name, options, cancellable)
    try:
        while not wait_for_request(request):
            pass
        return finish_request(request)
    finally:
        # The traceback of an exception refers to this frame.
        request = None
        if pumps:
            kick_pumps()


class LockScope:
    """The context manager that Manager.lock() returns."""

    __slots__ = '_manager', '_request', '_is_entered', '_lock'

    def __init__(self, manager, name, options, cancellable):
        self._manager = manager
        self._request = name, options, cancellable
        self._is_entered = False
        self._lock = None

    def _enter(self):
        if self._is_entered:
            raise RuntimeError('entered twice; a lock is not reentrant')
        self._is_entered = True

    def _leave(self):
        lock, self._lock, self._is_entered = self._lock, None, False
        return lock

    def __enter__(self):
        self._enter()
        try:
            self._lock = lock = request_sync(self._manager, *self._request)
        except BaseException:
            self._leave()
            raise
        return lock

    def __exit__(self, _type, exception, _traceback):
        lock = self._leave()
        if lock is None:
            return
        # Neither of these waits: a `with` can be left whatever the service does.
        loss = get_lock_error(lock)
        release_without_waiting(lock)
        if pumps:
            kick_pumps()
        if loss is not None and exception is None:
            raise loss

    async def __aenter__(self):
        self._enter()
        try:
            self._lock = await request_on_asyncio(self._manager, *self._request)
        except BaseException:
            self._leave()
            raise
        return self._lock

    async def __aexit__(self, *exception):
        self.__exit__(*exception)


def request_on_asyncio(manager, name, options, cancellable):
    return on_asyncio(functools.partial(manager.request_async, name, options),
                      manager.request_finish, cancellable=cancellable,
                      undo=release_lock, undo_with=manager)


# ---- the classes

def attribute(name):
    """A GObject property as an attribute."""
    return property(lambda self: getattr(self.props, name), doc=f'The property {name}.')


# Functions without a callback that may add work to the main context.
WITHOUT_CALLBACK = ('close', 'init', 'release', 'get_error', 'get_held')


def tells_pumps(function):
    """Wraps a function that may add work to the main context: asyncio checks that afterwards."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        finally:
            if pumps:
                kick_pumps()
    return call


def exported(class_):
    """Replaces an introspected class by its override."""
    base = class_.__base__
    for name in dir(base):
        if name.endswith(('_async', '_sync')) or name in WITHOUT_CALLBACK:
            function = tells_pumps(getattr(base, name))
            setattr(class_, name, staticmethod(function) if name.startswith('new') else function)
    __all__.append(class_.__name__)
    return override(class_)


@exported
class Agent(WebLocks.Agent):
    client_id = attribute('client_id')
    connected = attribute('connected')
    service_running = attribute('service_running')

    def __repr__(self):
        return f"<WebLocks.Agent {self.client_id or 'not connected'}>"

    async def list_observable(self):
        """Awaits a list of Managers, also of buckets of others that one may look at."""
        return await on_asyncio(self.list_observable_async, self.list_observable_finish)


@exported
class Manager(WebLocks.Manager):
    agent = attribute('agent')
    bucket = attribute('bucket')

    def __repr__(self):
        return f'<WebLocks.Manager of bucket {self.bucket!r}>'

    def prepare(self, name, options=None, *, timeout=None, why=None, command=None):
        """Returns a Handle: for `with` again and again. This sends nothing."""
        if options is None:
            options = options_from('exclusive', timeout, why, False, False, 1, command)
        return prepare(self, name, options)

    def lock(self, name, *, mode='exclusive', timeout=None, why=None, steal=False,
             if_available=False, slots=1, command=None, cancellable=None):
        """For `with` and `async with`; yields the Lock, or None if it was not available."""
        options = options_from(mode, timeout, why, steal, if_available, slots, command)
        return LockScope(self, name, options, cancellable)

    async def request(self, name, *, mode='exclusive', timeout=None, why=None, steal=False,
                      if_available=False, slots=1, command=None, cancellable=None):
        """Returns the Lock, or None if it was not available. The caller has to release it."""
        options = options_from(mode, timeout, why, steal, if_available, slots, command)
        return await request_on_asyncio(self, name, options, cancellable)

    async def request_many(self, names, *, mode='exclusive', timeout=None, why=None, steal=False,
                           if_available=False, slots=1, command=None, cancellable=None):
        """Returns a list of Locks sorted by name, or None if one was not available."""
        names = list(names)
        options = options_from(mode, timeout, why, steal, if_available, slots, command)
        locks = await on_asyncio(functools.partial(self.request_many_async, names, options),
                                 self.request_many_finish, cancellable=cancellable,
                                 undo=release_locks, undo_with=self)
        # PyGObject converts NULL to an empty list.
        return locks if locks or not names else None

    async def query(self):
        return await on_asyncio(self.query_async, self.query_finish)

    async def inspect(self, name=None):
        return await on_asyncio(functools.partial(self.inspect_async, name), self.inspect_finish)

    async def break_locks(self, name, info=None):
        """Ends the locks of that name, or the one of a LockInfo; awaits how many."""
        return await on_asyncio(functools.partial(self.break_async, name, info),
                                self.break_finish)


@exported
class Lock(WebLocks.Lock):
    name = attribute('name')
    mode = attribute('mode')
    token = attribute('token')
    held = property(lambda self: self.get_held(), doc='Whether it is held.')
    wanted = property(lambda self: self.get_wanted(), doc='Whether somebody waits for it.')

    def __repr__(self):
        state = 'held' if self.held else 'not held'
        return f'<WebLocks.Lock {self.name!r} {self.mode.value_nick}, {state}>'

    async def release_and_wait(self):
        """Releases the lock and awaits the answer; release() doesn't wait."""
        await on_asyncio(self.release_async, self.release_finish, can_cancel=False)

    async def downgrade(self):
        """Makes an exclusive lock shared, without a gap, and awaits the answer."""
        await on_asyncio(self.downgrade_async, self.downgrade_finish, can_cancel=False)


@exported
class Handle(WebLocks.Handle):
    name = attribute('name')
    token = property(lambda self: self.get_token(), doc='The fencing token of the last enter.')
    held = property(lambda self: self.get_held(), doc='Whether it is held.')

    def __repr__(self):
        return f"<WebLocks.Handle {self.name!r}, {'held' if self.held else 'not held'}>"

    def __enter__(self):
        entered_before = None
        try:
            if try_enter(self):
                return self
            entered_before = has_entered(self)
            request = request_of_handle(self, None)
            while not wait_for_request(request):
                pass
            take(self, request)
            if pumps:
                kick_pumps()
            return self
        except BaseException:
            # A signal handler may have raised it after the handle was entered.
            request = None
            if not entered_before and has_entered(self):
                leave(self)
            if pumps:
                kick_pumps()
            raise

    # A function of C, since a signal handler could raise an exception before the first instruction
    # of one of Python.
    __exit__ = WebLocks.Handle.exit

    async def __aenter__(self):
        await on_asyncio(self.enter_async, self.enter_finish, undo=lambda _entered: leave(self),
                         undo_with=self.get_manager())
        return self

    async def __aexit__(self, _type, exception, _traceback):
        loss = get_loss(self)
        leave(self)
        if pumps:
            kick_pumps()
        if loss is not None and exception is None:
            raise loss


@exported
class LockInfo(WebLocks.LockInfo):
    name = attribute('name')
    mode = attribute('mode')
    held = attribute('held')
    client_id = attribute('client_id')
    token = attribute('token')
    why = attribute('why')
    pid = attribute('pid')
    process = attribute('process')
    who = attribute('who')
    who_pid = attribute('who_pid')
    since = attribute('since')
    position = attribute('position')
    blocked_by = attribute('blocked_by')
    slots = attribute('slots')
    manager = attribute('manager')

    def __repr__(self):
        state = 'held' if self.held else 'pending'
        return (f'<WebLocks.LockInfo {self.name!r} {self.mode.value_nick}, {state} '
                f'by {self.client_id}>')


@exported
class Snapshot(WebLocks.Snapshot):
    held = property(lambda self: list(self.get_held()), doc='The list of held locks.')
    pending = property(lambda self: list(self.get_pending()), doc='The list of pending locks.')

    def __repr__(self):
        return f'<WebLocks.Snapshot held={self.held} pending={self.pending}>'


@exported
class Monitor(WebLocks.Monitor):
    manager = attribute('manager')
    # These remain list models, which emit items-changed.
    held = attribute('held')
    pending = attribute('pending')

    @classmethod
    async def new(cls, manager):
        return await on_asyncio(functools.partial(cls.new_async, manager), cls.new_finish)

    @classmethod
    async def new_all(cls, agent):
        """Awaits a Monitor of all buckets that the agent may look at."""
        return await on_asyncio(functools.partial(cls.new_all_async, agent), cls.new_all_finish)
