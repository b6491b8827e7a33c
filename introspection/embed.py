# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Writes the interfaces of XML files, without their comments, as strings of C: what the service
replies to Introspect.

    embed.py OUTPUT (NAME FILE)..."""

import json
import sys
import xml.etree.ElementTree as ElementTree


def main():
    output, *arguments = sys.argv[1:]
    with open(output, 'w', encoding='ascii') as stream:
        for name, path in zip(arguments[::2], arguments[1::2]):
            print(f'static const char {name}[] =', file=stream)
            for interface in ElementTree.parse(path).getroot().findall('interface'):
                ElementTree.indent(interface, ' ')
                for line in ElementTree.tostring(interface, encoding='unicode').splitlines():
                    print(f'    {json.dumps(line.rstrip() + chr(10))}', file=stream)
            print('    ;', file=stream)


main()
