# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Makes pages for gi-docgen of Markdown that can be read as it is.

make_links.py FOLDER GIR PAGE...

In the pages the library's names are those of C, as code: `WebLocksClaim`, `WebLocksClaim:held`,
`WebLocksLock::lost`, `web_locks_claim_stop()`, `WEB_LOCKS_ERROR_TIMEOUT`. Each becomes a link to its page, if
the GIR has it, and a link to another page one to what gi-docgen makes of it. The title is the first heading.
"""

import os
import re
import sys
import xml.etree.ElementTree

CORE, C, GLIB = (f'{{http://www.gtk.org/introspection/{name}/1.0}}' for name in ('core', 'c', 'glib'))
KINDS = {'class': 'class', 'enumeration': 'enum', 'method': 'method', 'constructor': 'ctor', 'function': 'func',
         'property': 'property', f'{GLIB}signal': 'signal', 'constant': 'const', 'member': 'error'}


def names(element, parent, of_errors=False):
    """(name in C, link of gi-docgen) of what is below an element of the GIR."""
    for child in element:
        kind, name = KINDS.get(child.tag.removeprefix(CORE)), child.get('name')
        if kind in ('class', 'enum'):
            yield child.get(f'{C}type'), f'{kind}@WebLocks.{name}'
            yield from names(child, child, child.get(f'{GLIB}error-domain') is not None)
        elif kind in ('property', 'signal'):
            mark = ':' if kind == 'property' else '::'
            yield f"{parent.get(f'{C}type')}{mark}{name}", f"{kind}@WebLocks.{parent.get('name')}{mark}{name}"
        elif kind == 'error' and of_errors:
            yield child.get(f'{C}identifier'), f"error@WebLocks.{parent.get('name')}.{name.upper()}"
        elif kind == 'const':
            yield child.get(f'{C}type'), f'const@WebLocks.{name}'
        elif kind in ('method', 'ctor', 'func'):
            path = 'WebLocks.' + (f"{parent.get('name')}." if parent is not None else '') + name
            yield f"{child.get(f'{C}identifier')}()", f'{kind}@{path}'


def convert(text, links):
    parts = re.split(r'(^```.*?^```$)', text, flags=re.MULTILINE | re.DOTALL)
    for index in range(0, len(parts), 2):
        parts[index] = re.sub('`([^`\n]+)`', lambda code: f'[{links[code[1]]}]' if code[1] in links else code[0],
                              parts[index])
        parts[index] = re.sub(r'\]\((\w+)\.md\)', r'](\1.html)', parts[index])
    return ''.join(parts)


def main():
    folder, gir, *pages = sys.argv[1:]
    namespace = xml.etree.ElementTree.parse(gir).getroot().find(f'{CORE}namespace')
    links = dict(names(namespace, None))
    for page in pages:
        with open(page, encoding='utf-8') as file:
            text = file.read()
        title = re.search('^# (.*)$', text, re.MULTILINE)[1]
        name = os.path.basename(page)
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write(f'Title: {title}\nSlug: {name.removesuffix(".md")}\n\n{convert(text, links)}')


if __name__ == '__main__':
    main()
