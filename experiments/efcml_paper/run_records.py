"""The file of records: one line of JSON per run, arrays as short texts."""

import base64
import json
import zlib
from pathlib import Path

import numpy as np

from efcml.rivals import MODELS, make_model
from efcml.studies import provenance
from efcml.support.files import replacing
from efcml.support.states import to_plain

NEEDED = {"key", "pa", "ap", "right", "ap_rows", "curve", "method", "data", "versions"}
STEPS = 254  # fineness of shares; means over samples come out right to some .0001


class Records:
    """Records by the key of their run; of several with one key the last counts.

    A line that was cut or is no record is left out, so its run is done again.
    """

    def __init__(self, path):
        self.path = Path(path)
        lines = read_lines(self.path) if self.path.exists() else []
        whole = [line for line in lines if isinstance(line, dict) and line.keys() >= NEEDED]
        self.by_key = {line["key"]: line for line in whole}

    def of(self, run):
        """Return the record of a run, or None."""
        return self.by_key.get(run.key)

    def is_current(self, run):
        """Tell whether there is a record of a run, made by this method from these data."""
        record = self.of(run)
        today = record is not None and record["method"] == provenance.method()
        return today and record["data"] == run.data

    def add(self, records):
        """Keep records, on disk too; none leave the file alone."""
        found = {record["key"]: record for record in records}
        if found:
            self.by_key |= found
            self._write()

    def drop_old(self, wanted):
        """Forget records of another method that no experiment wants: keys other than these.

        They are left behind when a choice of parameters comes out differently.
        """
        today, before = provenance.method(), len(self.by_key)
        self.by_key = {
            key: record
            for key, record in self.by_key.items()
            if key in wanted or record["method"] == today
        }
        if len(self.by_key) < before:
            self._write()

    def _write(self):
        """Write the file anew, and the parameters that records do not name: all defaults."""
        with replacing(self.path) as file:
            file.writelines(to_line(self.by_key[key]).encode() for key in sorted(self.by_key))
        path, method = self.path.with_name("defaults.json"), provenance.method()
        known = json.loads(path.read_text()) if path.exists() else {}
        if method not in known:
            with replacing(path) as file:
                text = json.dumps(known | {method: defaults()}, indent=1)
                file.write(text.encode() + b"\n")


def read_lines(path):
    """Return what the lines of a file hold; None for one that was cut or is no JSON."""
    return [parse(line) for line in path.read_text().splitlines()]


def parse(line):
    """Return what a line holds, or None."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def to_line(record):
    """Return a record as one line of text."""
    return json.dumps(record, separators=(",", ":")) + "\n"


def pack(values, dtype):
    """Return an array as text: zlib, then base85.

    Examples
    --------
    >>> unpack(pack([1, 2, 3], "u1"), "u1")
    array([1, 2, 3], dtype=uint8)
    """
    data = np.asarray(values).astype(np.dtype(dtype).newbyteorder("<")).tobytes()
    return base64.b85encode(zlib.compress(data, 9)).decode()


def unpack(text, dtype):
    """Return what `pack` was given."""
    data = zlib.decompress(base64.b85decode(text))
    return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(dtype)


def pack_shares(values):
    """Return numbers from 0 to 1 as text, a byte for each before they shrink; NaN is kept.

    Examples
    --------
    >>> unpack_shares(pack_shares([0.0, float("nan"), 1.0]))
    array([ 0., nan,  1.])
    """
    values = np.asarray(values, dtype=float)
    return pack(np.where(np.isnan(values), 0, 1 + np.round(np.nan_to_num(values) * STEPS)), "u1")


def unpack_shares(text):
    """Return what `pack_shares` was given, within half a step."""
    steps = unpack(text, "u1").astype(float)
    return np.where(steps == 0, np.nan, (steps - 1) / STEPS)


def defaults():
    """Return all parameters of all models where nothing is set, as JSON can hold them."""
    return {
        name: {key: to_plain(value) for key, value in make_model(name).get_params().items()}
        for name in MODELS
    }
