# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The instructions of common/lock-cell.c on arm64 suffice: litmus/*.litmus on herd's model of arm64.

The litmus tests have the instructions that gcc makes with atomic instructions (lse) and with exclusive loads and stores
(llsc); where a compiler for arm64 is, this is compared with what it makes now. Without herd7, which is not in Debian
12, nothing is run: README.md says how to build it."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COMPILER = 'aarch64-linux-gnu-gcc'
FORMS = {'lse': '-march=armv8.1-a', 'llsc': '-mno-outline-atomics'}

# The function of lock-cell.c whose instructions each thread of a litmus test has.
THREADS = {
    'hand-over': ['leave', 'close', None],
    'next-thread': ['leave', 'enter'],
    'open': ['open', 'is_held'],
    'open-again': ['close', 'enter'],
    'since': ['enter', 'close'],
    'close-and-leave': ['leave', 'close'],
    'close-and-enter': ['enter', 'close'],
}

# Replacements of an instruction by one without its order, or that is not atomic, which must show.
WEAKER = [
    ('hand-over-lse', 'CASL', 'CAS'),
    ('hand-over-llsc', 'STLXR W21,X3', 'STXR W21,X3'),
    ('next-thread-lse', 'CASL', 'CAS'),
    ('next-thread-lse', 'CASA', 'CAS'),
    ('next-thread-llsc', 'STLXR', 'STXR'),
    ('next-thread-llsc', 'LDAXR', 'LDXR'),
    ('open-lse', 'STLR', 'STR'),
    ('open-lse', 'LDAR', 'LDR'),
    ('open-again-lse', 'LDCLRAL', 'LDCLRL'),
    ('open-again-llsc', 'LDAXR X5', 'LDXR X5'),
    ('since-lse', 'STLR', 'STR'),
    ('since-lse', 'LDAR', 'LDR'),
    ('since-llsc', 'LDAR', 'LDR'),
    ('close-and-leave-llsc', 'STLXR W21,X3,[X0]', 'STR X3,[X0]'),
]

ORDERED = re.compile(r'^(ld(ar|clr|clra|clrl|clral|axr|xr)|st(lr|lxr|xr)|cas(a|l|al)?)$')


def read(name):
    with open(os.path.join(HERE, 'litmus', name + '.litmus'), encoding='utf-8') as file:
        return file.read()


def get_columns(text):
    """Returns the instructions of each thread."""
    rows = [line.rstrip(' ;').split('|') for line in text.split('}\n', 1)[1].splitlines() if line.endswith(';')]
    return [[row[i].strip() for row in rows] for i in range(len(rows[0]))]


def get_ordered(instructions):
    return [word for word in (line.split()[0].lower() for line in instructions if line.split()) if ORDERED.match(word)]


def compile_functions(form):
    """Returns the ordered instructions of each function of lock-cell.c."""
    flags = subprocess.run(['pkg-config', '--cflags', 'glib-2.0'], check=True, stdout=subprocess.PIPE,
                           text=True).stdout.split()
    out = subprocess.run([COMPILER, '-O2', FORMS[form], *flags, '-iquote', os.path.join(ROOT, 'common'), '-S', '-o', '-',
                          os.path.join(ROOT, 'common', 'lock-cell.c')], check=True, stdout=subprocess.PIPE, text=True)
    functions, name = {}, None
    for line in out.stdout.splitlines():
        label = re.match(r'lock_cell_(\w+):', line)
        if label:
            name = label.group(1)
            functions[name] = []
        elif name is not None:
            functions[name] += get_ordered([line])
    return functions


def is_part(there, wanted):
    return wanted != [] and there[:len(wanted)] == wanted


class Litmus(unittest.TestCase):
    @unittest.skipUnless(shutil.which(COMPILER), 'needs ' + COMPILER)
    def test_instructions(self):
        for form in FORMS:
            functions = compile_functions(form)
            for test, threads in THREADS.items():
                columns = get_columns(read(f'{test}-{form}'))
                for thread, function in enumerate(threads):
                    if function is None:
                        continue
                    with self.subTest(test=test, form=form, thread=thread):
                        wanted, there = functions[function], get_ordered(columns[thread])
                        # A test may begin after the first load of enter, and have the first load of close only.
                        self.assertTrue(any(is_part(there, wanted[i:len(wanted) - j])
                                            for i in range(2) for j in range(2) if len(wanted) > i + j),
                                        (wanted, there))

    def observe(self, text, name):
        with tempfile.NamedTemporaryFile('w', suffix='.litmus') as file:
            file.write(text)
            file.flush()
            out = subprocess.run(['herd7', '-model', 'aarch64.cat', file.name], check=True, stdout=subprocess.PIPE,
                                 text=True).stdout
        observation = re.search(r'^Observation \S+ (\w+) (\d+) (\d+)$', out, re.MULTILINE)
        self.assertIsNotNone(observation, out)
        print(f'# {name}: {observation.group(0)}')
        return observation.group(1)

    @unittest.skipUnless(shutil.which('herd7'), 'needs herd7')
    def test_never(self):
        names = sorted(os.path.basename(path)[:-7] for path in glob.glob(os.path.join(HERE, 'litmus', '*.litmus')))
        self.assertEqual(names, sorted(f'{test}-{form}' for test in THREADS for form in FORMS))
        for name in names:
            with self.subTest(name):
                self.assertEqual(self.observe(read(name), name), 'Never')

    @unittest.skipUnless(shutil.which('herd7'), 'needs herd7')
    def test_weaker(self):
        for name, instruction, weaker in WEAKER:
            with self.subTest(name=name, instruction=instruction):
                text = read(name)
                self.assertIn(instruction, text)
                self.assertEqual(self.observe(text.replace(instruction, weaker), f'{name}, {instruction}: {weaker}'),
                                 'Sometimes')


if __name__ == '__main__':
    tap.main()
