"""Downloads of published files: resumed, checked, and put in place whole or not at all.

A download is written to a file of its own, `NAME.<number>.part`, so two processes never write to
the same one. It gets its final name when its checksum is right. If the connection is cut it becomes
`NAME.part`, which the next download takes over by renaming it: only one process can win that.
What a killed process leaves is taken over in the same way when it is an hour old.
"""

from __future__ import annotations

import http.client
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)
from uuid import uuid4

from efcml.support.file_text import short
from efcml.support.progress import progress_bar

from .catalog import FetchError, has_sha256

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from tqdm import tqdm

    from .catalog import Record

MULAN = "https://raw.githubusercontent.com/tsoumakas/mulan/master"
TRIES = 4
FIRST_PAUSE = 0.5  # seconds before the second try; doubles with every further one
ABANDONED = 3600  # seconds after which an unfinished file is taken to have no owner any more
MAX_TIMEOUT = 600
CHUNK = 1 << 16


class _Cut(Exception):
    """The server or the connection failed: another try may help."""


def fetch_files(
    record: Record,
    folder: Path,
    *,
    base: str | None = None,
    timeout: float = 30.0,
    progress: bool | None = None,
) -> None:
    """Download the files of a record that `folder` does not hold yet.

    Parameters
    ----------
    record : Record
    folder : path
        Created if it is missing.
    base : str, optional
        Address of a copy of the MULAN repository; if not given, the environment variable
        EFCML_MULAN, else the repository itself.
    timeout : float
        Seconds without any answer after which the server is given up.
    progress : bool, optional
        None shows a progress bar where a person can see it.
    """
    if not record.remote:
        raise FetchError(f"{record.name} cannot be fetched: {record.how_to_get}")
    base = check_base(base or os.environ.get("EFCML_MULAN") or MULAN)
    if not 0 < timeout <= MAX_TIMEOUT:
        raise ValueError(f"timeout is {timeout!r}: give seconds, more than 0, up to {MAX_TIMEOUT}")
    with _disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        wanted = [f for f, digest in record.files.items() if not has_sha256(folder / f, digest)]
        total = sum(record.sizes[file] for file in wanted)
        label = f"fetching {record.name}"
        with progress_bar(total, label, unit="B", unit_scale=True, show=progress) as bar:
            for file in wanted:
                url = f"{base}/{record.remote_path(file)}"
                transfer = _Transfer(url, record.sizes[file], timeout, bar)
                _fetch_file(transfer, folder / file, record.files[file])


def check_base(base: str) -> str:
    """Return a base address without its last slash, or refuse it."""
    try:
        parts = urlsplit(base)
        host = (parts.hostname or "").encode("idna")
        good = parts.scheme in ("http", "https") and host and parts.port != 0
        good = good and not (parts.query or parts.fragment or "@" in parts.netloc)
    except ValueError:
        good = False
    if not good or re.search(r"[^!-~]", base):
        shown = "with a user name" if "@" in base else repr(base)  # show no password
        raise FetchError(
            f"base address {shown} cannot be used: give one like {MULAN}, that is http:// or"
            " https:// without user name"
        )
    return base.rstrip("/")


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    """Turn every OSError into one line; those of the network are caught where they arise."""
    try:
        yield
    except OSError as error:
        raise FetchError(
            f"cannot write to {folder} ({error.strerror or error}): make room there or choose"
            " another folder"
        ) from None


def _fetch_file(transfer: _Transfer, path: Path, digest: str) -> None:
    """Download to a `.part` file; give it its name if the checksum is right."""
    part = _claim_part(path)
    try:
        part.touch()
        transfer.fill(part)
        if transfer.resumed and not has_sha256(part, digest):
            # The first bytes may be those of another file: once more, from the start.
            part.write_bytes(b"")
            transfer.fill(part)
        if not has_sha256(part, digest):
            transfer.useless = True
            raise FetchError(
                f"{transfer.url} is not the published file (its sha256 differs): check the base"
                " address, or put the file into place by hand"
            )
        os.replace(part, path)
    except OSError:  # of the disk, which may be full
        transfer.useless = True
        raise
    finally:
        _leave_part(part, path, keep=not transfer.useless)


def _claim_part(path: Path) -> Path:
    """Return a new name for the download, with what an earlier one left under it, if any."""
    own = path.with_name(f"{path.name}.{uuid4().hex[:12]}.part")
    shared = path.with_name(f"{path.name}.part")
    left = []
    for other in path.parent.glob(f"{path.name}.*part"):
        with suppress(OSError):  # another process was faster
            found = other.stat()
            if other == shared or time.time() - found.st_mtime > ABANDONED:
                left.append((found.st_size, other))
    for _, other in sorted(left):  # the longest one last: it stays
        with suppress(OSError):
            os.utime(other)  # or it would look abandoned under its new name
            os.replace(other, own)
    return own


def _leave_part(part: Path, path: Path, *, keep: bool) -> None:
    """Leave what was received for the next download to resume, unless it is of no use."""
    with suppress(OSError):  # the download itself may have failed, and that is what counts
        if keep and part.stat().st_size:
            os.replace(part, path.with_name(f"{path.name}.part"))
        else:
            part.unlink()


def _make_opener() -> OpenerDirector:
    """Make an opener that knows http and https only, also after a redirect."""
    opener = OpenerDirector()
    for handler in (
        ProxyHandler,
        HTTPHandler,
        HTTPSHandler,
        HTTPDefaultErrorHandler,
        HTTPRedirectHandler,
        HTTPErrorProcessor,
        UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


class _Transfer:
    """The bytes of one address on their way into a file."""

    def __init__(self, url: str, size: int, timeout: float, bar: tqdm) -> None:
        self.url, self.size, self.timeout, self.bar = url, size, timeout, bar
        self.resumed = False  # whether the file has bytes of an earlier connection
        self.useless = False  # whether nothing of it is worth keeping
        self.counted = 0
        self.opener = _make_opener()

    def fill(self, part: Path) -> None:
        """Append what `part` lacks, in several tries if the connection is cut."""
        self.resumed = False
        for number in range(TRIES):
            if number:
                time.sleep(FIRST_PAUSE * 2 ** (number - 1))
            try:
                return self._receive(part)
            except _Cut as cut:
                reason = cut
        raise FetchError(
            f"{self.url}: {reason}, {TRIES} times: check the connection and fetch again, what was"
            " received is kept"
        )

    def _receive(self, part: Path) -> None:
        have = part.stat().st_size
        if have > self.size:
            os.truncate(part, 0)
            have = 0
        if have == self.size:
            self.resumed = True
            return self._count(have)
        with self._open(part, have) as response:
            start = self._start(response, part, have)
            end = None if response.length is None else start + response.length
            self._check_size(end or 0)
            position = start
            self._count(position)
            with open(part, "ab" if start else "wb") as file:
                # Not beyond the announced end: some servers leave the connection open there.
                while end is None or position < end:
                    chunk = self._read(response)
                    if not chunk:
                        break
                    position += len(chunk)
                    self._check_size(position)
                    file.write(chunk)
                    self._count(position)
            # A body without announced length tells by its encoding whether it is complete, or not.
            expected = position if response.chunked else self.size if end is None else end
        if position < expected:
            raise _Cut(f"the connection was cut after {position} of {self.size} bytes")

    def _open(self, part: Path, have: int) -> HTTPResponse:
        headers = {"User-Agent": "efcml"}
        if have:
            headers["Range"] = f"bytes={have}-"
        try:
            return self.opener.open(Request(self.url, headers=headers), timeout=self.timeout)
        except HTTPError as error:
            error.close()
            answer = f"{error.code} {http.client.responses.get(error.code, '')}".strip()
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                os.truncate(part, 0)
            elif error.code < 500 and error.code not in (408, 429):
                raise FetchError(
                    f"{self.url}: the server answers {answer}: check the base address, or set"
                    " another with EFCML_MULAN"
                ) from None
            raise _Cut(f"the server answers {answer}") from None
        except (OSError, http.client.HTTPException) as error:
            raise _Cut(self._explain(error)) from None

    def _start(self, response: HTTPResponse, part: Path, have: int) -> int:
        """Return the position of the first byte of the body: 0 if the server ignores ranges."""
        if response.status != http.client.PARTIAL_CONTENT:
            return 0
        match = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
        if not match or int(match[1]) != have:
            os.truncate(part, 0)
            raise _Cut("the server sent another part of the file than the one asked for")
        self.resumed = have > 0
        return have

    def _read(self, response: HTTPResponse) -> bytes:
        try:
            return response.read1(CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise _Cut(self._explain(error)) from None

    def _check_size(self, position: int) -> None:
        if position > self.size:
            self.useless = True
            raise FetchError(
                f"{self.url} is larger than the published file ({self.size} bytes): check the base"
                " address"
            )

    def _count(self, position: int) -> None:
        self.bar.update(position - self.counted)
        self.counted = position

    def _explain(self, error: BaseException) -> str:
        """Say in one line what a failed connection died of."""
        error = getattr(error, "reason", error)
        if isinstance(error, TimeoutError):
            return f"the server did not answer for {self.timeout:g} s"
        text = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return f"the connection failed ({short(str(text), 100)})"
