# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Plots of the curves, with Debian's python3-matplotlib; without it there are none."""

import io
import re

from measures import growth, throughput
from report import SPDX

# By hue and by marker, so that curves can be distinguished without colours too.
STYLES = [{'color': '#0072b2', 'marker': 'o'}, {'color': '#56b4e9', 'marker': 's'},
          {'color': '#d55e00', 'marker': '^'}, {'color': '#cc79a7', 'marker': 'v'}]


def load_matplotlib():
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
    except ImportError:
        return None
    matplotlib.use('svg')
    # The same figures result in the same file; text stays text.
    matplotlib.rcParams.update({'svg.hashsalt': 'weblocks', 'svg.fonttype': 'none',
                                'font.size': 10})
    return matplotlib


def as_svg(figure):
    stream = io.StringIO()
    figure.savefig(stream, format='svg', bbox_inches='tight', facecolor='white',
                   metadata={'Date': None, 'Creator': None})
    text = re.sub(r'[ \t]+$', '', stream.getvalue(), flags=re.MULTILINE)
    head, _, rest = text.partition('\n')
    return f'{head}\n{SPDX}{rest}'


def curve(table, rows, cores):
    """Points (x, median, low, high) of those of these rows that have figures. `rows` is {x:
    row}."""
    points = []
    for x, row in rows.items():
        figure = table.get(row, cores)
        if figure:
            points.append((x, figure.median, min(figure.samples), max(figure.samples)))
    return points


def draw(curves, x_title, y_title):
    """A picture of {title: points}, or None if there are no points."""
    curves = {title: points for title, points in curves.items() if len(points) > 1}
    matplotlib = load_matplotlib()
    if matplotlib is None or not curves:
        return None
    from matplotlib.figure import Figure  # pylint: disable=import-outside-toplevel
    figure = Figure(figsize=(7, 4))
    axes = figure.add_subplot()
    for (title, points), style in zip(curves.items(), STYLES):
        xs, medians, lows, highs = zip(*points)
        axes.plot(xs, medians, label=title, **style)
        axes.fill_between(xs, lows, highs, color=style['color'], alpha=0.15, linewidth=0)
    axes.set_xscale('log')
    ticks = sorted({x for points in curves.values() for x, *_ in points})
    axes.set_xticks(ticks, [f'{x:,}' for x in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel(x_title)
    axes.set_ylabel(y_title)
    axes.grid(alpha=0.3)
    axes.legend()
    return as_svg(figure)


def throughput_picture(settings, table):
    curves = {}
    for title, row in (('locks', throughput.weblocks), ('names', throughput.names)):
        for kind in settings.kinds:
            rows = {n: row(kind, n) for n in throughput.CLIENTS}
            curves[f'{title}, {kind}'] = curve(table, rows, 'one')
    return draw(curves, 'clients, each a process', 'pairs per second, one core')


def growth_picture(settings, table):
    sizes = growth.sizes(settings)
    curves = {
        'grant, so many waiting': {n: growth.grant(n) for n in sizes},
        'request and release, so many held': {n: growth.pair(n) for n in sizes},
        'Chromium: grant, so many waiting': {n: growth.CHROMIUM + growth.grant(n) for n in sizes},
    }
    return draw({title: curve(table, rows, 'one') for title, rows in curves.items()},
                'others in the service', 'us each, one core')


PICTURES = {'throughput': throughput_picture, 'growth': growth_picture}


def pictures(settings, tables):
    """SVG files by the key of their table."""
    found = {key: draw_it(settings, tables[key])
             for key, draw_it in PICTURES.items() if key in tables}
    return {key: text for key, text in found.items() if text}
