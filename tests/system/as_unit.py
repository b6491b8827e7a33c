# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs a program as systemd would run it by a unit, without systemd.

    as_unit.py UNIT UID BUS-SOCKET STATE-DIRECTORY PROGRAM [ARGUMENT...]

The settings of the unit are applied to this process, which then executes the program: user,
capabilities, namespaces, a read-only file system, limits, and system call filters. A user unit has
fewer of them. A call that a filter denies kills the process (SIGSYS), so that none goes unnoticed.
A setting of [Service] that is not in SETTINGS is an error: every setting that is added to a unit
has to be added here.

Needs root and python3-seccomp, and systemd-analyze for the groups of system calls."""

import errno
import functools
import os
import resource
import signal
import socket
import subprocess
import sys

import seccomp

from kernel import (
    CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER,
    CLONE_NEWUTS, MS_BIND, MS_NOEXEC, MS_PRIVATE, MS_RDONLY, MS_REC, MS_REMOUNT, PR_CAPBSET_DROP,
    PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG, mount, prctl, unshare)

NAMESPACES = (0x80, CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER,
              CLONE_NEWPID, CLONE_NEWNET)
PROT_WRITE, PROT_EXEC, SHM_EXEC = 2, 4, 0o100000
SET_ID_BITS = (0o4000, 0o2000)
SIZES = {'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}

def read_service(path):
    """[Service] as a list of (key, value), in order."""
    pairs, section = [], None
    with open(path, encoding='utf-8') as file:
        for line in map(str.strip, file):
            if line.startswith('['):
                section = line
            elif line and line[0] not in '#;' and section == '[Service]':
                key, _, value = line.partition('=')
                pairs.append((key, value))
    return pairs


# ---- system calls

@functools.cache
def groups():
    """systemd's groups: {group: [system call or group, ...]}."""
    text = subprocess.run(['systemd-analyze', 'syscall-filter'], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    found, members = {}, []
    for line in text.splitlines():
        if line.startswith('@'):
            members = found.setdefault(line.strip(), [])
        elif line.startswith(' ') and not line.lstrip().startswith('#'):
            members.append(line.strip())
    return found


def calls_of(word):
    """The names of a system call or of a group of them."""
    if not word.startswith('@'):
        return {word}
    return set().union(*map(calls_of, groups()[word]))


def allowed_calls(lines):
    """Combines the lines of SystemCallFilter= as systemd does; the first one decides the default."""
    allowed = calls_of('@default')
    for line in lines:
        names = set().union(*map(calls_of, line.lstrip('~').split()))
        allowed = allowed - names if line.startswith('~') else allowed | names
    return allowed | calls_of('@default')


def load_filter(action, rules):
    filter_ = seccomp.SyscallFilter(action)
    for rule_action, name, *conditions in rules:
        # System calls that this architecture doesn't have are skipped.
        if seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) != -1:
            filter_.add_rule(rule_action, name, *conditions)
    filter_.load()


def forbid(*rules):
    """A separate filter, as systemd makes them: a call must be permitted by all filters."""
    load_filter(seccomp.ALLOW, [(seccomp.KILL_PROCESS, *rule) for rule in rules])


def masked(argument, bits):
    return seccomp.Arg(argument, seccomp.MASKED_EQ, bits, bits)


def restrict_namespaces(_value):
    # The flags of clone3 are in memory, which filters can't read; without clone3 the C library uses
    # clone.
    load_filter(seccomp.ALLOW, [
        (seccomp.ERRNO(errno.ENOSYS), 'clone3'), (seccomp.KILL_PROCESS, 'unshare'),
        (seccomp.KILL_PROCESS, 'setns'),
        *((seccomp.KILL_PROCESS, 'clone', masked(0, flag)) for flag in NAMESPACES)])


def restrict_address_families(value):
    family = int(getattr(socket, value))
    forbid(('socket', seccomp.Arg(0, seccomp.NE, family)))


def deny_write_execute(_value):
    forbid(('mmap', masked(2, PROT_WRITE | PROT_EXEC)), ('mprotect', masked(2, PROT_EXEC)),
           ('pkey_mprotect', masked(2, PROT_EXEC)), ('shmat', masked(2, SHM_EXEC)))


def restrict_set_id(_value):
    forbid(*((name, masked(argument, bit)) for bit in SET_ID_BITS for name, argument in (
        ('chmod', 1), ('fchmod', 1), ('fchmodat', 2), ('mkdir', 1), ('mkdirat', 2), ('mknod', 1),
        ('mknodat', 2), ('creat', 1), ('open', 2), ('openat', 3))))


def restrict_realtime(_value):
    forbid(('sched_setscheduler', seccomp.Arg(1, seccomp.NE, os.SCHED_OTHER)))


def lock_personality(_value):
    forbid(('personality', seccomp.Arg(0, seccomp.NE, 0)))


# ---- file system

def read_only_root(socket_path, state_directory, inaccessible, noexec):
    """ProtectSystem=strict, ProtectHome=, PrivateTmp=: everything is read-only, /run has only the
    bus and the state directory, and the given paths are inaccessible or noexec."""
    mount(None, '/', flags=MS_REC | MS_PRIVATE)
    fds = [os.open(path, os.O_PATH) for path in (socket_path, state_directory)]
    mount('tmpfs', '/run', 'tmpfs')
    os.mkdir('/run/dbus')
    os.mkdir('/run/weblocks')
    with open('/run/dbus/system_bus_socket', 'x', encoding='utf-8'):
        pass
    for fd, path in zip(fds, ('/run/dbus/system_bus_socket', '/run/weblocks')):
        mount(f'/proc/self/fd/{fd}', path, flags=MS_BIND)
        os.close(fd)
    for path in ('/home', '/root', '/tmp', '/var/tmp'):
        if os.path.isdir(path):
            mount('tmpfs', path, 'tmpfs')
    for path in noexec:
        mount(None, path, flags=MS_REMOUNT | MS_BIND | MS_NOEXEC)
    for path in inaccessible:
        mount('tmpfs', path, 'tmpfs')
        os.chmod(path, 0)
    with open('/proc/self/mountinfo', encoding='utf-8') as file:
        points = [line.split()[4].encode().decode('unicode_escape') for line in file]
    for point in points:
        if point != '/run/weblocks' and not point.startswith(('/proc', '/sys', '/dev')):
            try:
                mount(None, point, flags=MS_REMOUNT | MS_BIND | MS_RDONLY)
            except OSError as error:
                # Covered by another mount, so not writable either.
                if error.errno not in (errno.ENOENT, errno.EINVAL, errno.EACCES):
                    raise


# ---- users

def private_users(uid):
    """A user namespace in which only root and the service's user are mapped. The mapping has to be
    written by a process outside."""
    me = os.getpid()
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        os.read(ready, 1)
        ids = ''.join(f'{number} {number} 1\n' for number in {0, uid})
        for name in ('uid_map', 'gid_map'):
            with open(f'/proc/{me}/{name}', 'w', encoding='ascii') as file:
                file.write(ids)
        os._exit(0)
    unshare(CLONE_NEWUSER)
    os.close(go)
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError('no user namespace')
    os.close(ready)


def become(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def drop_bounding_set():
    with open('/proc/sys/kernel/cap_last_cap', encoding='ascii') as file:
        last = int(file.read())
    for capability in range(last + 1):
        prctl(PR_CAPBSET_DROP, capability)


def limit(number, value):
    amount = int(value[:-1]) * SIZES[value[-1]] if value[-1] in SIZES else int(value)
    resource.setrlimit(number, (amount, amount))


# The implementation of each setting: a filter of system calls, or the reason why nothing is done.
FILTERS = {
    'LockPersonality': lock_personality,
    'MemoryDenyWriteExecute': deny_write_execute,
    'RestrictAddressFamilies': restrict_address_families,
    'RestrictNamespaces': restrict_namespaces,
    'RestrictRealtime': restrict_realtime,
    'RestrictSUIDSGID': restrict_set_id,
}
ELSEWHERE = 'main() does it'
OF_THE_FILTER = 'it forbids calls, or files of root, that SystemCallFilter= or User= forbid already'
OF_THE_MANAGER = 'it concerns the manager, before and after the process'
SETTINGS = {
    **{key: 'a filter' for key in FILTERS},
    **dict.fromkeys(('CapabilityBoundingSet', 'InaccessiblePaths', 'LimitCORE', 'LimitNOFILE',
                     'MemoryMax', 'NoExecPaths', 'TasksMax', 'ReadOnlyPaths',
                     'NoNewPrivileges', 'PrivateMounts', 'PrivateNetwork', 'PrivateTmp',
                     'PrivateUsers', 'ProtectHome', 'ProtectSystem', 'RemoveIPC',
                     'RuntimeDirectory', 'SystemCallFilter', 'SystemCallErrorNumber', 'UMask',
                     'User'), ELSEWHERE),
    **dict.fromkeys(('ProtectClock', 'ProtectControlGroups', 'ProtectHostname', 'ProtectKernelLogs',
                     'ProtectKernelModules', 'ProtectKernelTunables', 'PrivateDevices',
                     'SystemCallArchitectures'), OF_THE_FILTER),
    **dict.fromkeys(('Type', 'BusName', 'ExecStart', 'Restart', 'RestartSec',
                     'RuntimeDirectoryMode', 'RuntimeDirectoryPreserve', 'Slice'), OF_THE_MANAGER),
    'IPAddressDeny': 'PrivateNetwork= leaves no network',
}


def main():
    unit, uid, socket_path, state_directory, program, *arguments = sys.argv[1:]
    uid = int(uid)
    pairs = read_service(unit)
    service = dict(pairs)
    unknown = sorted(key for key in service if key not in SETTINGS)
    if unknown:
        raise SystemExit(f'as_unit.py: what do {unknown} come to here?')
    rules = [(seccomp.ALLOW, name) for name in sorted(
        allowed_calls([value for key, value in pairs if key == 'SystemCallFilter']))]

    program_fd = os.open(program, os.O_RDONLY)
    os.set_inheritable(program_fd, True)
    if service.get('ProtectSystem') == 'strict':
        unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC)
        inaccessible = [path.lstrip('-') for path in service['InaccessiblePaths'].split()]
        read_only_root(socket_path, state_directory, filter(os.path.isdir, inaccessible),
                       service['NoExecPaths'].split())
        state_directory = '/run/weblocks'
    os.chdir('/')
    os.umask(int(service['UMask'], 8))
    if 'LimitCORE' in service:
        limit(resource.RLIMIT_CORE, service['LimitCORE'])
    limit(resource.RLIMIT_NOFILE, service['LimitNOFILE'])
    # Control groups may not be available here. These two limits are similar: private memory, and
    # the tasks of a user without other processes.
    limit(resource.RLIMIT_DATA, service['MemoryMax'])
    limit(resource.RLIMIT_NPROC, service['TasksMax'])
    if service.get('PrivateUsers') == 'yes':
        private_users(uid)
    # Afterwards, since a new user namespace begins with all capabilities.
    if 'CapabilityBoundingSet' in service:
        drop_bounding_set()
    become(uid)
    # A change of the user resets it.
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    env = {'PATH': os.defpath, 'LANG': 'C.UTF-8', 'RUNTIME_DIRECTORY': state_directory,
           'HOME': '/nonexistent', 'DBUS_SESSION_BUS_ADDRESS': f'unix:path={socket_path}'}
    for key, value in pairs:
        if key in FILTERS:
            FILTERS[key](value)
    load_filter(seccomp.KILL_PROCESS, rules)
    os.execve(program_fd, [program, *arguments], env)


if __name__ == '__main__':
    main()
