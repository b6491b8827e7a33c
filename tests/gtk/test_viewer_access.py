# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks-viewer without a pointer, with a screen reader, in a narrow window and from right to left."""

import gettext
import os
import signal
import subprocess
import unittest

from accessibility import STATE_EXPANDED
from buses import environment
from tap import WHO
from viewer import ViewerTestCase

WIDTH = 360
FRAME = 1  # of GTK around the contents of a window
# A locale that exists on every system, under the names of locales for which GTK chooses this
# direction: there is no other setting.
LOCALE = '/usr/lib/locale/C.utf8'
HEBREW = '/usr/share/locale/he/LC_MESSAGES/gtk40.mo'


class Keyboard(ViewerTestCase):
    def test_tab_reaches_all(self):
        name = self.unique()
        self.client().request(name, why='testing')
        viewer = self.open(DBUS_SYSTEM_BUS_ADDRESS=self.bus.address)
        viewer.wait_for(lambda: viewer.find('tab', 'System'), 'page of the system bus')
        viewer.wait_for(viewer.rows, 'rows')
        # Twice: the first one may be the focus that the window has when it opens.
        seen = viewer.walk_by_tab('Search') + viewer.walk_by_tab('Search')
        self.assertEqual(set(seen), {
            'Search', 'Session', 'System', 'Main Menu', 'All', 'Held', 'Waiting',
            f'{WHO}, 1 lock or request', f'{name}, Held, testing · default'})
        viewer.open_item(name)
        # The page that opens moves the focus too: each step after that is a Tab.
        viewer.walk_by_tab('Back')
        seen = viewer.walk_by_tab('Back')
        self.assertLess({'Copy as Command', 'End this Lock…'}, set(seen))

    def test_keys(self):
        self.client().request(self.unique())
        viewer = self.open()
        viewer.wait_for(viewer.rows, 'rows')
        viewer.key('F10')
        viewer.wait_text('About Locks')
        viewer.key('Escape')
        viewer.wait_no_text('About Locks')
        viewer.key('ctrl+question')
        viewer.wait_text('Close the Window')
        viewer.key('Escape')
        viewer.wait_no_text('Close the Window')
        # Typing starts a search.
        viewer.type('no such name')
        viewer.wait_text('No Results')
        viewer.key('Escape')
        viewer.wait_no_text('No Results')
        viewer.key('ctrl+q')
        self.assertEqual(viewer.process.wait(), 0)

    def test_applications_can_be_folded(self):
        self.client().request(self.unique())
        viewer = self.open()
        viewer.wait_for(lambda: len(viewer.rows()) == 2, 'rows')
        viewer.walk_by_tab(f'{WHO}, ')
        self.assertTrue(viewer.items()[0].has_state(STATE_EXPANDED))
        viewer.key('Return')
        viewer.wait_rows([WHO, '1 lock or request'])
        viewer.wait_for(lambda: not viewer.items()[0].has_state(STATE_EXPANDED), 'folded state')


class Layout(ViewerTestCase):
    def wait_all_within(self, viewer):
        """Nothing is wider than the window, or outside an edge of it."""
        def get_outside():
            window_width = viewer.find('window', self.title).extents()[2]
            found = []
            for role, name, shown in viewer.shown():
                x, _y, width, height = shown.extents()
                if height > 0 and (x < -FRAME or x + width > window_width + FRAME):
                    found.append((role, name, x, width))
            return found
        try:
            viewer.wait_for(lambda: not get_outside(), 'all within the window')
        except TimeoutError:
            raise AssertionError(f'outside the window: {get_outside()}') from None

    def open_narrow(self, translate=str, **environ):
        """A window with locks, and the name of the first one, whose holder is stopped."""
        name, why = 'a name that is as long as it is ' * 3, 'because it is so, and for so long ' * 3
        holder, waiter = self.process_client(), self.client()
        holder.request(name, mode='shared', why=why)
        waiter.request(name, why=why)
        os.kill(holder.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, holder.pid, signal.SIGCONT)
        self.title = translate('Locks')
        viewer = self.open(DBUS_SYSTEM_BUS_ADDRESS=self.bus.address, translate=translate, **environ)
        viewer.wait_for(lambda: viewer.find('tab', translate('System')), 'page of the system bus')
        viewer.wait_text(translate('The process is stopped.'))
        viewer.resize(WIDTH, 640)
        viewer.wait_for(lambda: viewer.find('window', self.title).extents()[2] <= WIDTH,
                        'narrow window')
        self.wait_all_within(viewer)
        return viewer, name

    def is_search_on_the_left(self, **environ):
        viewer, name = self.open_narrow(**environ)
        search, menu = (viewer.find('button', name).extents()[0]
                        for name in ('Search', 'Main Menu'))
        viewer.open_item(name)
        self.wait_all_within(viewer)
        return search < menu

    def test_narrow(self):
        self.assertTrue(self.is_search_on_the_left())

    @unittest.skipUnless(os.path.exists(HEBREW) and os.path.exists(LOCALE),
                         'GTK has no language here that is written from right to left')
    def test_narrow_from_right_to_left(self):
        locales = os.path.join(self.bus.directory, 'locales')
        os.mkdir(locales)
        os.symlink(LOCALE, os.path.join(locales, 'en_IL.UTF-8'))
        self.assertFalse(self.is_search_on_the_left(LOCPATH=locales, LC_ALL='en_IL.UTF-8',
                                                    LANGUAGE='he'))

    def make_translation(self, directory):
        """The German texts, but with many vowels twice: longer words than in most languages."""
        file = os.path.join(directory, 'de', 'LC_MESSAGES', 'weblocks.mo')
        os.makedirs(os.path.dirname(file))
        texts = subprocess.run(
            ['msgfilter', '--keep-header', '-i',
             os.path.join(environment('WEBLOCKS_TRANSLATIONS_DIR'), 'de.po'),
             'sed', 's/[aeou]/&&/g'], check=True, stdout=subprocess.PIPE).stdout
        subprocess.run(['msgfmt', '-o', file, '-'], input=texts, check=True)
        return gettext.translation('weblocks', directory, ['de']).gettext

    def test_narrow_with_long_texts(self):
        locales = os.path.join(self.bus.directory, 'translations')
        translate = self.make_translation(locales)
        viewer, name = self.open_narrow(translate, LANGUAGE='de', WEBLOCKS_TEST_LOCALES=locales)
        viewer.search()
        viewer.type('no such name')
        viewer.wait_text(translate('No Results'))
        self.wait_all_within(viewer)
        viewer.key('Escape')
        self.daemon.signal(signal.SIGKILL)
        self.daemon.wait_exit()
        viewer.wait_text(translate('The lock service has stopped. '
                                   'Locks will appear again when it is back.'))
        self.wait_all_within(viewer)
        type(self).daemon = self.start_service()
        viewer.open_item(name)
        self.wait_all_within(viewer)
