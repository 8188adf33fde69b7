"""Records in a folder: one file per run, whole or not there.

Every process writes the files of its own runs. Equal runs give equal files, so two studies that
work in one folder do some runs twice and spoil nothing: no lock is needed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from zipfile import BadZipFile

import numpy as np

from efcml.support.folders import make_folder, replacing

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Facts, PathLike

HEADER, RUNS = "study.json", "runs"
FORMAT = 1


class RecordFolder:
    """The records of a study, in a folder of its own that goes with it, or in one that stays.

    Parameters
    ----------
    path : path or None
    header : dict
        What the study is: parts, and what each part says of every name in it.
    """

    def __init__(self, path: PathLike | None, header: Facts) -> None:
        self.stays = path is not None
        self._facts: dict[str, Facts] = {}
        if path is None:
            self.path = Path(tempfile.mkdtemp(prefix="efcml-study-"))
            weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        else:
            self.path = Path(path)
            make_folder(self.path)
            self._compare(header)
        make_folder(self.runs)

    @property
    def runs(self) -> Path:
        """Where the files of runs are."""
        return self.path / RUNS

    def _compare(self, header: Facts) -> None:
        """Refuse the folder of another study; add what is new of this one."""
        file = self.path / HEADER
        there = read_header(file) if file.exists() else {"format": FORMAT, "seed": header["seed"]}
        if there["seed"] != header["seed"]:
            self._refuse(f"its seed is {there['seed']}, not {header['seed']}")
        for part in ("data", "models"):
            known = there.setdefault(part, {})
            for name, value in header[part].items():
                if known.setdefault(name, value) != value:
                    self._refuse(f"{name!r} is something else there")
        with replacing(file) as out:
            out.write(json.dumps(there, indent=1).encode() + b"\n")

    def _refuse(self, reason: str) -> None:
        raise ValueError(
            f"{self.path} has records of another study ({reason}): give another folder."
        )

    def facts(self, key: str) -> Facts | None:
        """Return what is known of a run, without its arrays; None if it is not there or cut."""
        if key not in self._facts:
            file = self.runs / file_name(key)
            facts = read_facts(file) if file.exists() else None
            if facts is None or facts.get("key") != key:
                return None
            self._facts[key] = facts
        return self._facts[key]

    def arrays(self, key: str) -> Arrays:
        """Return the arrays of a run."""
        with np.load(self.runs / file_name(key), allow_pickle=False) as file:
            return {name: file[name] for name in file.files if name != "facts"}

    def forget(self, key: str) -> None:
        """Read a run from its file again: it may be a new one."""
        self._facts.pop(key, None)


def read_header(file: Path) -> Facts:
    """Return what a folder says of its study, or refuse it."""
    try:
        there = json.loads(file.read_text(encoding="utf-8"))
        if there["format"] == FORMAT and "seed" in there:
            return there
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{file} is no record of a study that can be read: give another folder.")


def read_facts(file: Path) -> Facts | None:
    """Return the facts of a record, None if the file cannot be used, as after a power failure."""
    try:
        # Opened here: numpy leaves a file open that is no archive.
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            return json.loads(arrays["facts"].item())
    except (OSError, ValueError, KeyError, BadZipFile, EOFError):
        return None


def write_record(folder: Path, facts: Facts, arrays: Arrays) -> None:
    """Write the record of a run.

    It is put in its place at the end, so a process that is killed leaves no half of it. Waiting for
    the disk would cost more than some of the runs; a file that a power failure cut is made again.
    """
    part = folder / f".{uuid4().hex}.part"
    packed: dict[str, Any] = arrays | {"facts": np.array(json.dumps(facts))}
    try:
        with part.open("wb") as file:
            np.savez(file, **packed)
        os.replace(part, folder / file_name(facts["key"]))
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def file_name(key: str) -> str:
    """Return the name of the file of a run."""
    return hashlib.sha256(key.encode()).hexdigest()[:20] + ".npz"
