# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Awaiting the calls of libweblocks on asyncio.

The library works in a GMainContext, which asyncio knows nothing of. A Pump lets an asyncio loop
run one: the descriptors that the context would poll are put into an epoll descriptor, and that is
one more reader of the loop; the context's next time-out is a timer of the loop. So nothing polls,
and no thread is needed. Each loop gets its pump with the first call that is awaited on it, for the
main context that is thread-default there; the pump goes with the loop.

A pump has the context acquired all the time, as g_main_loop_run() would. Then other threads wake it
when they give the context work. GLib does not do so for work that comes from the owner's thread,
since that thread would be dispatching; so calls of the library tell the pump (kick()).

Loops that run that very context themselves (of gi.events, of gbulb) need no pump, and theirs does
nothing.
"""

import asyncio
import ctypes
import select
import threading

from gi.overrides.WebLocks import LinkedCancellable, pumps
from gi.repository import GLib

# While another thread has the context: how often to look if it still has. In seconds, and only
# while something is awaited; GLib does not tell.
OWNER_INTERVAL = 0.05
# How long the end of a loop waits for the service to take back what was cancelled.
FAREWELL = 1.0


class PollFD(ctypes.Structure):
    _fields_ = [('fd', ctypes.c_int), ('events', ctypes.c_ushort), ('revents', ctypes.c_ushort)]


def declare(library, name, result, *arguments):
    function = library[name]
    function.restype, function.argtypes = result, arguments
    return function


class MainContext:
    """The GMainContext that is thread-default. By ctypes: PyGObject can't call its query()."""

    glib = ctypes.CDLL('libglib-2.0.so.0')
    _get = declare(glib, 'g_main_context_ref_thread_default', ctypes.c_void_p)
    _unref = declare(glib, 'g_main_context_unref', None, ctypes.c_void_p)
    _acquire = declare(glib, 'g_main_context_acquire', ctypes.c_int, ctypes.c_void_p)
    _release = declare(glib, 'g_main_context_release', None, ctypes.c_void_p)
    _iterate = declare(glib, 'g_main_context_iteration', ctypes.c_int, ctypes.c_void_p,
                       ctypes.c_int)
    _prepare = declare(glib, 'g_main_context_prepare', ctypes.c_int, ctypes.c_void_p,
                       ctypes.POINTER(ctypes.c_int))
    _query = declare(glib, 'g_main_context_query', ctypes.c_int, ctypes.c_void_p, ctypes.c_int,
                     ctypes.POINTER(ctypes.c_int), ctypes.POINTER(PollFD), ctypes.c_int)

    _current = declare(glib, 'g_main_current_source', ctypes.c_void_p)
    _get_context = declare(glib, 'g_source_get_context', ctypes.c_void_p, ctypes.c_void_p)

    def __init__(self):
        self._pointer = self._get()
        self._fds = (PollFD * 8)()

    def __del__(self):
        self._unref(self._pointer)

    def acquire(self):
        return bool(self._acquire(self._pointer))

    def release(self):
        self._release(self._pointer)

    def is_dispatching(self):
        """Whether a source of it is what runs this thread right now."""
        source = self._current()
        return source is not None and self._get_context(source) == self._pointer

    def iterate(self):
        """Dispatches what is ready; never waits."""
        self._iterate(self._pointer, 0)

    def query(self):
        """What to wait for: {descriptor: events of poll()}, and milliseconds or -1."""
        priority, timeout = ctypes.c_int(), ctypes.c_int()
        self._prepare(self._pointer, priority)
        while True:
            count = self._query(self._pointer, priority, timeout, self._fds, len(self._fds))
            if count <= len(self._fds):
                break
            self._fds = (PollFD * count)()
        events = {}
        for poll_fd in self._fds[:count]:
            events[poll_fd.fd] = events.get(poll_fd.fd, 0) | poll_fd.events
        return events, timeout.value


class Poller:
    """An epoll descriptor that is readable when one of several descriptors is ready."""

    def __init__(self):
        self._epoll = select.epoll()
        self._fds = set()

    def fileno(self):
        return self._epoll.fileno()

    def close(self):
        self._epoll.close()

    def watch(self, events):
        for fd, mask in events.items():
            # Said again each time, since a closed descriptor leaves an epoll by itself, and
            # another may come under its number. POLLIN and the like are EPOLLIN and the like.
            try:
                self._epoll.modify(fd, mask)
            except FileNotFoundError:
                self._epoll.register(fd, mask)
            except OSError:
                # Closed, which a GSource should not do; poll() would not mind either.
                pass
        for fd in self._fds - events.keys():
            try:
                self._epoll.unregister(fd)
            except OSError:
                pass
        self._fds = set(events)


def is_glib_loop(loop):
    return any(class_.__module__.partition('.')[0] in ('gi', 'gbulb')
               for class_ in type(loop).__mro__)


class Pump:
    """Runs the thread's main context from an asyncio loop. Only done() is for other threads."""

    def __init__(self, loop):
        self.loop = loop
        self.thread = threading.get_ident()
        self.awaited = 0
        self.late = 0
        self.undone = set()
        self._farewell = None
        self._is_kicked = False
        self._timer = None
        self._has_context = False
        self._context = MainContext()
        self._poller = None
        if not (is_glib_loop(loop) and self._context.is_dispatching()):
            self._poller = Poller()
            loop.add_reader(self._poller.fileno(), self._step)
        pumps.setdefault(self.thread, []).append(self)
        self._guard = self._until_shutdown()

    async def start(self):
        await self._guard.__anext__()
        self.kick()

    async def _until_shutdown(self):
        """A loop that ends finishes its asynchronous generators: this is how we hear of it."""
        try:
            yield
        finally:
            # Not so for a loop that was just closed, which is nobody's example.
            if self.loop.is_running() and (self.late > 0 or self.undone):
                try:
                    await asyncio.wait_for(self._take_back(), FAREWELL)
                except asyncio.TimeoutError:
                    pass
            self.close()

    def close(self):
        if self._poller is not None:
            if not self.loop.is_closed():
                self.loop.remove_reader(self._poller.fileno())
            self._poller.close()
            self._poller = None
        if self._timer is not None:
            self._timer.cancel()
        if self._has_context:
            self._has_context = False
            self._context.release()
        remaining = [pump for pump in pumps.get(self.thread, ()) if pump is not self]
        if remaining:
            pumps[self.thread] = remaining
        else:
            pumps.pop(self.thread, None)

    # -- the context

    def kick(self):
        """The context may have something to do."""
        if self._poller is not None and not self._is_kicked and not self.loop.is_closed():
            self._is_kicked = True
            self.loop.call_soon(self._step_kicked)

    def _step_kicked(self):
        self._is_kicked = False
        self._step()

    def _step(self):
        if self._poller is None:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._has_context:
            self._has_context = self._context.acquire()
        if not self._has_context:
            # Who has it runs it for us.
            if self.awaited > 0:
                self._timer = self.loop.call_later(OWNER_INTERVAL, self._step)
            return
        # Once only, so that a busy context does not keep the loop's other work waiting.
        self._context.iterate()
        if self._poller is None:
            return
        events, timeout_ms = self._context.query()
        self._poller.watch(events)
        if timeout_ms == 0:
            self.kick()
        elif timeout_ms > 0:
            self._timer = self.loop.call_later(timeout_ms / 1000, self._step)

    # -- calls

    def done(self, settle):
        """Runs `settle` in the loop's thread; here, if the loop is no more."""
        if threading.get_ident() != self.thread:
            try:
                self.loop.call_soon_threadsafe(settle)
                return
            except RuntimeError:
                pass
        settle()

    def left(self, call):
        self.awaited -= 1
        if call.is_late:
            self.late -= 1
            if self.late == 0 and self._farewell is not None and not self._farewell.done():
                self._farewell.set_result(None)

    async def _take_back(self):
        """Waits until what was cancelled is undone: nobody runs the context after that."""
        if self.late > 0:
            self._farewell = self.loop.create_future()
            await self._farewell
        # The first answer comes after those of the requests, to which the library may still have to
        # say Abort or Release; the second after those.
        for manager in 2 * list(self.undone):
            try:
                await manager.query()
            except GLib.Error:
                pass


class Call:
    """One call of the library and the future that waits for it."""

    def __init__(self, pump, finish, undo):
        self.pump = pump
        self.finish = finish
        self.undo = undo
        self.future = pump.loop.create_future()
        self.is_settled = False
        self.is_late = False  # nobody waits any more
        self.value = None
        self.error = None

    def on_ready(self, _source, result, *_data):
        try:
            self.value = self.finish(result)
        except BaseException as error:
            # Whoever awaits it gets it: here nobody would. But not with this frame: its result may
            # have a lock that was granted and cancelled at once, and keep it held.
            self.error = error.with_traceback(None)
        self.pump.done(self._settle)

    def _settle(self):
        self.is_settled = True
        self.pump.left(self)
        if self.is_late or self.future.done() or self.pump.loop.is_closed():
            self._undo()
        else:
            self.future.set_result(None)

    def _undo(self):
        value, self.value = self.value, None
        if self.undo is not None and value is not None:
            self.undo(value)

    def give_up(self, cancellable):
        """The result is not wanted any more, whether it has come or not."""
        if self.is_settled:
            self._undo()
        else:
            self.is_late = True
            self.pump.late += 1
            if cancellable is not None:
                cancellable.cancel()


async def running_pump():
    loop = asyncio.get_running_loop()
    mine = pumps.get(threading.get_ident(), [])
    for pump in list(mine):
        if pump.loop is loop:
            return pump
        if pump.loop.is_closed():
            pump.close()
    pump = Pump(loop)
    await pump.start()
    return pump


async def call(start, finish, *, cancellable=None, can_cancel=True, undo=None, undo_with=None):
    """Calls `start(cancellable, callback)`, awaits the callback, returns `finish(result)`.

    If the task is cancelled meanwhile, so is the call, provided that it can be; and what it gives
    all the same, goes to `undo`. `undo_with` is the manager to ask when all of that is done.
    """
    pump = await running_pump()
    this = Call(pump, finish, undo)
    if not can_cancel:
        return await finish_call(this, start, cancellable, None, undo_with)
    with LinkedCancellable(cancellable) as linked:
        return await finish_call(this, start, linked, linked, undo_with)


async def finish_call(this, start, cancellable, to_cancel, undo_with):
    start(cancellable, this.on_ready)
    this.pump.awaited += 1
    try:
        await this.future
    except BaseException:
        # Cancelled; or the loop was closed, and the coroutine thrown away.
        this.give_up(to_cancel)
        if undo_with is not None:
            this.pump.undone.add(undo_with)
        raise
    if this.error is None:
        return this.value
    try:
        raise this.error
    finally:
        # The error has the traceback, which has this frame.
        this.error = None
