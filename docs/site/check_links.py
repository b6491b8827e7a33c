#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Prints each link of the site in a folder that leads nowhere in it; fails if there is one.

check_links.py SITE

Links to other sites are not followed.
"""

import os
import sys
import urllib.parse
from glob import glob
from html.parser import HTMLParser


class Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, path):
        super().__init__()
        self.links = []
        self.anchors = set()
        with open(path, encoding='utf-8') as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors.update(value for key, value in attrs
                            if key == 'id' or (tag == 'a' and key == 'name'))
        if tag in ('a', 'img', 'link', 'script', 'form'):
            self.links += [attributes[key] for key in ('href', 'src', 'action')
                           if attributes.get(key)]


def broken_links(site):
    """[(page, link)]"""
    pages = {path: Page(path) for path in
             sorted(glob(os.path.join(site, '**', '*.html'), recursive=True))}
    found = []
    for path, page in pages.items():
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme:
                continue
            target = path
            if url.path:
                target = os.path.normpath(os.path.join(os.path.dirname(path),
                                                       urllib.parse.unquote(url.path)))
            good = os.path.isfile(target)
            if good and url.fragment and target in pages:
                good = urllib.parse.unquote(url.fragment) in pages[target].anchors
            if not good:
                found.append((os.path.relpath(path, site), link))
    return found


if __name__ == '__main__':
    BROKEN = broken_links(sys.argv[1])
    for origin, destination in BROKEN:
        print(f'{origin}: {destination}')
    sys.exit(1 if BROKEN else 0)
