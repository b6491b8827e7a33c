# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Reads the cases of a file such as cases.txt; README.md specifies the syntax."""

import ast
import dataclasses
import re
import shlex

FLAGS = ('ifAvailable', 'steal', 'signal')
VERBS = ('request', 'steal', 'release', 'break', 'abort', 'downgrade', 'query', 'die', 'back', 'granted',
         'released', 'waiting', 'downgraded', 'watch')
WITHOUT_LABEL = ('request', 'steal', 'query', 'watch', 'die', 'back')


@dataclasses.dataclass
class Wanted:
    """What a request asks for; `options` are those that are set, as the service takes them."""

    name: str
    bucket: str = 'default'
    options: dict = dataclasses.field(default_factory=dict)

    @property
    def mode(self):
        return self.options.get('mode', 'exclusive')


@dataclasses.dataclass
class Step:
    line: int
    text: str
    verb: str
    agent: str = ''
    is_awaited: bool = False
    label: str = None   # of the request that is made or referred to; an id in digits; a name to break
    bucket: str = None  # of other verbs than requests; None: the label's, or the default
    wanted: Wanted = None
    outcome: list = None  # the words after '->'; of released and tokens, those after the verb


@dataclasses.dataclass
class Case:
    name: str
    line: int
    limits: list = dataclasses.field(default_factory=list)
    steps: list = dataclasses.field(default_factory=list)


def _unescape(word):
    """C's escapes of UTF-8, and 'x'*1024 for a repetition."""
    text, star, count = word.partition('*')
    if '\\' in text:
        text = ast.literal_eval(f"b'{text}'").decode()
    return text * int(count) if star else text


def _parse_wanted(words):
    wanted = Wanted(_unescape(words.pop(0)))
    while words:
        word = words.pop(0)
        if word in ('shared', 'exclusive'):
            wanted.options['mode'] = word
        elif word in FLAGS:
            wanted.options[word] = True
        elif word in ('timeout', 'key', 'slots'):
            wanted.options[word] = int(words.pop(0))
        elif word in ('mode', 'why', 'for'):
            wanted.options[word] = _unescape(words.pop(0))
        elif word == 'bucket':
            wanted.bucket = _unescape(words.pop(0))
        else:
            raise ValueError(f'unknown option {word}')
    return wanted


def _parse_step(line, text):
    words = shlex.split(text)
    if words[0] == 'tokens':
        return Step(line, text, 'tokens', outcome=words[1:])
    step = Step(line, text, '', is_awaited=words[0] == 'await')
    words = words[step.is_awaited:]
    if not re.fullmatch('[A-Z]:', words[0]):
        raise ValueError('missing agent')
    step.agent = words.pop(0)[0]
    if words[1:2] == ['=']:
        step.label, words = words[0], words[2:]
    step.verb = words.pop(0)
    if step.verb not in VERBS:
        raise ValueError(f'unknown verb {step.verb}')
    if step.verb not in WITHOUT_LABEL:
        step.label = words.pop(0)
    step.outcome = []
    if step.verb == 'released':
        step.outcome = words
    elif '->' in words:
        at = words.index('->')
        words, step.outcome = words[:at], words[at + 1:]
    if step.verb in ('request', 'steal'):
        step.wanted = _parse_wanted(words)
    elif words[:1] == ['bucket']:
        step.bucket = words[1]
    return step


def load(path):
    cases = []
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            text = line.partition('#')[0].strip()
            if text.startswith('case '):
                cases.append(Case(text[5:].partition(':')[0], number))
            elif text.startswith('limit '):
                cases[-1].limits.append(text[6:])
            elif text:
                try:
                    cases[-1].steps.append(_parse_step(number, text))
                except (ValueError, IndexError) as error:
                    raise ValueError(f'line {number}: {error}') from error
    return cases
