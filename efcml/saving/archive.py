"""One file of JSON and arrays, written as a whole or not at all, and read with suspicion.

The first member of the zip is ``header.json``; then comes one ``.npy`` per array. The header and
what a reader expects of it decide the length of the file and every byte that is no data. All of
that is compared before the first array is allocated.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml import __version__
from efcml.saving.file_checks import shorten, take
from efcml.saving.layout import (
    FRAME,
    Member,
    directory,
    npy_head,
    offsets,
    opening,
    read_crc,
    read_size,
    total_size,
)
from efcml.saving.older_files import arrays_of, up_to_date
from efcml.support.folders import replacing

if TYPE_CHECKING:
    from io import BufferedReader

    from efcml.support.aliases import Array, Facts, PathLike, Shapes, State

FORMAT = "efcml"
FORMAT_VERSION = 3  # 1 and 2 can be read (older_files.py)
HEADER = "header.json"
MOST_HEADER = 2**21  # bytes; some thousand arrays
MOST_BRACKETS = 2**17  # every list takes fifty times its two bytes
DTYPES = ("<f8", "<i8", "|u1", "|b1")
NAMES = re.compile(r"\w+(/\w+)*", re.ASCII)


def write_archive(path: PathLike, header: Facts, arrays: Mapping[str, Array]) -> None:
    """Write a header and arrays to a file, which appears as a whole or stays as it was.

    Parameters
    ----------
    path : str or path-like
    header : dict
        ``kind``, a word that says what the file holds, and ``content``, a dictionary that JSON can
        hold.
    arrays : dict of ndarray
        Floats (f8), whole numbers (i8, u1) or flags; names are ASCII words, with "/" in between.
    """
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    for name, array in arrays.items():
        if not NAMES.fullmatch(name) or array.dtype.str not in DTYPES:
            raise ValueError(f"an array {name!r} of the type {array.dtype} cannot be saved.")
    whole = dict(header, format=FORMAT, format_version=FORMAT_VERSION, efcml_version=__version__)
    whole["arrays"] = [[name, a.dtype.str, list(a.shape)] for name, a in arrays.items()]
    whole["sha256"] = content_hash(whole, arrays.values())
    text = to_json(whole)
    if len(text) > MOST_HEADER:
        raise ValueError(f"the header would have {len(text)} bytes; {MOST_HEADER} can be read.")
    parse_header(text)  # what could not be read is not written
    contents: dict[str, list[Any]] = {HEADER: [text]}
    for name, array in arrays.items():
        contents[f"{name}.npy"] = [npy_head(array.dtype.str, array.shape), as_bytes(array)]
    members = [describe(name, parts) for name, parts in contents.items()]
    with replacing(path) as file:
        for member, parts in zip(members, contents.values(), strict=True):
            for part in (opening(member), *parts):
                file.write(part)
        file.write(directory(members))


def read_archive(path: PathLike, expect: Callable[[Facts], Shapes]) -> State:
    """Return header and arrays of a file, or refuse it with a ValueError that says why.

    Parameters
    ----------
    path : str or path-like
    expect : callable
        Gets the header, its frame checked but not its content. Returns what the file must hold:
        ``{name: (dtype, shape)}`` in order, or raises ValueError. Nothing is allocated before.
    """
    path = Path(path)
    with refusing(path):
        if path.exists() and not path.is_file():
            raise ValueError("it is no file")
        with path.open("rb") as file:
            return read_file(file, expect)


def read_file(file: BufferedReader, expect: Callable[[Facts], Shapes]) -> State:
    """Return header and arrays of an open file."""
    size = os.fstat(file.fileno()).st_size
    text = read_header(file, size)
    header = parse_header(text)
    today = up_to_date(header)
    expected = expect(today)
    table = arrays_of(header, expected)
    listed = [[name, dtype, list(shape)] for name, (dtype, shape) in table.items()]
    if header["arrays"] != listed:
        raise ValueError("its table of arrays does not fit its sizes")
    heads = [text, *(npy_head(*entry) for entry in table.values())]  # all bytes but the data
    lengths = [0, *(math.prod(shape) * np.dtype(dtype).itemsize for dtype, shape in table.values())]
    names = [HEADER, *(f"{name}.npy" for name in table)]
    members = [
        Member(name, len(head) + length)
        for name, head, length in zip(names, heads, lengths, strict=True)
    ]
    if size != total_size(members):
        raise ValueError(f"it has {size} bytes, and its header asks for {total_size(members)}")
    members = check_frame(file, members, heads)
    starts = offsets(members)[1:-1]
    arrays = {}
    for name, member, head, start in zip(table, members[1:], heads[1:], starts, strict=True):
        file.seek(start + FRAME + len(member.name) + len(head))
        arrays[name] = read_array(file, *table[name])
        if describe(member.name, [head, as_bytes(arrays[name])]) != member:
            raise ValueError(f"the array {name} is damaged")
    if header["sha256"] != content_hash(header, arrays.values()):
        raise ValueError("its contents do not have the sha256 that its header states")
    missing = {name: entry for name, entry in expected.items() if name not in table}
    return today, arrays | {
        name: np.zeros(shape, dtype) for name, (dtype, shape) in missing.items()
    }


def read_header(file: BufferedReader, size: int) -> bytes:
    """Return the bytes of the header, which is the first member."""
    start = read_exactly(file, FRAME + len(HEADER))
    length = read_size(start)
    if start != opening(Member(HEADER, length, read_crc(start))):
        raise ValueError("it was not written by efcml")
    if length > min(size, MOST_HEADER):
        raise ValueError(f"a header of {length} bytes is too long")
    text = read_exactly(file, length)
    if zlib.crc32(text) != read_crc(start):
        raise ValueError("its header is damaged")
    return text


def parse_header(text: bytes) -> Facts:
    """Return the header as a dictionary; only the one text that `to_json` gives is accepted."""
    if text.count(b"[") + text.count(b"{") > MOST_BRACKETS:
        raise ValueError("its header has too many parts")
    try:
        header = json.loads(text.decode("ascii"))
        is_plain = to_json(header) == text
    except (ValueError, RecursionError):
        raise ValueError("its header is no JSON that efcml writes") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("its header is not one of efcml")
    version = header.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        raise ValueError(
            f"a newer efcml wrote it (format {version}, here {FORMAT_VERSION}): upgrade efcml"
        )
    if type(version) is not int or version < 1 or not is_plain:
        raise ValueError("its header is not one of efcml")
    words = dict.fromkeys(("format", "efcml_version", "kind", "sha256"), str)
    return take(header, "the header", **words, format_version=int, content=dict, arrays=list)


def check_frame(file: BufferedReader, members: list[Member], heads: list[bytes]) -> list[Member]:
    """Return the members with their checksums, if every byte that is no data is as it must be."""
    found = []
    *starts, end = offsets(members)
    for member, head, start in zip(members, heads, starts, strict=True):
        file.seek(start)
        read = read_exactly(file, FRAME + len(member.name) + len(head))
        member = member._replace(crc=read_crc(read))
        if read != opening(member) + head:
            raise ValueError(f"{member.name} is not where or what its header says")
        found.append(member)
    file.seek(end)
    if file.read() != directory(found):
        raise ValueError("its directory is not that of its members")
    return found


def read_array(file: BufferedReader, dtype: str, shape: tuple[int, ...]) -> Array:
    """Return an array whose data begin here."""
    array = np.empty(shape, dtype=dtype)
    flat = as_bytes(array)
    if file.readinto(flat) != flat.size:
        raise ValueError("it ends too early")
    if dtype == "|b1" and flat.size and flat.max() > 1:
        raise ValueError("a flag is neither 0 nor 1")
    return array


def read_exactly(file: BufferedReader, length: int) -> bytes:
    """Return so many bytes."""
    read = file.read(length)
    if len(read) != length:
        raise ValueError("it ends too early")
    return read


def as_bytes(array: Array) -> Any:
    """Return the memory of an array as bytes, without a copy."""
    return array.reshape(-1).view(np.uint8)


def describe(name: str, parts: Sequence[Any]) -> Member:
    """Return the member that these parts make up."""
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    return Member(name, sum(map(len, parts)), crc)


def to_json(value: Any) -> bytes:
    """Return the one text of a value: sorted names, no blanks, ASCII; no NaN, no infinity."""
    options: Any = {"sort_keys": True, "separators": (",", ":"), "allow_nan": False}
    return json.dumps(value, default=plain_number, **options).encode("ascii")


def plain_number(value: object) -> Any:
    """Return a number of numpy as one of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"JSON cannot hold a {type(value).__name__}.")


def content_hash(header: Facts, arrays: Iterable[Array]) -> str:
    """Return the sha256 over the header, without its hash, and the data of all arrays."""
    digest = hashlib.sha256(to_json({k: v for k, v in header.items() if k != "sha256"}))
    for array in arrays:
        digest.update(as_bytes(array))
    return digest.hexdigest()


@contextmanager
def refusing(path: PathLike) -> Iterator[None]:
    """Put the name of the file before the reason why it is refused."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path} cannot be loaded: {shorten(error)}.") from None
