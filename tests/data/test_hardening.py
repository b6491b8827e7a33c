# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The settings of the installed units and the rules of the installed policy, read as text, which
detects missing lines. That the service works with them, and that they have effect, is tested in
tests/system/."""

import copy
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import tap
from buses import environment, read_text
from installation import Installation

NAME = 'org.w3.WebLocks'
INTERFACES = {'org.w3.WebLocks', 'org.w3.WebLocks.Service', 'org.freedesktop.DBus.Introspectable',
              'org.freedesktop.DBus.Peer', 'org.freedesktop.DBus.Properties'}
# The only call of the service to clients, whose names are not known before.
PING = {'send_type': 'method_call', 'send_path': '/',
        'send_interface': 'org.freedesktop.DBus.Peer', 'send_member': 'Ping'}
# Its calls of the bus, each with a separate rule.
STATISTICS = [{'send_destination': 'org.freedesktop.DBus', 'send_type': 'method_call',
               'send_path': '/org/freedesktop/DBus',
               'send_interface': 'org.freedesktop.DBus.Debug.Stats', 'send_member': member}
              for member in ('GetConnectionStats', 'GetStats')]

# systemd-analyze reports the exposure in tenths, from 0 to 100. The gateway needs the network.
MOST_EXPOSED = {'system': 10, 'cluster': 12}

CALLS = ('@system-service', '~@privileged @resources @aio @chown @keyring @memlock @setuid',
         '~memfd_create userfaultfd vmsplice')
# Settings of all units, ...
ALL = {
    'LockPersonality': 'yes',
    'MemoryDenyWriteExecute': 'yes',
    'NoNewPrivileges': 'yes',
    'RestrictNamespaces': 'yes',
    'RestrictRealtime': 'yes',
    'SystemCallArchitectures': 'native',
    'SystemCallErrorNumber': 'EPERM',
    'TasksMax': '16',
    'UMask': '0077',
}
# ... of the service, ...
SERVICE = {**ALL, 'RestrictAddressFamilies': 'AF_UNIX', 'RuntimeDirectoryMode': '0700'}
# ... of the system units, for which a user's manager has no privilege, ...
SYSTEM = {'CapabilityBoundingSet': '', 'InaccessiblePaths': '-/dev/shm', 'IPAddressDeny': 'any',
          'LimitCORE': '0', 'ProtectSystem': 'strict', 'ReadOnlyPaths': '/run',
          **dict.fromkeys(('PrivateDevices', 'PrivateMounts', 'PrivateTmp', 'ProtectClock',
                           'ProtectControlGroups', 'ProtectHome', 'ProtectHostname',
                           'ProtectKernelLogs', 'ProtectKernelModules', 'ProtectKernelTunables',
                           'RemoveIPC', 'RestrictSUIDSGID'), 'yes')}
# ... and of each unit.
EACH = {
    'user': {**SERVICE, 'LimitNOFILE': '2048', 'MemoryMax': '512M'},
    'system': {**SERVICE, **SYSTEM, 'LimitNOFILE': '8192', 'MemoryMax': '1G',
               'NoExecPaths': '/run/weblocks /tmp /var/tmp', 'PrivateNetwork': 'yes',
               'PrivateUsers': 'yes'},
    'cluster': {**ALL, **SYSTEM, 'LimitNOFILE': '256', 'MemoryMax': '256M',
                'NoExecPaths': '/var/lib/weblocks-cluster /tmp /var/tmp',
                'ProtectProc': 'invisible', 'RestartPreventExitStatus': '78',
                'RestrictAddressFamilies': 'AF_UNIX AF_INET AF_INET6',
                'StateDirectoryMode': '0700'},
}
UNITS = {'user': 'user/weblocksd.service', 'system': 'system/weblocksd.service',
         'cluster': 'system/weblocks-clusterd.service'}
# In [Unit], of both: some failures don't stop the restarts, but a service that fails at every start
# is not restarted indefinitely.
START_LIMIT = {'StartLimitIntervalSec': '10', 'StartLimitBurst': '20'}
# Settings that would prevent the identification of clients, or other functions: see
# docs/hardening.md.
NEVER = {
    'user': {'PrivateUsers', 'PrivateTmp', 'PrivateNetwork', 'ProtectSystem', 'ProtectHome',
             'ProtectProc', 'ProcSubset', 'RestrictSUIDSGID'},
    'system': {'ProtectProc', 'ProcSubset', 'DynamicUser', 'RootDirectory'},
    'cluster': {'PrivateUsers', 'PrivateNetwork', 'ProcSubset', 'DynamicUser', 'IPAddressAllow'},
}

STAGE = None


def setUpModule():
    global STAGE
    root = tempfile.mkdtemp(prefix='weblocks-stage-')
    unittest.addModuleCleanup(shutil.rmtree, root, ignore_errors=True)
    STAGE = Installation(environment('WEBLOCKS_BUILD_DIR'), root).install()
    if STAGE.options['cluster'] != 'enabled' and \
            not any(path.endswith(UNITS['cluster']) for path in STAGE.files()):
        tap.diagnostic('built without the gateway to a cluster')
        for table in (EACH, NEVER):
            del table['cluster']


def unit_of(kind):
    path, = (path for path in STAGE.files() if path.endswith(f'/{UNITS[kind]}'))
    return path


def settings(kind, wanted='[Service]'):
    """A section as {key: [value, ...]}."""
    found, section = {}, None
    with open(unit_of(kind), encoding='utf-8') as file:
        for line in map(str.strip, file):
            if line.startswith('['):
                section = line
            elif line and not line.startswith('#') and section == wanted:
                key, _, value = line.partition('=')
                found.setdefault(key, []).append(value)
    return found


class Units(unittest.TestCase):
    def analyze(self, path, most=MOST_EXPOSED['system']):
        """Returns (whether the exposure is at most this, the table)."""
        analyze = shutil.which('systemd-analyze')
        if not analyze:
            self.skipTest('no systemd-analyze')
        result = subprocess.run(
            [analyze, 'security', '--offline=yes', '--no-pager', f'--threshold={most}',
             path], env={**os.environ, 'LC_ALL': 'C.UTF-8'}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)
        self.assertRegex(result.stdout, 'Overall exposure level', result.returncode)
        return result.returncode == 0, result.stdout

    def test_the_system_units_are_not_exposed(self):
        for kind in sorted(EACH.keys() - {'user'}):
            with self.subTest(kind):
                good, table = self.analyze(unit_of(kind), MOST_EXPOSED[kind])
                tap.diagnostic(re.search('Overall exposure.*', table)[0])
                self.assertTrue(good, table)

    def test_an_unhardened_unit_is_exposed(self):
        """The same unit without the lines of EACH."""
        with open(unit_of('system'), encoding='utf-8') as file:
            lines = [line for line in file if line.partition('=')[0] not in
                     {*EACH['system'], 'SystemCallFilter'}]
        with tempfile.TemporaryDirectory(prefix='weblocks-unit-') as directory:
            path = os.path.join(directory, 'weblocksd.service')
            with open(path, 'w', encoding='utf-8') as file:
                file.writelines(lines)
            good, table = self.analyze(path)
        self.assertFalse(good, table)

    def test_settings_are_those_of_the_list(self):
        for kind, expected in EACH.items():
            found = settings(kind)
            for key, value in expected.items():
                with self.subTest(unit=kind, setting=key):
                    self.assertEqual(found.get(key), [value])
            with self.subTest(unit=kind, setting='SystemCallFilter'):
                self.assertEqual(tuple(found['SystemCallFilter']), CALLS)
            found = settings(kind, '[Unit]')
            self.assertEqual({key: found.get(key) for key in START_LIMIT},
                             {key: [value] for key, value in START_LIMIT.items()})

    def test_names_of_users_can_be_looked_up_before(self):
        """Those of cluster.conf, at the start: the units of sssd and others come before this target."""
        for kind in sorted(EACH.keys() - {'user'}):
            with self.subTest(kind):
                self.assertIn('nss-user-lookup.target', settings(kind, '[Unit]').get('After', ()))

    def test_nothing_hides_the_clients(self):
        for kind, never in NEVER.items():
            self.assertEqual(never & set(settings(kind)), set(), kind)

    def test_only_the_service_may_enter_the_socket_of_the_gateway(self):
        if 'cluster' not in EACH:
            self.skipTest('built without the gateway to a cluster')
        socket, = (path for path in STAGE.files()
                   if path.endswith('/system/weblocks-clusterd.socket'))
        lines = read_text(socket).splitlines()
        self.assertEqual([line for line in lines if re.match('(Listen|Socket|Directory)', line)],
                         ['ListenSequentialPacket=/run/weblocks-cluster/socket',
                          f"SocketUser={STAGE.options['system_user']}", 'SocketMode=0600',
                          'DirectoryMode=0755'])

    def test_every_setting_has_its_reason(self):
        with open(os.path.join(environment('WEBLOCKS_SOURCE_DIR'), 'docs/hardening.md'),
                  encoding='utf-8') as file:
            text = file.read()
        for kind, expected in EACH.items():
            for key in {*expected, 'SystemCallFilter', *START_LIMIT, *NEVER[kind]}:
                with self.subTest(unit=kind, setting=key):
                    self.assertRegex(text, rf'`{key}=')


def problems(policies, user):
    """The mistakes in the <policy> elements of a file, as a list of sentences."""
    found = []
    owners = []
    opened = []
    asked = []
    for policy in policies:
        subject = dict(policy.attrib)
        if subject not in ({'user': user}, {'context': 'default'}):
            found.append(f'a policy for {subject}')
        for rule in policy:
            rest = dict(rule.attrib)
            if rule.tag not in ('allow', 'deny'):
                found.append(f'a rule <{rule.tag}>')
            if rest in (PING, *STATISTICS) and subject == {'user': user} and rule.tag == 'allow':
                asked.append(rest)
                continue
            interface = rest.pop('send_interface', None)
            if rest not in ({'own': NAME}, {'send_destination': NAME}):
                found.append(f'a rule that is not about the service alone: {rule.attrib}')
            if rule.tag == 'allow' and 'own' in rest:
                owners.append(subject)
            if rule.tag == 'allow' and 'send_destination' in rest:
                opened.append(interface)
    if asked != [PING, *STATISTICS]:
        found.append(f'the service may ask {asked}')
    if owners != [{'user': user}]:
        found.append(f'the name may be owned by {owners}')
    if sorted(opened, key=str) != sorted(INTERFACES):
        found.append(f'open are {opened}')
    default = policies[-1]
    if default.get('context') != 'default' or default[0].tag != 'deny' or \
            default[0].attrib != {'send_destination': NAME} or \
            any(rule.tag != 'allow' for rule in default[1:]):
        found.append('not all is denied before something is allowed')
    return found


class Policy(unittest.TestCase):
    """The rules of the system bus: each has the service's name."""

    MISTAKES = {
        'any user may own it': ('default', '<allow own="org.w3.WebLocks"/>'),
        'it may own more': ('user', '<allow own="org.w3.Other"/>'),
        'it may own all below': ('user', '<allow own_prefix="org.w3.WebLocks"/>'),
        'an interface of any service': ('default', '<allow send_interface="org.w3.WebLocks"/>'),
        'a call of any client': ('default', '<allow send_interface="org.freedesktop.DBus.Peer" '
                                           'send_member="Ping" send_type="method_call" '
                                           'send_path="/"/>'),
        'statistics for all users': ('default', ElementTree.tostring(
            ElementTree.Element('allow', STATISTICS[0]), encoding='unicode')),
        'more than two methods': ('user', '<allow send_destination="org.freedesktop.DBus" '
                                          'send_interface="org.freedesktop.DBus.Debug.Stats"/>'),
        'all interfaces': ('default', '<allow send_destination="org.w3.WebLocks"/>'),
        'another interface': ('default', '<allow send_destination="org.w3.WebLocks" '
                                         'send_interface="org.example.Other"/>'),
        'all messages': ('default', '<allow send_type="method_call"/>'),
        'a rule about another service': ('default', '<deny send_destination="org.example.Other"/>'),
        'eavesdropping': ('user', '<allow eavesdrop="true"/>'),
        'receiving': ('user', '<allow receive_sender="org.example.Other"/>'),
        'denied too late': ('default', '<deny send_destination="org.w3.WebLocks"/>'),
    }

    @classmethod
    def setUpClass(cls):
        cls.path = STAGE.path('share/dbus-1/system.d/org.w3.WebLocks.conf')
        cls.root = ElementTree.parse(cls.path).getroot()
        cls.user = STAGE.options['system_user']

    def test_is_well_formed(self):
        xmllint = shutil.which('xmllint')
        if not xmllint:
            self.skipTest('no xmllint')
        subprocess.run([xmllint, '--nonet', '--noout', self.path], check=True)

    def test_every_rule_is_about_the_service_alone(self):
        self.assertEqual({child.tag for child in self.root}, {'policy'})
        self.assertEqual(problems(self.root.findall('policy'), self.user), [])

    def test_mistakes_are_found(self):
        """Each of these mistakes is detected."""
        for what, (where, rule) in self.MISTAKES.items():
            with self.subTest(what):
                root = copy.deepcopy(self.root)
                policy, = (policy for policy in root.findall('policy')
                           if where in (policy.get('context'), *policy.attrib))
                policy.append(ElementTree.fromstring(rule))
                self.assertNotEqual(problems(root.findall('policy'), self.user), [])
