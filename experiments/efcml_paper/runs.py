"""One run, described so that everybody who needs it finds the same one."""

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from efcml import datasets, rivals
from efcml.studies.provenance import digest

MODELS = rivals.MODELS | {
    "rules": rivals.Rival("EFC-ML, rules alone", rivals.CLASSIFIER, {"cases": 0})
}
make_model = partial(rivals.make_model, models=MODELS)
SMALL_SHARE = 10  # a small start is one part in ten of all rows
INSIDE_SHARE = 0.8  # of the initial part is fitted where its rest is the stream


class Asking(NamedTuple):
    """Who chooses what is learned: an active learner with these options."""

    budget: float
    unit: str  # "samples" or "labels"
    criteria: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """What is run, and on which rows; equal runs give equal numbers, but for the time they take.

    ``start`` says what the initial part is: "published" (of the data set), "small" (the first tenth
    of all rows) or "inside" (the first four fifths of the initial part; the last fifth is the
    stream, and the published stream is not touched). ``order`` 0 is that of the file, others are
    seeds: of a shuffle of the stream, or of the generator of a built-in stream, whose drift a
    shuffle would destroy. Limits keep the last rows of the initial part and the first ones of the
    stream; None keeps all.

    Examples
    --------
    >>> make_run("emotions", vigilance=0.4).key
    'emotions, efcml(vigilance=0.4), published, order 0'
    """

    dataset: str
    model: str = "efcml"  # a name of MODELS
    parameters: tuple[tuple[str, object], ...] = ()  # that differ from the model's defaults
    start: str = "published"
    order: int = 0
    asking: Asking | None = None
    limits: tuple[int | None, int | None] = (None, None)
    alone: bool = False  # nothing else runs on the machine: for times

    @property
    def key(self):
        """A text that tells runs apart, the same in every process."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self.parameters)
        parts = [self.dataset, f"{self.model}({settings})", f"{self.start}, order {self.order}"]
        if self.asking is not None:
            words = "+".join(self.asking.criteria)
            parts.append(f"{self.asking.budget:g} of {self.asking.unit} by {words}")
        limits = zip(("last {} initial rows", "first {} stream rows"), self.limits, strict=True)
        parts += [words.format(limit) for words, limit in limits if limit is not None]
        return ", ".join([*parts, "alone"] if self.alone else parts)

    @property
    def keeps_ap(self):
        """Whether average precision is kept by sample: of budgets, for mediamill alone.

        The paper has no figure of it for the small sets, and their runs are most of all.
        """
        return self.asking is None or self.dataset == "mediamill"

    @property
    def shuffle(self):
        """Seed of the shuffle of the stream, 0 for none."""
        return 0 if is_built_in(self.dataset) else self.order

    @property
    def source(self):
        """Its data set, with all rows, in the order of the file."""
        return load_data(self.dataset, self.order - self.shuffle)

    @property
    def data(self):
        """A short text that stands for all rows."""
        return key_of(self.dataset, self.order - self.shuffle)

    def in_order(self, order):
        """Return the same run in another order."""
        return replace(self, order=order)

    def rows(self):
        """Return the rows that are fitted and streamed as a data set, in the order of the file."""
        ds, (initial, stream) = self.source, self.limits
        middle = len(ds) // SMALL_SHARE if self.start == "small" else ds.n_initial
        first, last = max(0, middle - (initial or middle)), len(ds)
        if self.start == "inside":
            middle, last = first + int(INSIDE_SHARE * (middle - first)), middle
        last = min(last, middle + (stream or last))
        X, Y = ds.X[first:last], ds.Y[first:last]
        return replace(ds, X=X, Y=Y, n_initial=middle - first, marks={})


def make_run(dataset, model="efcml", **options):
    """Return a run in file order; keywords that are not its own are parameters of the model."""
    own = {
        name: options.pop(name)
        for name in ("start", "asking", "limits", "alone")
        if name in options
    }
    return Run(dataset, model, tuple(sorted(options.items())), **own)


def is_built_in(dataset):
    """Tell whether a stream is made by a generator."""
    return dataset not in datasets.CATALOG


@cache
def load_data(name, seed=0):
    """Return a data set; the seed matters to built-in streams only."""
    made = {"seed": seed} if is_built_in(name) else {}
    return datasets.load(name, **made)


@cache
def key_of(name, seed=0):
    """Return a short text that stands for the rows of a data set."""
    ds = load_data(name, seed)
    return digest(ds.X, ds.Y)[:12]


def order_of(run, n_rows):
    """Return the order in which the rows of the stream arrive, as in a study.

    Examples
    --------
    >>> order_of(make_run("emotions"), 3)
    array([0, 1, 2])
    """
    rows = np.arange(n_rows)
    return np.random.default_rng(run.shuffle).permutation(rows) if run.shuffle else rows


@dataclass(frozen=True)
class Line:
    """One line of a table or figure: a run in several orders."""

    run: Run
    orders: tuple[int, ...] = (0,)

    @property
    def runs(self):
        """The runs in all orders."""
        return tuple(self.run.in_order(order) for order in self.orders)
