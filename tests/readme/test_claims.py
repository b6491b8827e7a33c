# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Every sentence of README.md is in claims.md, with what shows that it is true.

test_claims.py README.md claims.md BUILD [TEST]...

What shows a sentence is a test, `FILE CASE`, which must be there and be run, or a command, `./dev ...`. A
sentence that claims nothing has the reason in parentheses instead.
"""

import json
import os
import re
import sys
import unittest


README, CLAIMS, BUILD = (os.path.abspath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
SOURCE = os.path.dirname(README)


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def sentences(text):
    """What a reader reads, without examples and links; the line of a command is a sentence, and so is the
    row of a table."""
    text = re.sub(r'<!--.*?-->|^```.*?^```$|!\[[^]]*\]\([^)]*\)', '', text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', text)
    for block in re.split(r'\n\s*\n|\n(?=[-|#]|    \S)', text):
        block = ' '.join(block.split())
        if block.startswith('|'):
            cells = [cell.strip() for cell in block.strip('|').split('|')]
            if any(cells) and not set(block) <= set('|- '):
                yield f"{cells[0]}: {'; '.join(cells[1:])}"
        elif block and not block.startswith('#'):
            yield from re.split(r'(?<=[.!?])\s+(?=[A-Z*`])', block.removeprefix('- '))


def claims():
    """[(sentence, [what shows it])]"""
    rows = re.findall(r'^\| (.*) \| (.*) \|$', read(CLAIMS), re.MULTILINE)
    return [(sentence, shown_by.split('<br>')) for sentence, shown_by in rows[1:]]


def info(name):
    """What meson has written of this build."""
    return json.loads(read(os.path.join(BUILD, 'meson-info', f'intro-{name}.json')))


def files_of_tests():
    """The files that the registered tests run, or are compiled from, relative to the source tree."""
    words = {os.path.realpath(os.path.join(BUILD, word)) for test in info('tests') for word in test['cmd']}
    for target in info('targets'):
        if words & {os.path.realpath(name) for name in target['filename']}:
            for part in target['target_sources']:
                words.update(os.path.realpath(source) for source in part['sources'])
    return {os.path.relpath(word, SOURCE) for word in words}


class Claims(unittest.TestCase):
    maxDiff = None

    def test_every_sentence_is_in_the_table(self):
        """And in its order; a sentence that was changed may need another test."""
        self.assertEqual(list(sentences(read(README))), [sentence for sentence, _ in claims()])

    def test_what_shows_them_is_run(self):
        options = {option['name']: option['value'] for option in info('buildoptions')}
        if options['introspection'] == 'disabled' or options['b_sanitize'] != 'none':
            self.skipTest('not built for the examples in Python and JavaScript')
        registered = files_of_tests()
        commands = re.findall(r'^(\w+)\|', read(os.path.join(SOURCE, 'dev')), re.MULTILINE)
        for sentence, shown_by in claims():
            self.assertTrue(shown_by, sentence)
            for evidence in shown_by:
                with self.subTest(sentence=sentence, evidence=evidence):
                    if evidence.startswith('('):
                        self.assertEqual(len(shown_by), 1)
                    elif evidence.startswith('`./dev '):
                        self.assertIn(evidence.strip('`').split()[1], commands)
                    else:
                        self.check_test(registered, *evidence.strip('`').split(' ', 1))

    def check_test(self, registered, path, case=None):
        text = read(os.path.join(SOURCE, path))
        suite = os.path.dirname(path) + '/'
        # A suite may be missing in this build, for lack of what it needs; but not one file of it.
        if any(name.startswith(suite) for name in registered):
            self.assertTrue(path in registered, f'{path} is not run by any test')
        if case and path.endswith('.py'):
            class_name, name = case.split('.')
            body = re.search(rf'^class {class_name}\b.*?(?=^\S|\Z)', text, re.MULTILINE | re.DOTALL)
            self.assertIsNotNone(body, f'{path} has no class {class_name}')
            self.assertIn(f'    def {name}(', body[0], f'{path} has no case {case}')
        elif case:
            self.assertIn(case, text, f'{path} has no case {case}')

    def test_a_new_sentence_is_noticed(self):
        text = read(README).replace('Nothing else has to be set up.',
                                    'Nothing else has to be set up. It is the best.')
        self.assertIn('It is the best.', list(sentences(text)))
