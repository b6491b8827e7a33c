# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Figures, tables of figures, and their targets."""

import dataclasses
import statistics

# On which cores the processes of a measurement run, with the title in tables.
CORES = {'free': 'cores free', 'one': 'one core'}


class Figure:
    """The results of the repetitions of one measurement."""

    def __init__(self, samples):
        self.samples = list(samples)

    @property
    def median(self):
        return statistics.median(self.samples)

    def over(self, other):
        """The ratio of two figures that were measured alternately."""
        return Figure(a / b for a, b in zip(self.samples, other.samples))

    def times(self, factor):
        return Figure(factor * sample for sample in self.samples)

    def show(self):
        return f'{number(self.median)} [{number(min(self.samples))}-{number(max(self.samples))}]'


def number(value):
    """Three significant digits."""
    if abs(value) >= 1000:
        return f'{value:,.0f}'
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f'{value:.{digits}f}'


@dataclasses.dataclass
class Row:
    what: str
    # The rows whose ratio this row shows.
    ratio_of: tuple = None
    figures: dict = dataclasses.field(default_factory=dict)


class Table:
    """Rows of figures: one column for each choice of cores, and a ratio."""

    def __init__(self, key, title, note, unit, ratio=''):
        self.key = key
        self.title = title
        self.note = note
        self.unit = unit
        self.ratio_title = ratio
        self.rows = {}

    def row(self, what, ratio_of=None):
        """Declares a row, in order; `self` as name of a row is this one."""
        self.rows.setdefault(what, Row(what))
        if ratio_of:
            self.rows[what].ratio_of = tuple(what if name == 'self' else name
                                             for name in ratio_of)

    def put(self, what, cores, value):
        figures = self.rows.setdefault(what, Row(what)).figures
        figures.setdefault(cores, Figure([])).samples.append(value)

    def drop(self, what, cores):
        """A measurement that failed half-way has no figure."""
        if what in self.rows:
            self.rows[what].figures.pop(cores, None)

    def get(self, what, cores):
        row = self.rows.get(what)
        return row.figures.get(cores) if row else None

    def ratio(self, of, to, cores):
        a, b = self.get(of, cores), self.get(to, cores)
        return a.over(b) if a and b else None

    def row_ratio(self, row, cores):
        return self.ratio(*row.ratio_of, cores) if row.ratio_of else None

    def filled_rows(self):
        return [row for row in self.rows.values() if row.figures]

    def cores(self):
        return [key for key in CORES
                if any(key in row.figures for row in self.rows.values())]


@dataclasses.dataclass
class Target:
    """The limit of a figure: at most, or at least. `bound` is the same figure of a lower bound."""

    what: str
    figure: Figure
    limit: float
    unit: str = ''
    at_least: bool = False
    bound: Figure = None

    @property
    def met(self):
        if self.figure is None:
            return None
        if self.at_least:
            return self.figure.median >= self.limit
        return self.figure.median <= self.limit

    def verdict(self):
        return {None: 'not measured', True: 'met', False: 'missed'}[self.met]

    def show_limit(self):
        return f'{">=" if self.at_least else "<="} {number(self.limit)} {self.unit}'.rstrip()
