"""Tables of arrays: everything that the parts of a model remember, one line for each array.

Allocation, growth, files and the documentation of the state follow from them. Sizes: ``p``
features (of rules and cases: that they use), ``a`` of them that rules are formed over, ``K``
labels, ``d = p + 1``, ``q = a + K``, ``L`` labels of which pairs count (K, or 0 without a
correlation penalty), ``j`` the joint space (q, or 0 where nothing is asked of it), ``R`` rules that
there is room for, ``M`` memories of a rule (slow, and fast if it follows the stream), ``m`` cases,
``n`` rows that can be held, or looks.
"""

from collections import namedtuple
from collections.abc import Mapping
from operator import add
from typing import Any, NamedTuple

import numpy as np

from efcml.kernels.labels import N_THRESHOLDS
from efcml.kernels.temporal import REMEMBERED

Sizes = Mapping[str, int]

_NUMBERS = [
    ("support", "f8"),  # k, rows won, capped by forgetting
    ("prior_share", "f8"),  # how much of S_0 is left in k S
    ("log_det", "f8"),  # log|S|
    ("log_det_x", "f8"),  # log|S_x|
    ("weight", "f8"),  # sum of the activation over learned rows
    ("use", "f8"),  # the same, nothing forgotten
    ("penalty_top", "f8"),  # largest eigenvalue of M
    ("penalty_age", "f8"),  # activation since M was derived
    ("unstepped", "f8"),  # activation since the last proximal step
    ("updates", "i8"),  # rows won since birth, never capped
    ("born", "i8"),  # rows learned before its birth
    ("last_won", "i8"),  # likewise, before the last row that it won
    ("drifting", "i8"),  # kernels/planes.py
    ("stopped", "i8"),  # row + 1 at which it ran away and stopped its steps, or 0
    ("uid", "i8"),  # identity that survives the removal of other rules
]
FACTS = np.dtype((np.record, _NUMBERS))  # so that uncompiled code reads them by name, too


class Column(NamedTuple):
    """One array of a table."""

    name: str
    dtype: np.dtype
    dims: tuple[str, ...]
    meaning: str

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """Return its shape; a dimension is a name, its length, or both, as "K+1"."""
        parts = (dim.split("+") for dim in self.dims)
        return tuple(sum(int(n) if n.isdigit() else sizes[n] for n in part) for part in parts)


class Table:
    """Arrays that belong together; ``lines`` are "name type dims: meaning"."""

    def __init__(self, lines: str) -> None:
        self.columns = []
        for line in lines.strip().splitlines():
            head, meaning = line.split(": ", 1)
            name, kind, *dims = head.split()
            dtype = FACTS if kind == "facts" else np.dtype(kind)
            self.columns.append(Column(name, dtype, tuple(dims), meaning.strip()))
        self.names = [column.name for column in self.columns]

    def allocate(self, sizes: Sizes) -> dict[str, np.ndarray]:
        """Return arrays of zeros."""
        return {c.name: np.zeros(c.shape(sizes), c.dtype) for c in self.columns}

    def resized(self, arrays: Any, **more: int) -> Any:
        """Return the arrays, a named tuple, with more or less of some dimensions; new are zeros."""
        new = []
        for column, old in zip(self.columns, arrays, strict=True):
            steps = (more.get(dim.partition("+")[0], 0) for dim in column.dims)
            array = np.zeros([*map(add, old.shape, steps)], column.dtype)
            both = tuple(map(slice, map(min, old.shape, array.shape)))
            array[both] = old[both]
            new.append(array)
        return type(arrays)(*new)


RULES = Table("""
facts facts R: support, log-determinants, weight, age and other numbers of a rule
center f8 R q: c, mean of the joint rows z = [x, y], x of the features that matter
joint f8 R j j: S^-1, inverse covariance of z
marginal f8 R a a: S_x^-1, inverse covariance of x
tested i8 R R: rows that both had when last tested for a merge
P f8 R M d d: inverse of G + Delta
G f8 R M d d: weighted Hessian R'QR
Delta f8 R M d: precision of the prior of the planes
B f8 R M K d: Y'QR
W f8 R M K d: planes, one row per label, intercept last
W_0 f8 R M K d: planes that they are held to
updates_since_refresh i8 R M: updates since P was derived
trust_sums f8 R 4: sums that tell how far the fast memory is trusted
label_sums f8 R 3 L L: over rows that know both labels of a pair: weight, y_c, y_c y_k
penalty f8 R L L: M, correlation penalty
seen f8 R M K: weight of the rows that knew each label, as far as they are remembered
clock i8 2: rows learned, rows at which shared planes are derived anew
level f8 2 K: mean of the last errors, and of the way from slow to fast memory
echo f8 3: sums that tell how far errors follow each other
""")
Rules = namedtuple("Rules", RULES.names)  # type: ignore[misc]

CASES = Table("""
rows f8 m p: Z, the remembered rows, without far values
inverse f8 m m: K^-1, of their similarities
weights f8 m K: a, what k'a adds to a score
covariance f8 m m: A, of the weights, labels alike
age i8 m: number of the learned row that became the case
count i8 4: cases, changes since K^-1 was derived, rows since a new case, learned rows
owed f8 1: what is still to be forgotten
trust_sums f8 4: sums that tell how far the cases are trusted
level f8 2 K: mean of the last errors, and of what cases said
echo f8 3: sums that tell how far errors follow each other
""")
Cases = namedtuple("Cases", CASES.names)  # type: ignore[misc]

TEMPORAL = Table(f"""
sums f8 6 6: of products of score, last errors and labels, and the label
tally f8 5: sums that tell how quickly time forgets; squared errors, rows, delays
evidence f8 2 5: for trust and for time
last f8 4 K: last errors and labels, as they were and faded
ago i8 K: rows since the label was known
past f8 {REMEMBERED} 4 K: `last` as it was before some of the last rows
past_ago i8 {REMEMBERED} K: likewise, `ago`
past_row i8 {REMEMBERED}: which row + 1, or 0
clock i8 3: rows that went by; rows between an answer and its labels; when steps are weighed
ones f8 K: rows that had the label
seen f8 K: rows that knew it
""")
Temporal = namedtuple("Temporal", TEMPORAL.names)  # type: ignore[misc]

LABELS = Table(f"""
sums f8 K K: T, sums of products of errors
rows f8 K: rows that know the label
variance f8 K: of its errors before the stream
trust_sums f8 4: sums that tell how far labels are trusted to tell of each other
covariance f8 K K: E_m, of the errors, as far as it is trusted
precision f8 K K: E^-1
form f8 K K: E_m^-1
curve f8 K+1 3: level and slopes of the calibration: what labels add, last what they share
information f8 K+1 3 3: what is known of them
raised f8 K {N_THRESHOLDS}: rows in which a threshold would have raised the label
hits f8 K {N_THRESHOLDS}: rightly
true f8 K: rows in which it was true
clock i8 2: rows, and at how many the matrices are derived anew
""")
Labels = namedtuple("Labels", LABELS.names)  # type: ignore[misc]

WATCH = Table("""
asleep ? p: whether a feature had never varied when the scale was chosen
lively ? p: whether it always differed from row to row
muted i8 p: row until which it raises no doubt
loss f8 n: squared errors of the last rows
other f8 n: likewise, of the challenger
count i8 9: rows, and when what began or is due (watch.py)
""")

RELEVANCE = Table("""
axes ? p: features that rules are formed over
used ? p: features that planes and cases use, among them the axes
strength f8 p: what each told at the last look beside the best shadow, which is 1
course f8 n p: `strength` at the last looks
course_row i8 n: rows learned then
looks i8 1: how many there were
""")
Relevance = namedtuple("Relevance", RELEVANCE.names)  # type: ignore[misc]

TABLES = {"rules": RULES, "cases": CASES, "temporal": TEMPORAL, "labels": LABELS}
TABLES |= {"watch": WATCH, "relevance": RELEVANCE}
