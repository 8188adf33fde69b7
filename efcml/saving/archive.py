"""One file of JSON and arrays, written as a whole or not at all, and read with suspicion.

It is what ``np.savez`` writes: the entry ``header`` is JSON as bytes, ``sha256`` is that of the
header and of all arrays, and every other entry is an array. The header decides which arrays there
must be. Their types and sizes are compared with the file before one of them is allocated.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast
from zipfile import ZIP_STORED, ZipFile

import numpy as np
from numpy.lib import format as npy

from efcml import __version__
from efcml.support.facts import shorten, take
from efcml.support.folders import replacing

if TYPE_CHECKING:
    from efcml.support.aliases import Array, Facts, PathLike, Shapes, State

FORMAT, FORMAT_VERSION = "efcml", 4
MOST_HEADER = 2**24  # bytes
MOST_BRACKETS = 2**20  # every list takes fifty times its two bytes
HEADER, HASH = "header", "sha256"
OLDER = (
    "an earlier efcml wrote it, in a format that this one does not read: train the model again, or"
    " go on with the version that wrote it"
)


def write_archive(path: PathLike, header: Facts, arrays: Mapping[str, Array]) -> None:
    """Write a header and arrays to a file, which appears as a whole or stays as it was.

    The header has ``kind``, a word that says what the file holds, and ``content``, a dictionary
    that JSON can hold. Arrays hold numbers or flags.
    """
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub":
            raise ValueError(f"the array {name} of the type {array.dtype} cannot be saved.")
    whole = dict(header, format=FORMAT, format_version=FORMAT_VERSION, efcml_version=__version__)
    text = json.dumps(whole, sort_keys=True, allow_nan=False, default=np.generic.item).encode()
    parse_header(text)  # what could not be read is not written
    about = {HEADER: np.frombuffer(text, np.uint8), HASH: content_hash(text, arrays)}
    everything: dict[str, Any] = about | arrays
    with replacing(path) as file:
        np.savez(file, **everything)


def read_archive(path: PathLike, expect: Callable[[Facts], Shapes]) -> State:
    """Return header and arrays of a file, or refuse it with a ValueError that says why.

    ``expect`` gets the header, of which the content is not checked yet. It returns what the file
    must hold, ``{name: (dtype, shape)}``, or raises ValueError. No array is allocated before.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} cannot be loaded: it is no file.")
    with open(path, "rb") as file, refusing(path), ZipFile(file) as entries:
        return read_entries(entries, os.fstat(file.fileno()).st_size, expect)


def read_entries(entries: ZipFile, size: int, expect: Callable[[Facts], Shapes]) -> State:
    """Return header and arrays of an open file of this size."""
    names = [info.filename.removesuffix(".npy") for info in entries.infolist()]
    if "header.json" in names:
        raise ValueError(OLDER)
    if HEADER not in names:
        raise ValueError("it was not written by efcml")
    if any(info.compress_type != ZIP_STORED for info in entries.infolist()):
        raise ValueError("it was compressed by something else than efcml")
    text = read_array(entries, HEADER, "|u1", most=min(size, MOST_HEADER)).tobytes()
    header = parse_header(text)
    expected = expect(header)
    asked = sum(math.prod(shape) * np.dtype(kind).itemsize for kind, shape in expected.values())
    if asked > size:
        raise ValueError(f"it has {size} bytes, and its header asks for {asked}")
    if sorted(names) != sorted([HEADER, HASH, *expected]):
        raise ValueError("its arrays are not those that its header asks for")
    arrays = {name: read_array(entries, name, *expected[name]) for name in expected}
    if (read_array(entries, HASH, "|u1", (32,)) != content_hash(text, arrays)).any():
        raise ValueError("its contents do not have the sha256 that it states")
    return header, arrays


def read_array(
    entries: ZipFile, name: str, dtype: str, shape: tuple[int, ...] | None = None, most: int = 0
) -> Array:
    """Return an array of this type and shape; of any length up to ``most`` if there is none."""
    with cast(Any, entries.open(f"{name}.npy")) as file:
        version = npy.read_magic(file)
        found, by_columns, kind = npy.read_array_header_1_0(file)
        wanted = found == shape if shape is not None else len(found) == 1 and found[0] <= most
        if not wanted or by_columns or kind.str != dtype or version != (1, 0):
            raise ValueError(f"the array {name} has another type or shape than it must have")
        array = np.empty(found, dtype)
        data = array.reshape(-1).view(np.uint8)
        if file.readinto(data.data) != data.size or file.read(1):
            raise ValueError(f"the array {name} has another length than it must have")
    if dtype == "|b1" and data.size and data.max() > 1:
        raise ValueError(f"a flag of {name} is neither 0 nor 1")
    return array


def parse_header(text: bytes) -> Facts:
    """Return the header as a dictionary, its frame checked."""
    if len(text) > MOST_HEADER or text.count(b"[") + text.count(b"{") > MOST_BRACKETS:
        raise ValueError(f"a header of {len(text)} bytes is too long")
    try:
        header = json.loads(text.decode("ascii"), parse_constant=int)  # no NaN
    except (ValueError, RecursionError):
        raise ValueError("its header is no JSON") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("its header is not one of efcml")
    version = header.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        raise ValueError(f"a newer efcml wrote it (format {version}): upgrade efcml")
    if version != FORMAT_VERSION:
        raise ValueError(OLDER)
    kinds = {"format": str, "format_version": int, "efcml_version": str, "kind": str}
    return take(header, "the header", **kinds, content=dict)


def content_hash(text: bytes, arrays: Mapping[str, Array]) -> Array:
    """Return the sha256 over the header and the names, types, shapes and data of all arrays."""
    digest = hashlib.sha256(text)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return np.frombuffer(digest.digest(), np.uint8)


@contextmanager
def refusing(path: PathLike) -> Iterator[None]:
    """Put the name of the file before the reason why it is refused."""
    try:
        yield
    except ValueError as error:
        reason = shorten(error)
    except Exception as error:  # whatever broken files make numpy, zipfile and models raise
        reason = f"it is damaged or no file of efcml ({type(error).__name__}: {shorten(error, 60)})"
    else:
        return
    raise ValueError(f"{path} cannot be loaded: {reason}.")
