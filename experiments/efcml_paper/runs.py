"""One run, described so that everybody who needs it finds the same one."""

from dataclasses import dataclass, replace

STARTS = ("published", "small", "inside")


@dataclass(frozen=True)
class Asking:
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
    shuffle would destroy. A limit keeps the last rows of the initial part or the first ones of the
    stream; None keeps all.

    Examples
    --------
    >>> make_run("emotions", vigilance=0.4).key
    'emotions, efcml(vigilance=0.4), published, order 0'
    """

    dataset: str
    model: str = "efcml"  # a name of efcml.rivals.MODELS
    parameters: tuple[tuple[str, object], ...] = ()  # that differ from the model's defaults
    start: str = "published"
    order: int = 0
    asking: Asking | None = None
    initial_limit: int | None = None
    stream_limit: int | None = None
    alone: bool = False  # nothing else runs on the machine: for times

    def __post_init__(self):
        if self.start not in STARTS:
            raise ValueError(f"start must be one of {', '.join(STARTS)}; got {self.start!r}.")

    @property
    def key(self):
        """A text that tells runs apart, the same in every process."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self.parameters)
        parts = [self.dataset, f"{self.model}({settings})", self.start, f"order {self.order}"]
        if self.asking is not None:
            words = "+".join(self.asking.criteria)
            parts.append(f"{self.asking.budget:g} of {self.asking.unit} by {words}")
        if self.initial_limit is not None:
            parts.append(f"last {self.initial_limit} initial rows")
        if self.stream_limit is not None:
            parts.append(f"first {self.stream_limit} stream rows")
        if self.alone:
            parts.append("alone")
        return ", ".join(parts)

    @property
    def fitting(self):
        """The run that stands for all runs with the same fitted model."""
        model = "efcml" if self.model == "static" else self.model
        order = self.order if is_built_in(self.dataset) else 0
        return replace(self, model=model, order=order, asking=None, stream_limit=None, alone=False)

    @property
    def keeps_ap(self):
        """Whether average precision is kept by sample: of budgets, for mediamill alone.

        The paper has no figure of it for the small sets, and their runs are most of all.
        """
        return self.asking is None or self.dataset == "mediamill"

    def in_order(self, order):
        """Return the same run in another order."""
        return replace(self, order=order)


def make_run(
    dataset,
    model="efcml",
    *,
    limits=(None, None),
    start="published",
    asking=None,
    alone=False,
    **parameters,
):
    """Return a run in file order; keywords are parameters of the model."""
    return Run(dataset, model, tuple(sorted(parameters.items())), start, 0, asking, *limits, alone)


def is_built_in(dataset):
    """Tell whether a stream is made by a generator."""
    from efcml.datasets import CATALOG

    return dataset not in CATALOG


@dataclass(frozen=True)
class Line:
    """One line of a table or figure: a run in several orders."""

    run: Run
    orders: tuple[int, ...] = (0,)

    @property
    def runs(self):
        """The runs in all orders."""
        return tuple(self.run.in_order(order) for order in self.orders)
