"""A seccomp filter: the system calls that a candidate program has no use for fail.

Runs inside the sandbox process, with the standard library alone. It comes on top of the namespaces: it makes the first fork or socket of a program fail, and keeps the kernel's rarer parts out of reach.
"""

import ctypes
import os
import platform
import struct
import sys

# The denied calls and their numbers on x86-64 and on 64-bit Arm.
_DENIED = {
    "socket": (41, 198),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "chroot": (161, 51),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "open_by_handle_at": (304, 265),
}
# The name of the architecture in the filter, the number of `clone`, the column of the table.
_MACHINES = {"x86_64": (0xC000003E, 56, 0), "aarch64": (0xC00000B7, 220, 1)}
_CLONE3 = 435
_CLONE_THREAD = 0x00010000
_X32 = 0x40000000  # numbers from here on are x86-64's second set of calls
_ALLOW, _NOT_PERMITTED, _NO_SUCH_CALL = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16


def filter_calls() -> bool:
    """From now on: no new process, program, socket, mount or namespace, no look into another process.

    Such a call fails with EPERM. Threads are allowed. False, and nothing done, on a machine whose call numbers are not in the table. Raises OSError if the kernel refuses the filter.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.maxsize < 2**32:
        return False
    program = b"".join(struct.pack("HBBI", *line) for line in _program(*machine))
    code = ctypes.create_string_buffer(program)
    description = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    if ctypes.CDLL(None, use_errno=True).prctl(22, 2, description, 0, 0) < 0:  # PR_SET_SECCOMP
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")
    return True


def _program(architecture: int, clone: int, column: int) -> list[tuple[int, int, int, int]]:
    """The filter, one (operation, jump if true, jump if false, value) per instruction."""
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _NOT_PERMITTED),
        (_LOAD, 0, 0, _NUMBER),
        (_IF_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _NOT_PERMITTED),
        (_IF_EQUAL, 0, 1, _CLONE3),  # its flags are behind a pointer; libc falls back to clone
        (_RETURN, 0, 0, _NO_SUCH_CALL),
        (_IF_EQUAL, 0, 4, clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_IF_BITS, 1, 0, _CLONE_THREAD),
        (_RETURN, 0, 0, _NOT_PERMITTED),
        (_RETURN, 0, 0, _ALLOW),
    ]
    for numbers in _DENIED.values():
        if (number := numbers[column]) is not None:
            lines += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _NOT_PERMITTED)]
    return [*lines, (_RETURN, 0, 0, _ALLOW)]
