"""The bytes of a plain zip file of arrays: members one after the other, stored as they are.

Names, sizes and checksums decide every byte around the contents. So a reader need not parse a zip,
which is where tricks hide; it compares. Every entry has the 64-bit fields, which fit any size, and
a fixed date: equal contents give equal files.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

VERSION_NEEDED = 45  # of the zip format: the one with 64-bit fields
JANUARY_1980 = 0x21
SEE_BELOW = 0xFFFFFFFF  # the number stands in the 64-bit field
SEE_BELOW_SHORT = 0xFFFF
CRC_AT = 14  # in the opening of a member
FRAME = 50  # bytes of an opening besides the name
ENTRY = 74  # bytes of an entry of the directory besides the name
END = 98  # bytes after the entries of the directory


class Member(NamedTuple):
    """A file inside the zip: its name, the number of its bytes, and their CRC-32."""

    name: str
    size: int
    crc: int = 0


def opening(member: Member) -> bytes:
    """Return the bytes before the contents of a member."""
    name = member.name.encode("ascii")
    return (
        struct.pack(
            "<4s5H3I2H",
            b"PK\3\4",
            VERSION_NEEDED,
            0,
            0,
            0,
            JANUARY_1980,
            member.crc,
            SEE_BELOW,
            SEE_BELOW,
            len(name),
            20,
        )
        + name
        + struct.pack("<2H2Q", 1, 16, member.size, member.size)
    )


def read_crc(opened: bytes) -> int:
    """Return the checksum that an opening states."""
    return struct.unpack_from("<I", opened, CRC_AT)[0]


def read_size(opened: bytes) -> int:
    """Return the number of bytes that an opening states."""
    return struct.unpack_from("<Q", opened, len(opened) - 8)[0]


def offsets(members: Sequence[Member]) -> list[int]:
    """Return where the opening of every member begins, and where the directory does."""
    places = [0]
    for member in members:
        places.append(places[-1] + FRAME + len(member.name) + member.size)
    return places


def directory(members: Sequence[Member]) -> bytes:
    """Return the bytes after the last member."""
    *places, start = offsets(members)
    entries = b"".join(map(_entry, members, places))
    n, size = len(members), len(entries)
    return (
        entries
        + struct.pack(
            "<4sQ2H2I4Q", b"PK\6\6", 44, VERSION_NEEDED, VERSION_NEEDED, 0, 0, n, n, size, start
        )
        + struct.pack("<4sIQI", b"PK\6\7", 0, start + size, 1)
        + struct.pack(
            "<4s4H2IH", b"PK\5\6", 0, 0, SEE_BELOW_SHORT, SEE_BELOW_SHORT, SEE_BELOW, SEE_BELOW, 0
        )
    )


def _entry(member: Member, place: int) -> bytes:
    name = member.name.encode("ascii")
    return (
        struct.pack(
            "<4s6H3I5H2I",
            b"PK\1\2",
            VERSION_NEEDED,
            VERSION_NEEDED,
            0,
            0,
            0,
            JANUARY_1980,
            member.crc,
            SEE_BELOW,
            SEE_BELOW,
            len(name),
            28,
            0,
            0,
            0,
            0,
            SEE_BELOW,
        )
        + name
        + struct.pack("<2H3Q", 1, 24, member.size, member.size, place)
    )


def total_size(members: Sequence[Member]) -> int:
    """Return the number of bytes of the whole file."""
    return offsets(members)[-1] + END + sum(ENTRY + len(member.name) for member in members)


def npy_head(dtype: str, shape: Sequence[int]) -> bytes:
    """Return the bytes before the data of an array, as numpy writes them.

    Examples
    --------
    >>> npy_head("<f8", (2, 3))[10:60]
    b"{'descr': '<f8', 'fortran_order': False, 'shape': "
    """
    text = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    whole = -(-(10 + len(text) + 1) // 64) * 64  # numpy aligns data to 64 bytes
    line = text.ljust(whole - 11) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(line)) + line.encode("ascii")
