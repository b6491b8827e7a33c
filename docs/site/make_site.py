#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Makes the documentation site: one folder of HTML that needs no server.

make_site.py BUILD SITE

The Markdown files become pages at the same places (README.md: index.html), so links between them
hold in the repository, too. The reference of the library and of the D-Bus interface are copied from
the build. search.html searches an index of the sections of all pages, in the browser.
"""

import html
import json
import os
import re
import shutil
import sys
import urllib.parse
from glob import glob

import markdown
from markdown.extensions.toc import TocExtension
from markdown.treeprocessors import Treeprocessor

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))

# What the navigation has: heading -> (page, label). The guides come from their index, in its order.
GUIDES = 'docs/guides/README.md'
NAVIGATION = {
    'Start': [
        ('README.md', 'WebLocks for D-Bus'),
        ('NEWS.md', 'News'),
    ],
    'Guides': [
        (GUIDES, 'All guides'),
    ],
    'Reference': [
        ('library/index.html', 'C library'),
        ('client-lib/gjs/README.md', 'JavaScript in GJS'),
        ('client-lib/node/README.md', 'JavaScript in Node.js'),
        ('client-lib/python/README.md', 'Python'),
        ('reference/index.html', 'D-Bus interface'),
        ('docs/contract.md', 'Details of the D-Bus interface'),
        ('docs/standard.md', 'The standard, sentence by sentence'),
        ('docs/clients.md', 'Clients on plain D-Bus'),
        ('docs/socket-protocol.md', 'Protocol of the lock socket'),
        ('docs/flatpak.md', 'In a Flatpak'),
        ('docs/cluster.md', 'Locks of several hosts'),
        ('docs/packages.md', 'Debian packages'),
    ],
    'Properties': [
        ('SECURITY.md', 'Security'),
        ('docs/security.md', 'Threats and their tests'),
        ('docs/hardening.md', 'Hardening'),
        ('docs/reliability.md', 'Reliability'),
        ('docs/benchmarks.md', 'Measurements'),
    ],
    'Development': [
        ('CONTRIBUTING.md', 'Working on it'),
        ('docs/architecture.md', 'Architecture'),
        ('tests/README.md', 'Tests'),
        ('tests/storm/README.md', 'Storm'),
        ('tests/handles/README.md', 'Handles'),
    ],
}


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def slug(heading, _separator='-'):
    """The anchor of a heading, as hosts of repositories make it."""
    return re.sub(r'[^\w\- ]', '', heading.lower()).strip().replace(' ', '-')


def output_of(page):
    """Where a page is in the site."""
    if not page.endswith('.md'):
        return page
    folder, name = os.path.split(page)
    name = 'index' if name == 'README.md' else name.removesuffix('.md')
    return os.path.join(folder, name + '.html')


def plain(text):
    """Without tags, and in one line."""
    return ' '.join(html.unescape(re.sub(r'<[^>]*>', ' ', text)).split())


class Links(Treeprocessor):
    """Turns links to files of the repository into links to pages, and copies other files."""

    def __init__(self, site, page):
        super().__init__()
        self.site = site
        self.page = page

    def run(self, root):
        for element in root.iter():
            for attribute in ('href', 'src'):
                if element.get(attribute):
                    link = self.site.link(self.page, element.get(attribute))
                    if link:
                        element.set(attribute, link)
                    else:
                        del element.attrib[attribute]


class Site:
    def __init__(self, build, directory):
        self.build = build
        self.directory = directory
        self.navigation = {heading: list(pages) for heading, pages in NAVIGATION.items()}
        for name in re.findall(r'\]\(([\w-]+\.md)\)', read(os.path.join(SOURCE, GUIDES))):
            path = os.path.join(os.path.dirname(GUIDES), name)
            title = re.search(r'^# (.*)$', read(os.path.join(SOURCE, path)), re.MULTILINE)[1]
            self.navigation['Guides'].append((path, title))
        self.pages = [page for pages in self.navigation.values() for page, _label in pages
                      if page.endswith('.md')]
        missing = {page for folder in ('docs', 'docs/guides') for page in glob(f'{folder}/*.md', root_dir=SOURCE)}
        missing -= set(self.pages)
        if missing:
            raise SystemExit(f'make_site: not in NAVIGATION: {sorted(missing)}')
        self.template = read(os.path.join(HERE, 'page.html'))
        self.index = []

    def link(self, page, href):
        """What a link on a page becomes; None for a folder that has no page."""
        url = urllib.parse.urlsplit(href)
        if url.scheme or not url.path:
            return href
        target = os.path.normpath(os.path.join(os.path.dirname(page), url.path))
        path = os.path.join(SOURCE, target)
        if os.path.isdir(path):
            target = os.path.join(target, 'README.md')
            if target not in self.pages:
                return None
        elif target.startswith('docs/library/'):
            target = target.removeprefix('docs/')
        elif target not in self.pages:
            if not os.path.isfile(path):
                raise SystemExit(f'make_site: {page} has a link to {href}, which does not exist')
            self.copy(path, target)
        relative = os.path.relpath(output_of(target), os.path.dirname(output_of(page)) or '.')
        return urllib.parse.urlunsplit(url._replace(path=relative))

    def copy(self, path, *parts):
        target = os.path.join(self.directory, *parts)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(path):
            shutil.copytree(path, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(path, target)

    def write(self, output, title, content):
        """A page in the frame that all have."""
        top = os.path.relpath('.', os.path.dirname(output) or '.')
        lines = []
        for heading, pages in self.navigation.items():
            if pages:
                lines.append(f'<h2>{heading}</h2>')
            for page, label in pages:
                current = ' aria-current="page"' if output_of(page) == output else ''
                lines.append(f'<a href="{top}/{output_of(page)}"{current}>{html.escape(label)}</a>')
        text = self.template
        for key, value in {'title': html.escape(title), 'top': top,
                           'navigation': '\n'.join(lines), 'content': content}.items():
            text = text.replace(f'@{key}@', value)
        target = os.path.join(self.directory, output)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, 'w', encoding='utf-8') as file:
            file.write(text)

    def add_page(self, page):
        converter = markdown.Markdown(extensions=['tables', 'fenced_code', 'sane_lists',
                                                  TocExtension(slugify=slug)])
        converter.treeprocessors.register(Links(self, page), 'links', 0)
        content = converter.convert(read(os.path.join(SOURCE, page)))
        output = output_of(page)
        sections = re.split(r'<h[123] id="([^"]*)">(.*?)</h[123]>', content)
        title = plain(sections[2])
        self.write(output, title, content)
        for anchor, heading, text in zip(sections[1::3], sections[2::3], sections[3::3]):
            heading = plain(heading)
            self.index.append([heading if heading == title else f'{title}: {heading}',
                               f'{output}#{anchor}', plain(text)])

    def add_library(self):
        folder = os.path.join(self.build, 'docs', 'library', 'weblocks-1')
        self.copy(folder, 'library')
        for path in sorted(glob(os.path.join(folder, '*.html'))):
            text = read(path)
            title = plain(re.search(r'<title>(.*?)</title>', text, re.DOTALL)[1])
            self.index.append([title, f'library/{os.path.basename(path)}',
                               plain(text.partition('<section id="main"')[2].partition('>')[2])])

    def add_contract(self):
        path = os.path.join(self.build, 'docs', 'index.html')
        self.copy(path, 'reference', 'index.html')
        members = re.split(r'id="(gdbus-(?:method|signal|property)-[\w-]+\.\w+)"', read(path))
        for anchor, text in zip(members[1::2], members[2::2]):
            name = anchor.split('-', 2)[2].replace('-', '.')
            self.index.append([name, f'reference/index.html#{anchor}',
                               plain(text.partition('>')[2])])

    def make(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.directory)
        for name in ('search.js', 'style.css'):
            self.copy(os.path.join(HERE, name), name)
        for page in self.pages:
            self.add_page(page)
        self.add_library()
        self.add_contract()
        self.write('search.html', 'Search', read(os.path.join(HERE, 'search.html')))
        with open(os.path.join(self.directory, 'search-index.js'), 'w', encoding='utf-8') as file:
            # A script and not JSON: browsers don't let pages that are files fetch others.
            file.write(f'const searchIndex = {json.dumps(self.index, indent=0)};\n')


if __name__ == '__main__':
    Site(*sys.argv[1:]).make()
