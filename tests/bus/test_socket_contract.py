# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Lock operations by socket have the same rules as by the bus: the cases of other files, with lock
operations by socket and all other calls by the bus."""

import test_limits
import test_signals
from harness import main


class BySocket:
    """For the place before the class whose cases these are."""

    def client(self):
        return self.socket_client()

    def raw_client(self, **kw):
        return self.socket_client(**kw)


class Lengths(BySocket, test_limits.Lengths):
    # It sends messages of D-Bus by hand.
    test_a_thousand_and_twenty_four_requests = None


class PerClient(BySocket, test_limits.PerClient):
    pass


class PerUid(BySocket, test_limits.PerUid):
    pass


class Owners(BySocket, test_signals.Owners):
    test_granted_comes_after_the_reply_with_the_id = None


class Order(BySocket, test_signals.Order):
    # What a monitor of the bus sees.
    test_victims_hear_before_the_thief_is_granted = None


if __name__ == '__main__':
    main()
