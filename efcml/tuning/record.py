"""The file that a search can be taken up from: one line per finished task, after a header."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path


def fingerprint(X, Y, params, grid, folds):
    """Return what identifies a search: its data, parameters, grid and folds."""
    digest = hashlib.sha256()
    for array in (X, Y):
        digest.update(str(array.shape).encode() + array.tobytes())
    setting = {"params": asdict(params), "grid": asdict(grid), "folds": folds}
    digest.update(json.dumps(setting, sort_keys=True).encode())
    return digest.hexdigest()


class Record:
    """Finished tasks of a search, in memory and, if there is a path, on disk."""

    def __init__(self, path, search):
        self.path = None if path is None else Path(path)
        self.search = search
        self.lines = {}
        if self.path is not None:
            self._open()

    def _open(self):
        header = {"search": self.search, "format": 1}
        if not self.path.exists() or self.path.stat().st_size == 0:
            self.path.write_text(json.dumps(header) + "\n")
            return
        whole = self.path.read_text().split("\n")[:-1]  # a line that was cut has no end
        found = [_parse(line) for line in whole]
        if not found or found[0] != header:
            raise ValueError(
                f"{self.path} is not the record of this search (other data, parameters, grid or"
                " folds): delete it or give another file."
            )
        for line in found[1:]:
            if line is not None:
                self.lines[line["vigilance"], line["fold"]] = line
        kept = "".join(json.dumps(line) + "\n" for line in [header, *self.lines.values()])
        swap = self.path.with_name(self.path.name + ".new")
        swap.write_text(kept)
        swap.replace(self.path)

    def add(self, line):
        """Keep the record of one task."""
        self.lines[line["vigilance"], line["fold"]] = line
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")


def _parse(line):
    try:
        return json.loads(line)
    except ValueError:
        return None
