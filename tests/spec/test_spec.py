# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Every case of a file on an implementation: the service by calls on the bus, and the library, which uses packets.

    test_spec.py cases.txt Bus|Library[.CASE]...

A case is named as in the file, with `test_` and underscores: Bus.test_no_overtaking.
"""

import importlib
import sys

import spec_case
from harness import BusTestCase, diagnostic
from spec_runner import Late, Run

# How often a case is tried if the machine is too slow for its time-outs.
TRIES_MAX = 10


class SpecCase(BusTestCase):
    """The cases with the same limits have the same service."""

    service = False
    driver = None  # module and class
    limits = None

    def use_service(self, limits):
        cls = type(self)
        if limits == cls.limits:
            return
        if cls.daemon is not None:
            self.assertEqual(cls.daemon.stop(), 0)
        cls.limits = limits
        cls.daemon = self.start_service('--no-state', *(f'--limit={limit}' for limit in limits))

    def check(self, case):
        module, name = self.driver
        make_driver = getattr(importlib.import_module(module), name)
        reason = make_driver.get_skip_reason(case)
        if reason is not None:
            self.skipTest(reason)
        self.use_service(case.limits)
        for tries_left in reversed(range(TRIES_MAX)):
            driver = make_driver(self)
            try:
                Run(driver, case).run()
                return
            except Late as late:
                if not tries_left:
                    raise
                diagnostic(f'{late}; too late, so the case is repeated')
            finally:
                driver.end()

    @classmethod
    def add_case(cls, case):
        def test(self):
            self.check(case)
        setattr(cls, 'test_' + case.name.replace('-', '_'), test)


class Bus(SpecCase):
    driver = 'drivers', 'BusDriver'


class Library(SpecCase):
    driver = 'driver_library', 'LibraryDriver'


for each in spec_case.load(sys.argv.pop(1)):
    for implementation in (Bus, Library):
        implementation.add_case(each)
