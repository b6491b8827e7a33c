# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The results as Markdown."""

from figures import CORES

# The licence header of the generated page; that of this file is above.
# REUSE-IgnoreStart
SPDX = ('<!-- SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors -->\n'
        '<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->\n')
# REUSE-IgnoreEnd
IMAGES = 'images'


def image_name(key):
    return f'bench-{key}.svg'


def markdown_table(rows):
    """The first row is the header."""
    lines = [f'| {" | ".join(row)} |' for row in rows]
    lines.insert(1, '|---' * len(rows[0]) + '|')
    return '\n'.join(lines)


def cell(figure):
    return figure.show() if figure else ''


def show_table(table):
    which = table.cores()
    has_ratio = any(row.ratio_of for row in table.filled_rows())
    unit = f', {table.unit}' if table.unit else ''
    head = ['']
    for cores in which:
        head.append(CORES[cores] + unit if len(which) > 1 else table.unit or 'measured')
        if has_ratio:
            head.append(table.ratio_title)
    rows = [head]
    for row in table.filled_rows():
        cells = [row.what]
        for cores in which:
            cells.append(cell(row.figures.get(cores)))
            if has_ratio:
                cells.append(cell(table.row_ratio(row, cores)))
        rows.append(cells)
    return markdown_table(rows)


def show_targets(targets):
    rows = [('target', 'limit', 'measured', '', 'bound')]
    for target in targets:
        rows.append((target.what, target.show_limit(), cell(target.figure), target.verdict(),
                     cell(target.bound)))
    return markdown_table(rows)


def show_machine(machine):
    versions = ', '.join(f'{name} {version}' for name, version in machine['versions'].items())
    cores = 'one core' if machine['cores'] == 1 else f'{machine["cores"]} cores'
    return (f'{machine["processor"]}, {cores}, {machine["system"]}, kernel {machine["kernel"]}; '
            f'{versions}.')


def wrap(text, width=100):
    lines = ['']
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append('')
        lines[-1] += f' {word}' if lines[-1] else word
    return '\n'.join(lines)


def markdown(report, pictures=()):
    """The page. `pictures` are the keys of tables with a picture."""
    parts = ['# Figures',
             wrap('One run of `./dev bench`, which repeats these measurements on your machine, '
                  'and wrote this page. A figure is the median and [least-most] of its '
                  'repetitions, which alternate: one of WebLocks, one of each alternative, and '
                  'again. The time of an operation in a repetition is the median of the means '
                  'of ten consecutive ones. A ratio is the median of the ratios within such a '
                  'turn. Absolute times depend on the machine and the run; compare the ratios. '
                  'With "cores free" the kernel places the processes; with "one core" all of '
                  'them, including bus and service, share one core: then work is measured, '
                  'without the wake-ups of other cores.'),
             wrap(show_machine(report.machine))]
    if report.settings.quick:
        parts.append('**A quick run: it only checks that everything works; the figures are meaningless.**')
    if report.targets:
        parts += ['## Targets',
                  wrap('The bound is what the ratio would be without the library, or without the '
                       'service: for pairs, two round trips of a byte over a socketpair; for a hand-over, '
                       'packets in a main loop; for many clients, bare packets; for a calm client, a '
                       'process that only echoes and is flooded with as many bytes as the service with '
                       'packets; for what storing adds with cold caches, two bare writes. "What bounds '
                       'these figures" has more.'),
                  show_targets(report.targets)]
    for key, table in report.tables.items():
        if not table.filled_rows():
            continue
        parts += [f'## {table.title}', wrap(table.note), show_table(table)]
        if key in pictures:
            parts.append(f'![{table.title}]({IMAGES}/{image_name(key)})')
    if report.settings.skipped or report.settings.failed:
        lines = [f'- skipped: {text}' for text in report.settings.skipped]
        lines += [f'- FAILED: {text}' for text in report.settings.failed]
        parts += ['## Not measured', '\n'.join(lines)]
    return '\n\n'.join(parts) + '\n'


def summary(report):
    """The last line: a summary."""
    verdicts = [target.verdict() for target in report.targets]
    counts = ', '.join(f'{verdicts.count(verdict)} {verdict}'
                       for verdict in ('met', 'missed', 'not measured'))
    return f'targets: {counts}; failed measurements: {len(report.settings.failed)}'
