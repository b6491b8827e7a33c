# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What blocking and awaited calls of libweblocks have in common."""

from gi.repository import Gio, GObject

# For each thread, the asyncio loop that runs a main context. See WebLocks_asyncio.py.
pumps = {}


class LinkedCancellable:
    """A context manager for a new cancellable, which is cancelled together with the caller's."""

    def __init__(self, cancellable):
        self.parent = cancellable

    def __enter__(self):
        self.child = Gio.Cancellable()
        if self.parent is not None:
            # Gio.Cancellable.connect() differs from that of all other objects.
            self.handler = GObject.Object.connect(self.parent, 'cancelled',
                                                  lambda _parent: self.child.cancel())
            if self.parent.is_cancelled():
                self.child.cancel()
        return self.child

    def __exit__(self, *_exception):
        if self.parent is not None:
            GObject.Object.disconnect(self.parent, self.handler)
