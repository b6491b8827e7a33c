# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What blocking and awaited calls of libweblocks have in common."""

# For each thread, the asyncio loops that run a main context. See WebLocks_asyncio.py.
pumps = {}
