#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Makes a CommonJS module of one of ../js, so that `require()` and `import` have the same objects.

convert.py INPUT OUTPUT

The modules use only two forms of import and export: `import {...} from './FILE';` and `export` before a
declaration."""

import re
import sys

IMPORT = re.compile(r"^import (\{[^}]*\}) from ('\./[\w-]+\.js');$", re.MULTILINE)
EXPORT = re.compile(r'^export (?=(?:async )?(?:class|const|function) (\w+))', re.MULTILINE)


def convert(text):
    names = EXPORT.findall(text)
    text = IMPORT.sub(r'const \1 = require(\2);', EXPORT.sub('', text))
    if re.search(r'^(import|export)\b', text, re.MULTILINE):
        raise ValueError('an import or export of another form')
    # After the comments at the beginning.
    head, body = re.match(r'((?:(?://.*)?\n)*)(.*)', text, re.DOTALL).groups()
    return f"{head}'use strict';\n\n{body}\nmodule.exports = {{{', '.join(names)}}};\n"


def main():
    source, result = sys.argv[1:]
    with open(source, encoding='utf-8') as file:
        text = file.read()
    with open(result, 'w', encoding='utf-8') as file:
        file.write(convert(text))


main()
