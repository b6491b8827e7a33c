# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Prints the block of C in a page that contains a word, for a test to include: snippet.py PAGE.md WORD"""

import re
import sys

with open(sys.argv[1], encoding='utf-8') as file:
    blocks = re.findall(r'^```c\n(.*?)^```$', file.read(), re.MULTILINE | re.DOTALL)
found = [block for block in blocks if sys.argv[2] in block]
if len(found) != 1:
    sys.exit(f'{sys.argv[1]} has {len(found)} blocks with {sys.argv[2]}')
print(found[0])
