# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The manifest in docs/flatpak.md."""

import json
import os
import re

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/flatpak.md')
# Permission -> option of the proxy; no other is needed.
PROXY_OPTIONS = {'--talk-name': '--talk'}


def manifest():
    with open(PAGE, encoding='utf-8') as file:
        text, = re.findall(r'^```json\n(.*?)^```$', file.read(), re.MULTILINE | re.DOTALL)
    return json.loads(text)


def proxy_options():
    """The options that Flatpak gives to xdg-dbus-proxy for these permissions."""
    options = []
    for argument in manifest()['finish-args']:
        permission, name = argument.split('=')
        options.append(f'{PROXY_OPTIONS[permission]}={name}')
    return options
