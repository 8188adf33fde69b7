"""Arrays as short texts, so that the record of a run is one line of JSON."""

import base64
import zlib

import numpy as np

AP_STEPS = 65535  # average precision of a sample is kept in steps of this fineness


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
    """Return numbers from 0 to 1 as text, in 65535 steps; NaN is kept.

    Examples
    --------
    >>> unpack_shares(pack_shares([0.0, float("nan"), 1.0]))
    array([ 0., nan,  1.])
    """
    values = np.asarray(values, dtype=float)
    steps = np.where(np.isnan(values), 0, 1 + np.round(values * (AP_STEPS - 1)))
    # The low and the high bytes are alike among themselves and shrink better apart.
    return pack(np.stack([steps // 256, steps % 256]), "u1")


def unpack_shares(text):
    """Return what `pack_shares` was given, within a step."""
    high, low = unpack(text, "u1").astype(float).reshape(2, -1)
    steps = 256.0 * high + low
    return np.where(steps == 0, np.nan, (steps - 1) / (AP_STEPS - 1))
