#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Everything that docs/security.md refers to exists: test programs, their classes and cases,
faults, and fuzz targets. In TAP.

    test_catalogue.py TOP-OF-THE-SOURCES"""

import pathlib
import re
import sys

LEAST = 60


def named(text):
    """Yields (what, in which file): `folder/test_file.py` Class, test_case."""
    for match in re.finditer(r'`([\w-]+/[\w.-]+\.(?:py|c))`((?: \w+)?(?:, test_\w+)*)', text):
        yield None, match[1]
        for word in re.findall(r'\w+', match[2]):
            if word[0].isupper() or word.startswith('test_'):
                yield word, match[1]


def listed(text, title):
    """The words in backquotes after `title`."""
    for match in re.finditer(title + r's? ((?:`[\w-]+`(?:, )?)+)', text):
        yield from re.findall(r'`([\w-]+)`', match[1])


def look(top):
    """Yields (whether it exists, its name)."""
    text = (top / 'docs/security.md').read_text(encoding='utf-8')
    for word, name in named(text):
        path = top / 'tests' / name
        found = path.exists() and (
            word is None or re.search(rf'\b(class|def) {word}\b', path.read_text(encoding='utf-8')))
        yield found, f'{name} {word or ""}'.strip()
    for fault in listed(text, 'fault'):
        yield (top / f'tests/faults/{fault}.patch').exists(), f'fault {fault}'
    built = (top / 'tests/faults/meson.build').read_text(encoding='utf-8')
    for patch in sorted(top.glob('tests/faults/*.patch')):
        yield f"'{patch.stem}'" in built, f'fault {patch.stem} is built'
    for target in listed(text, 'fuzz target'):
        yield (top / f'tests/fuzz/fuzz-{target}.c').exists(), f'fuzz target {target}'


def main():
    results = list(look(pathlib.Path(sys.argv[1])))
    results.append((len(results) >= LEAST, 'they were found'))
    for number, (found, what) in enumerate(results, 1):
        print(f'{"ok" if found else "not ok"} {number} - {what}')
    print(f'1..{len(results)}')
    sys.exit(0 if all(found for found, _ in results) else 1)


if __name__ == '__main__':
    main()
