"""How the sandbox's processes talk: frames of JSON, and values as JSON that keep their types.

Runs inside the sandbox process too, with the standard library alone. Nothing is unpickled, so what comes from a candidate is data and nothing else.
"""

import decimal
import fractions
import json
import os
import select
import struct
import time
from typing import Any

MAX_FRAME = 16 << 20


def pack(value: dict[str, Any]) -> bytes:
    """A JSON object as a frame: its length in four bytes, then its text."""
    data = json.dumps(value).encode()
    return struct.pack(">I", len(data)) + data


def unpack(data: bytes) -> list[dict[str, Any]]:
    """The frames that `data` consists of."""
    frames = []
    while data:
        (size,) = struct.unpack_from(">I", data)
        frames.append(json.loads(data[4 : 4 + size]))
        data = data[4 + size :]
    return frames


def write_frame(descriptor: int, value: dict[str, Any]) -> None:
    """Write a frame to a file descriptor."""
    view = memoryview(pack(value))
    while view:
        view = view[os.write(descriptor, view) :]


def read_frame(descriptor: int, deadline: float | None = None) -> dict[str, Any]:
    """Read a frame from a file descriptor; `deadline` is a time.monotonic().

    Raises TimeoutError at the deadline, EOFError at the end, ValueError for anything that is no frame or larger than MAX_FRAME.
    """
    (size,) = struct.unpack(">I", _read(descriptor, 4, deadline))
    if size > MAX_FRAME:
        raise ValueError(f"larger than {MAX_FRAME >> 20} MB")
    value = json.loads(_read(descriptor, size, deadline))
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def encode(value: Any) -> list[Any]:
    """A plain value as JSON that `decode` gives back with the same types; TypeError for any other.

    Plain are None, bool, int, float, complex, str, bytes, bytearray, Fraction, Decimal, and lists, tuples, sets, frozensets and dicts of them (subclasses of these five become the class itself).
    """
    if value is None:
        return ["None"]
    kind = type(value)
    if kind in _WRITE:
        return [kind.__name__, _WRITE[kind](value)]
    for base in _GROUPS.values():
        if isinstance(value, base):
            return [base.__name__, [encode(entry) for entry in base.__iter__(value)]]
    if isinstance(value, dict):
        return ["dict", [[encode(key), encode(entry)] for key, entry in dict.items(value)]]
    raise TypeError(f"a value of type {kind.__name__} is not a plain value")


def decode(data: list[Any]) -> Any:
    """The value that `encode` wrote; ValueError, TypeError or LookupError if `data` is something else."""
    if data == ["None"]:
        return None
    name, content = data
    if name == "dict":
        return {decode(key): decode(entry) for key, entry in content}
    if name in _GROUPS:
        return _GROUPS[name](map(decode, content))
    return _READ[name](content)


_WRITE: dict[type, Any] = {
    bool: bool,
    str: str,
    int: hex,
    float: float.hex,
    complex: lambda value: [value.real.hex(), value.imag.hex()],
    bytes: bytes.hex,
    bytearray: bytearray.hex,
    fractions.Fraction: str,
    decimal.Decimal: str,
}
_READ: dict[str, Any] = {
    "bool": bool,
    "str": str,
    "int": lambda text: int(text, 16),
    "float": float.fromhex,
    "complex": lambda parts: complex(*map(float.fromhex, parts)),
    "bytes": bytes.fromhex,
    "bytearray": bytearray.fromhex,
    "Fraction": fractions.Fraction,
    "Decimal": decimal.Decimal,
}
_GROUPS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def _read(descriptor: int, size: int, deadline: float | None) -> bytes:
    data = bytearray()
    while len(data) < size:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise TimeoutError
        part = os.read(descriptor, min(size - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return bytes(data)
