"""Lock a process in, with the kernel's own means: namespaces, mounts, Landlock, limits.

Runs inside the sandbox process, which is started without any package, so this file imports the standard library alone. Every step that the sandbox rests on raises OSError where it can't be had; Landlock is added where the kernel has it.
"""

import ctypes
import os
import platform
import re
import resource
import struct
import sys

_libc = ctypes.CDLL(None, use_errno=True)

# unshare(2): user, mount, pid, network, ipc, host name
_NAMESPACES = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000
_NOBODY = 65534
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 32, 4096, 16384, 1 << 18
_MNT_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_SYSTEM_FOLDERS = ("/usr", "/lib", "/lib64", "/nix/store", "/gnu/store")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_TMP_OPTIONS = "size=64m,nr_inodes=4096,mode=1777"


def enter_namespaces() -> None:
    """New namespaces of every kind for this process (the pid one for its children), as nobody.

    Raises OSError where an ordinary user may not make them.
    """
    uid, gid = os.geteuid(), os.getegid()
    _check(_libc.unshare(_NAMESPACES), "unshare")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{_NOBODY} {uid} 1"),
        ("gid_map", f"{_NOBODY} {gid} 1"),
    ):
        try:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
        except OSError as error:
            # Since Linux 5.12 root can map itself only with the capability SETFCAP.
            hint = "; root needs the capability SETFCAP" if uid == 0 else ""
            raise OSError(error.errno, f"writing {name}: {error.strerror}{hint}") from error


def enter_root() -> list[str]:
    """Make a root of its own: Python and system libraries read-only, a private /tmp, four devices.

    Nothing else of the machine's files can be named afterwards, no home and no /proc. Returns the read-only folders.
    """
    folders = _readable_folders()
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", "/tmp", "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    os.mkdir("/tmp/old")
    number = _PIVOT_ROOT.get(platform.machine())
    if number is None:
        raise OSError(f"the number of the call pivot_root on {platform.machine()} is not known")
    _check(_libc.syscall(number, b"/tmp", b"/tmp/old"), "pivot_root")
    os.chdir("/")
    for folder, real in folders.items():
        os.makedirs(folder, exist_ok=True)
        _mount(f"/old{real}", folder, None, _MS_BIND | _MS_REC)
    os.mkdir("/dev")
    for device in _DEVICES:
        os.close(os.open(device, os.O_CREAT | os.O_WRONLY))
        _mount(f"/old{device}", device, None, _MS_BIND)
    _make_read_only(list(folders))
    os.mkdir("/tmp")
    _mount("tmpfs", "/tmp", "tmpfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, _TMP_OPTIONS)
    _check(_libc.umount2(b"/old", _MNT_DETACH), "umount")
    os.rmdir("/old")
    _mount(None, "/", None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)
    os.chdir("/tmp")
    return list(folders)


def drop_privileges() -> None:
    """No capabilities, now or through any later exec, and no access by debuggers."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    for capability in range(64):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails for those that do not exist
    header = struct.pack("Ii", 0x20080522, 0)
    _check(_libc.capset(header, bytes(24)), "capset")
    _prctl(_PR_SET_DUMPABLE, 0)


def die_with_parent() -> None:
    """SIGKILL for this process as soon as its parent is gone."""
    _prctl(_PR_SET_PDEATHSIG, 9)


def set_limits(cpu_s: int, memory_mb: int) -> None:
    """Limits on processor time, memory, open files and file size; no core dumps."""
    limits = {
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
        resource.RLIMIT_AS: (memory_mb << 20,) * 2,
        resource.RLIMIT_FSIZE: (16 << 20,) * 2,
        resource.RLIMIT_NOFILE: (64, 64),
        resource.RLIMIT_CORE: (0, 0),
    }
    for name, (soft, hard) in limits.items():
        ceiling = resource.getrlimit(name)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(name, (soft, hard))


def limit_processes(number: int) -> None:
    """No more than this many processes and threads of this user (before Linux 5.14, in any namespace)."""
    resource.setrlimit(resource.RLIMIT_NPROC, (number, number))


def restrict_files(folders: list[str]) -> bool:
    """Landlock: read `folders`, read and write /tmp and /dev/null, no network. False if there is none."""
    version = _libc.syscall(444, None, 0, 1)
    if version < 1:
        return False
    everything = (1 << (13 + min(version - 1, 2))) - 1 | (1 << 15 if version >= 5 else 0)
    attributes = struct.pack("QQQ", everything, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _check(_libc.syscall(444, attributes, size, 0), "landlock_create_ruleset")
    read = 1 << 2 | 1 << 3
    # In /tmp everything but execution, devices and sockets.
    scratch = everything & ~(1 << 0 | 1 << 6 | 1 << 9 | 1 << 11 | 1 << 15)
    rules = dict.fromkeys(folders, read) | dict.fromkeys(_DEVICES, 1 << 1 | 1 << 2)
    for path, allowed in {**rules, "/tmp": scratch}.items():
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", allowed & everything, handle)
        _check(_libc.syscall(445, ruleset, 1, rule, 0), "landlock_add_rule")
        os.close(handle)
    _check(_libc.syscall(446, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)
    return True


_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}


def _readable_folders() -> dict[str, str]:
    """The folders that Python and the system libraries are in, and where they really lie."""
    folders: dict[str, str] = {}
    for folder in (*_SYSTEM_FOLDERS, sys.base_prefix, sys.base_exec_prefix):
        inside = any(folder == done or folder.startswith(f"{done}/") for done in folders)
        if os.path.isdir(folder) and not inside:
            folders[folder] = os.path.realpath(folder)
    return folders


def _make_read_only(folders: list[str]) -> None:
    # Every mount on its own: a read-only bind mount does not reach the mounts below it, and each
    # must keep the restrictions it already has.
    with open("/old/proc/self/mountinfo") as file:
        lines = [line.split() for line in file]
    for fields in lines:
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])
        if not any(point == folder or point.startswith(f"{folder}/") for folder in folders):
            continue
        options = fields[5].split(",")
        flags = _MS_RDONLY | _MS_NOSUID | _MS_NODEV | (_MS_NOEXEC if "noexec" in options else 0)
        _mount(None, point, None, _MS_REMOUNT | _MS_BIND | flags)


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    arguments = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    result = _libc.mount(
        *arguments, ctypes.c_ulong(flags), None if options is None else options.encode()
    )
    _check(result, f"mount {target}")


def _prctl(option: int, value: int) -> None:
    _check(_libc.prctl(option, value, 0, 0, 0), "prctl")


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
