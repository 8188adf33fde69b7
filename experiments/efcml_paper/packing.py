"""Arrays as short texts, so that the record of a run is one line of JSON."""

import base64
import zlib

import numpy as np

STEPS = 254  # fineness of shares; means over samples come out right to some .0001


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
