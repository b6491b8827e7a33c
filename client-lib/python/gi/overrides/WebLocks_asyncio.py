# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Awaiting the calls of libweblocks on asyncio.

The library uses a GMainContext, which asyncio does not run. A Pump makes an asyncio loop run one:
the descriptors that the context polls are added to an epoll descriptor, which the loop watches; the
context's next time-out is a timer of the loop. So no additional thread is needed, and no polling
while the context belongs to the loop's thread. A loop gets its pump with the first awaited call, for
the thread-default main context; the pump exists as long as the loop.

A pump keeps the context acquired, as g_main_loop_run() would, so that other threads wake it when
they add work to the context. GLib does not do so for work from the owner's own thread, since that
thread would be dispatching; therefore calls of the library notify the pump (kick()).

Loops that run the same context themselves (those of gi.events and gbulb) need no pump; for these
the pump does nothing.
"""

import asyncio
import ctypes
import select
import threading

from gi.overrides.WebLocks_calls import pumps
from gi.repository import Gio, GLib, GObject

# How often to check whether another thread still owns the context, in seconds, while a call is
# awaited; GLib has no notification for that.
OWNER_INTERVAL = 0.05
# A timer that is due that much later than necessary is not replaced, in seconds. GLib rounds its
# time-outs up to milliseconds.
TIMER_SLACK = 0.002
# How long the end of a loop waits, in seconds, until cancelled requests are undone.
FAREWELL = 1.0


# Not the class, whose constructor in Python takes several times as long.
new_cancellable = Gio.Cancellable.new


class PollFD(ctypes.Structure):
    _fields_ = [('fd', ctypes.c_int), ('events', ctypes.c_ushort), ('revents', ctypes.c_ushort)]


def declare(library, name, result, *arguments):
    function = library[name]
    function.restype, function.argtypes = result, arguments
    return function


class MainContext:
    """The thread-default GMainContext, by ctypes, since PyGObject can't call its query()."""

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
        """Whether a source of this context is being dispatched in this thread."""
        source = self._current()
        return source is not None and self._get_context(source) == self._pointer

    def iterate(self):
        """Dispatches ready sources; never waits."""
        self._iterate(self._pointer, 0)

    def query(self):
        """Returns what to poll: {descriptor: events of poll()}, and a time-out in ms or -1."""
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
            # Modified each time, since a closed descriptor is removed from an epoll instance, and
            # its number may be reused. POLLIN etc. have the same values as EPOLLIN etc.
            try:
                self._epoll.modify(fd, mask)
            except FileNotFoundError:
                self._epoll.register(fd, mask)
            except OSError:
                # Closed, which a GSource should not do; poll() ignores it, too.
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
    """Runs the thread's main context from an asyncio loop. Only done() is thread-safe."""

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
        """A loop that ends closes its asynchronous generators, which runs the code below."""
        try:
            yield
        finally:
            # The loop is not running if it was closed without asyncio.run().
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
        """Schedules a step: the context may have ready sources."""
        if self._poller is not None and not self._is_kicked and not self.loop.is_closed():
            self._is_kicked = True
            self.loop.call_soon(self._step_kicked)

    def _step_kicked(self):
        self._is_kicked = False
        if self._poller is not None and self._has_context:
            self._watch()
        else:
            self._step()

    def _step_timed(self):
        self._timer = None
        self._step()

    def _step_in(self, seconds):
        """Keeps an earlier timer, since a step for nothing is cheaper than a timer for each call."""
        due = self.loop.time() + seconds
        if self._timer is not None:
            if self._timer.when() <= due + TIMER_SLACK:
                return
            self._timer.cancel()
        self._timer = self.loop.call_at(due, self._step_timed)

    def _step(self):
        if self._poller is None:
            return
        if not self._has_context:
            self._has_context = self._context.acquire()
        if not self._has_context:
            # Another thread owns the context and runs it.
            if self.awaited > 0:
                self._step_in(OWNER_INTERVAL)
            return
        # Iterate once only, so that a busy context does not starve the loop's other work. What it has
        # completed continues first, and often calls the library again.
        self._context.iterate()
        self.kick()

    def _watch(self):
        events, timeout_ms = self._context.query()
        self._poller.watch(events)
        if timeout_ms == 0:
            self.loop.call_soon(self._step)
        elif timeout_ms > 0:
            self._step_in(timeout_ms / 1000)

    # -- calls

    def done(self, settle):
        """Runs `settle` in the loop's thread or, if the loop is closed, in this thread."""
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
        """Waits for the undoing of cancelled calls, since the context is not run afterwards."""
        if self.late > 0:
            self._farewell = self.loop.create_future()
            await self._farewell
        # The first reply arrives after the answers to the requests, which the library may still
        # have to abort or release; the second one after the answers to these.
        for manager in 2 * list(self.undone):
            try:
                await manager.query()
            except GLib.Error:
                pass


class Call:
    """A call of the library and the future for its result."""

    def __init__(self, pump, finish, undo):
        self.pump = pump
        self.finish = finish
        self.undo = undo
        self.future = pump.loop.create_future()
        self.is_settled = False
        self.is_late = False  # no task waits any more
        self.value = None
        self.error = None

    def on_ready(self, _source, result, *_data):
        try:
            self.value = self.finish(result)
        except BaseException as error:
            # The error is raised in the awaiting coroutine. The traceback is dropped, since it
            # would keep this frame alive, whose result may be a lock granted after a cancellation.
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
        """Drops the result, whether it has arrived or not."""
        if self.is_settled:
            self._undo()
        else:
            self.is_late = True
            self.pump.late += 1
            if cancellable is not None:
                cancellable.cancel()


class LinkedCancellable:
    """A context manager for a new cancellable, which is cancelled together with the caller's."""

    def __init__(self, cancellable):
        self.parent = cancellable

    def __enter__(self):
        self.child = new_cancellable()
        # Gio.Cancellable.connect() differs from that of all other objects.
        self.handler = GObject.Object.connect(self.parent, 'cancelled',
                                              lambda _parent: self.child.cancel())
        if self.parent.is_cancelled():
            self.child.cancel()
        return self.child

    def __exit__(self, *_exception):
        GObject.Object.disconnect(self.parent, self.handler)


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

    If the task is cancelled meanwhile, the call is cancelled if possible; if it has a result
    nevertheless, that is passed to `undo`. `undo_with` is the manager to query to find out when
    this has been done.
    """
    pump = await running_pump()
    this = Call(pump, finish, undo)
    if not can_cancel:
        return await finish_call(this, start, cancellable, None, undo_with)
    if cancellable is None:
        own = new_cancellable()
        return await finish_call(this, start, own, own, undo_with)
    with LinkedCancellable(cancellable) as linked:
        return await finish_call(this, start, linked, linked, undo_with)


async def finish_call(this, start, cancellable, to_cancel, undo_with):
    start(cancellable, this.on_ready)
    this.pump.awaited += 1
    try:
        await this.future
    except BaseException:
        # The task was cancelled, or the loop was closed and the coroutine destroyed.
        this.give_up(to_cancel)
        if undo_with is not None:
            this.pump.undone.add(undo_with)
        raise
    if this.error is None:
        return this.value
    try:
        raise this.error
    finally:
        # Break a reference cycle: the error's traceback refers to this frame.
        this.error = None
