"""Study: several models on several data sets in several orders, in one object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
import pandas as pd

from efcml import measures as all_measures
from efcml.studies import USUAL, notes, pictures, provenance
from efcml.studies.intervals import LEVEL, Interval, paired_difference
from efcml.studies.runs import Run, RunCache
from efcml.studies.study_data import MOST_ORDERS, read_data, shuffle_seed
from efcml.studies.variants import read_variants, vary
from efcml.support.checks import check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from efcml.evaluation import PrequentialResult
    from efcml.studies.runs import Note
    from efcml.studies.workers import Progress
    from efcml.support.aliases import Facts, Floats, Ints, PathLike

    Names: TypeAlias = str | Sequence[str]  # one or several


class Change(NamedTuple):
    """How far two models are apart in what they answered."""

    largest: float  # of any score of any sample in any order
    decisions: int  # that differ
    asked: int  # decisions in all


class WholeFrame(pd.DataFrame):
    """A table that prints all of its columns; what is made of it is a DataFrame."""

    def __repr__(self) -> str:
        return self.to_string(float_format="{:.4g}".format)


class Study:
    """Models on data sets in several orders: run, table, paired differences, pictures.

    Every model is fitted to the initial part of every data set, and a copy of it then goes through
    the stream in every order, test-then-train. The first model is the one that others are compared
    with.

    Parameters
    ----------
    models : dict of str to model or Variant
        Models by name, not fitted: ours, or whatever else `prequential` takes. `Study.vary` makes
        such a dict. A `Variant` also says which labels its model gets.
    data : name, Dataset, (X, Y), or a list of these, or a dict of these by name
        X and Y are arrays or data frames.
    orders : int or list of int
        How many, or which. Order 0 is that of the file; the others are shuffles of the stream, by
        their number and the seed. The initial part stays. A built-in stream that is given by name
        is not shuffled, as that would destroy its drift: other orders are other draws of it.
    seed : int
    folder : path, optional
        Keeps every run by its content: what is there is not run again. Several studies and searches
        may share a folder. If not given, runs are kept as long as the study.
    active, delay, start, learn : value or list of values, optional
        Options of `Variant` for all models. Of a list every value makes a line of its own.
    only : callable, optional
        Gets the names of a data set and a model and an order, and tells whether that is run: for
        models that take long, or that belong to some of the data. All are run if not given.
    note : callable, optional
        Gets the model after the last row of a run and the result, and returns a dict of numbers and
        words that is kept with the run, for `noted`. With another note runs are other ones.

    Examples
    --------
    >>> from efcml import EFCMLClassifier, Study, datasets
    >>> ds = datasets.load("stationary-clusters", n=150, n_initial=60)
    >>> models = Study.vary(EFCMLClassifier(prior=1.0), correlation=["shift", "none"])
    >>> study = Study(models, data=ds, orders=2).run()
    >>> study.table().index.names
    FrozenList(['data', 'model'])
    """

    def __init__(
        self,
        models: Mapping[str, Any] | Iterable[tuple[str, Any]],
        data: Any,
        *,
        orders: int | Sequence[int] = 10,
        seed: int = 0,
        folder: PathLike | None = None,
        active: Any = None,
        delay: int | list[int] | None = None,
        start: float | list[float | None] | None = None,
        learn: bool | list[bool] | None = None,
        only: Callable[[str, str, int], bool] | None = None,
        note: Note | None = None,
    ) -> None:
        axes = {"active": active, "delay": delay, "start": start, "learn": learn}
        axes = {name: value for name, value in axes.items() if value is not None}
        self.variants = read_variants(models, axes)
        check_whole("seed", seed, least=0)
        if note is not None and not callable(note):
            raise TypeError(f"note must be a function of model and result; got {note!r:.60}.")
        self.sets, self.orders = read_data(data), read_orders(orders)
        self.seed, self.note = int(seed), note
        cells = product(self.sets, self.variants, self.orders)
        self.runs = {cell: self._run(*cell) for cell in cells if only is None or only(*cell)}
        self.cache = RunCache(folder)
        self._known: dict[tuple[Any, ...], Any] = {}

    def _run(self, data: str, model: str, order: int) -> Run:
        variant, rows = self.variants[model], self.sets[data]
        n_initial = rows.n_initial(variant.start)
        return Run(
            f"{model} on {data}, order {order}",
            variant.model,
            rows.table(order, self.seed),
            slice(n_initial),
            rows.order(order, self.seed, n_initial),
            active=variant.active,
            seed=shuffle_seed(order, self.seed),
            delay=variant.delay,
            learn=variant.learn,
            note=self.note,
        )

    @staticmethod
    def vary(model: Any, **axes: Iterable[Any]) -> dict[str, Any]:
        """Return copies of a model with every combination of values, by names that say them.

        Parameters
        ----------
        model : estimator
            With ``set_params``.
        **axes : lists of values
            By the name of the parameter.

        Examples
        --------
        >>> from efcml import EFCMLClassifier, Study
        >>> list(Study.vary(EFCMLClassifier(), correlation=["shift", "none"], beta=[0, 1.0]))[:2]
        ['correlation=shift, beta=0', 'correlation=shift, beta=1']
        """
        return vary(model, axes)

    # -- runs -------------------------------------------------------------------------------

    def run(self, jobs: int = 1, dask: Any = None, *, progress: Progress = None) -> Self:
        """Do the runs that are missing; return the study.

        The result does not depend on where runs are done. After Ctrl-C, or if a worker dies, what
        was done is kept, and another call goes on from there.

        Parameters
        ----------
        jobs : int
            Processes on this machine; -1 for one on every core.
        dask : str or distributed.Client, optional
            A Dask cluster that does the runs instead; its workers need efcml, not the data.
        progress : bool or callable, optional
            Whether to show a bar; None shows it on a terminal and in a notebook. A function, such
            as ``print``, gets a line now and then.
        """
        from efcml.studies.workers import RunsInterrupted, complete

        try:
            runs = list(self.runs.values())
            complete(self.cache, runs, "study", jobs=jobs, dask=dask, progress=progress)
        except RunsInterrupted as interrupt:
            raise RunsInterrupted(f"{interrupt}; run() goes on from there") from None
        return self

    @property
    def total(self) -> int:
        """How many runs there are."""
        return len(self.runs)

    @property
    def done(self) -> int:
        """How many of them are kept."""
        return sum(run in self.cache for run in self.runs.values())

    @property
    def models(self) -> list[str]:
        """Names of the models; others are compared with the first."""
        return list(self.variants)

    @property
    def data(self) -> list[str]:
        """Names of the data sets."""
        return list(self.sets)

    def result(
        self, model: str | None = None, data: str | None = None, order: int | None = None
    ) -> PrequentialResult:
        """Return what `prequential` gave in one run; by default the first of everything."""
        return self.cache.result(self._find(model, data, order))

    def facts(
        self, model: str | None = None, data: str | None = None, order: int | None = None
    ) -> Facts:
        """Return how one run was made: seconds, warnings, versions, and what was noted."""
        run = self._find(model, data, order)
        facts = self.cache.facts(run)
        if facts is None:
            raise ValueError(f"{run.label} is not run yet: call study.run().")
        return facts

    def noted(
        self, model: str | None = None, data: str | None = None, order: int | None = None
    ) -> Facts:
        """Return what ``note`` gave in one run; by default the first of everything."""
        if self.note is None:
            raise ValueError("nothing is noted: give Study a function as note=...")
        return self.facts(model, data, order)["noted"]

    def _find(self, model: str | None, data: str | None, order: int | None) -> Run:
        """Return a run, the first of what is not given."""
        order = self.orders[0] if order is None else order
        if order not in self.orders:
            known = ", ".join(map(str, self.orders))
            raise ValueError(f"there is no order {order!r}: choose from {known}.")
        data, model = choose(data, self.data, "data set"), choose(model, self.models, "model")
        if (data, model, order) not in self.runs:
            raise ValueError(f"{model} on {data}, order {order} is left out of this study.")
        return self.runs[data, model, order]

    def orders_of(self, data: str, *models: str) -> tuple[int, ...]:
        """Return the orders in which all these models have been run."""

        def is_kept(model: str, order: int) -> bool:
            run = self.runs.get((data, model, order))
            return run is not None and run in self.cache

        return tuple(o for o in self.orders if all(is_kept(model, o) for model in models))

    def pairs(self, to: str | None = None) -> list[tuple[str, str]]:
        """Return data sets and models that are compared with one, the first if none is given."""
        to = choose(to, self.models, "model")
        others = product(self.data, [name for name in self.models if name != to])
        return [pair for pair in others if self._meet(*pair, to)]

    def _meet(self, data: str, model: str, to: str) -> bool:
        return any({(data, model, o), (data, to, o)} <= self.runs.keys() for o in self.orders)

    # -- numbers ----------------------------------------------------------------------------

    def comparisons(self, measures: Names = USUAL) -> int:
        """Return how many differences a person sees who looks at all of them."""
        return max(len(self.pairs()) * len(listed(measures)), 1)

    def table(self, measures: Names = USUAL) -> pd.DataFrame:
        """Return a pandas DataFrame: one line per data set and model, means over the orders.

        Columns are the measures, the number of rules at the end, milliseconds per sample, the share
        of labels that was asked, and the number of orders.
        """
        lines = {}
        for data, model in product(self.data, self.models):
            orders = self.orders_of(data, model)
            if orders:
                values = {name: self.mean(data, model, name) for name in listed(measures)}
                lines[data, model] = values | self._counts(data, model, orders)
        if not lines:
            raise ValueError("nothing has been run yet: call study.run() first.")
        frame = WholeFrame.from_dict(lines, orient="index").astype({"orders": int})
        return WholeFrame(frame.rename_axis(["data", "model"]))

    def mean(self, data: str, model: str, measure: str) -> float:
        """Return a measure, mean over the orders; NaN where it has none."""
        tallies = self._tallies(data, model, measure, self.orders_of(data, model))
        return float(all_measures.find(measure).value_of(tallies.sum(axis=1)).mean())

    def _counts(self, data: str, model: str, orders: tuple[int, ...]) -> dict[str, Any]:
        """Return rules at the end, time and share of labels asked, means over the orders."""
        key = "counts", data, model, orders
        if key not in self._known:
            results = [self.result(model, data, order) for order in orders]
            self._known[key] = {
                "rules": float(np.mean([one.rules[-1] for one in results])),
                "ms_per_sample": 1e3 * float(np.mean([one.seconds_per_sample for one in results])),
                "asked": float(np.mean([one.queried.mean() for one in results])),
                "orders": len(orders),
            }
        return self._known[key]

    def _tallies(self, data: str, model: str, measure: str, orders: tuple[int, ...]) -> Floats:
        """Return the tallies of a measure, (orders, samples, 2, L), in the order of the file."""
        key = "tallies", data, model, measure, orders
        if key not in self._known:
            tables = [self.result(model, data, order).tallies(measure) for order in orders]
            rows = [self._arriving(data, model, order) for order in orders]
            pairs = zip(tables, rows, strict=True)
            self._known[key] = np.stack([table[np.argsort(row)] for table, row in pairs])
        return self._known[key]

    def _arriving(self, data: str, model: str, order: int) -> Ints:
        return self.runs[data, model, order].stream_rows

    def differences(
        self,
        model: str | None = None,
        *,
        to: str | None = None,
        measures: Names = USUAL,
        comparisons: int | None = None,
    ) -> pd.DataFrame:
        """Return a model minus another, paired by sample, with intervals; a line per data set.

        Measures have three columns each: the difference, and the ends of the 95 % interval,
        corrected (Bonferroni) for the number of comparisons. "scores" has the largest change of any
        score, and the share of decisions that changed: where both are 0, nothing changed at all.

        Parameters
        ----------
        model : str, optional
            If not given, all models but the one that is compared with, as lines (data, model).
        to : str, optional
            The one to compare with; the first if not given.
        measures : str or sequence of str
        comparisons : int, optional
            Among how many these are looked at; all of the study if not given.
        """
        to, measures = choose(to, self.models, "model"), listed(measures)
        count = self.comparisons(measures) if comparisons is None else comparisons
        check_whole("comparisons", count, least=1)
        pairs = self.pairs(to)
        if model is not None:
            model = choose(model, self.models, "model")
            pairs = [(data, model) for data in self.data if self._meet(data, model, to)]
        if not pairs:
            raise ValueError("a single model has no differences: give at least two.")
        lines = {pair: self._line(*pair, to, measures, count) for pair in pairs}
        frame = pd.DataFrame.from_dict(lines, orient="index")
        frame.columns = pd.MultiIndex.from_tuples(frame.columns)
        frame = frame.rename_axis(index=["data", "model"])
        found = WholeFrame(frame if model is None else frame.droplevel("model"))
        found.attrs = {"to": to, "comparisons": count, "level": LEVEL}
        return found

    def _line(
        self, data: str, model: str, to: str, measures: Sequence[str], count: int
    ) -> dict[tuple[str, str], float]:
        """Return one line of differences."""
        line: dict[tuple[str, str], float] = {}
        for measure in measures:
            interval = self.interval(data, model, to, measure, count)
            line |= {(measure, end): value for end, value in interval._asdict().items()}
        change = self.change(data, model, to)
        line["scores", "largest change"] = change.largest
        line["scores", "decisions changed"] = change.decisions / max(change.asked, 1)
        return line

    def interval(
        self, data: str, model: str, to: str, measure: str, comparisons: int = 1
    ) -> Interval:
        """Return a model minus another one on a data set, paired, with its interval."""
        orders = self._common_orders(data, model, to)
        key = "interval", data, model, to, measure, comparisons, orders
        if key not in self._known:
            first, second = common_samples(
                self._tallies(data, name, measure, orders) for name in (to, model)
            )
            value_of, block = all_measures.find(measure).value_of, self.sets[data].block
            self._known[key] = paired_difference(first, second, value_of, block, comparisons)
        return self._known[key]

    def change(self, data: str, model: str, to: str) -> Change:
        """Return how far the answers of two models are apart, over all orders."""
        orders = self._common_orders(data, model, to)
        key = "change", data, model, to, orders
        if key not in self._known:
            largest, decisions, asked = 0.0, 0, 0
            for order in orders:
                first, second = common_samples(
                    self._answers(data, name, order) for name in (to, model)
                )
                gap = np.abs(first - second)[0]  # samples, scores and decisions, labels
                largest = max(largest, float(gap[:, 0].max(initial=0.0)))
                decisions, asked = decisions + int(gap[:, 1].sum()), asked + gap[:, 1].size
            self._known[key] = Change(largest, decisions, asked)
        return self._known[key]

    def _answers(self, data: str, model: str, order: int) -> Floats:
        """Return scores and decisions of a run, (1, samples, 2, K), in the order of the file."""
        found = self.result(model, data, order)
        both = np.stack([found.scores, found.decisions], axis=1)
        return both[np.argsort(self._arriving(data, model, order))][None]

    def _common_orders(self, data: str, model: str, to: str) -> tuple[int, ...]:
        orders = self.orders_of(data, model, to)
        if not orders:
            raise ValueError(f"{model!r} and {to!r} are not run yet on {data}: call study.run().")
        return orders

    # -- pictures ---------------------------------------------------------------------------

    def plot(
        self,
        measure: str = "pa",
        *,
        data: str | None = None,
        models: Names | None = None,
        window: int | None = None,
        ax: Axes | None = None,
    ) -> Any:
        """Draw a measure, or "rules", along the stream; return the Axes, of several sets an array.

        Lines are means over the orders, bands reach from the lowest to the highest.

        Parameters
        ----------
        measure : str
            A name in `efcml.measures.MEASURES`, or "rules".
        data : str, optional
            One data set; all of them if not given.
        models : str or sequence of str, optional
        window : int, optional
            The measure of the last so many rows; of all rows so far if not given.
        ax : Axes, optional
            For one data set.
        """
        wanted = self.models if models is None else listed(models)
        names = [choose(name, self.models, "model") for name in wanted]
        every = data is None and ax is None
        sets = self.data if every else [choose(data, self.data, "data set")]
        return pictures.draw_study(self, measure, sets, names, window=window, ax=ax)

    def plot_differences(
        self,
        measure: str = "pa",
        *,
        to: str | None = None,
        comparisons: int | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw all differences to one model with their intervals; return the Axes."""
        number = self.comparisons((measure,)) if comparisons is None else comparisons
        to = choose(to, self.models, "model")
        return pictures.draw_study_differences(self, measure, to, number, ax=ax)

    # -- words ------------------------------------------------------------------------------

    def notes(self, measures: Names = USUAL) -> list[str]:
        """Return sentences on what the differences mean, and on what a reader should know."""
        return notes.notes(self, listed(measures))

    def write(self, folder: PathLike, measures: Names = USUAL) -> list[str]:
        """Write tables, figures and a page into a folder; return the names of the files."""
        from efcml.studies.page import write_study

        return write_study(self, folder, listed(measures))

    @property
    def title(self) -> str:
        """What the study is and how far it has come, in one line."""
        return notes.head_line(self)

    def readable(self, measures: Names = USUAL) -> pd.DataFrame:
        """Return the table as words, with the differences to the first model beside it."""
        measures, first = listed(measures), self.models[0]
        frame = self.table(measures)
        number = self.comparisons(measures)
        shown = pd.DataFrame(index=frame.index)
        formats = dict.fromkeys(measures, "{:.4f}") | {"rules": "{:.1f}", "ms_per_sample": "{:.2g}"}
        for name, words in formats.items():
            shown[notes.title(name)] = frame[name].map(words.format)
        for name in measures if len(self.models) > 1 else ():
            shown[f"{notes.title(name)} minus {first}"] = [
                "-"
                if model == first or not self.orders_of(data, model, first)
                else self.interval(data, model, first, name, number).in_points()
                for data, model in frame.index
            ]
        return shown

    def settings(self) -> pd.DataFrame:
        """Return what is not the same in all models, a line for each."""
        lines = {name: variant.settings() for name, variant in self.variants.items()}
        frame = pd.DataFrame.from_dict(lines, orient="index", dtype=object)
        differs = [name for name in frame if frame[name].map(repr).nunique() > 1]
        return frame[list(dict.fromkeys(["class", *differs]))].rename_axis("model").fillna("")

    def summary(self, measures: Names = USUAL) -> Facts:
        """Return everything that a script could want to know."""
        return {
            "runs": self.total,
            "done": self.done,
            "orders": list(self.orders),
            "seed": self.seed,
            "models": {name: variant.settings() for name, variant in self.variants.items()},
            "data": {name: one.fingerprint for name, one in self.sets.items()},
            "table": self.table(measures).reset_index().to_dict("records"),
            "differences": self.difference_lines(measures).to_dict("records"),
            "notes": self.notes(measures),
            "method": provenance.method(),
            "versions": provenance.versions(),
            "version": provenance.versions()["efcml"],
        }

    def difference_lines(self, measures: Names = USUAL) -> pd.DataFrame:
        """Return one line per data set, model and measure: the difference to the first model."""
        first, number = self.models[0], self.comparisons(measures)
        lines = [
            {"data": data, "model": model, "to": first, "measure": measure}
            | self.interval(data, model, first, measure, number)._asdict()
            | {"comparisons": number}
            for data, model in self.pairs()
            if self.orders_of(data, model, first)
            for measure in listed(measures)
        ]
        return pd.DataFrame(lines)

    def to_text(self, measures: Names = USUAL) -> str:
        """Return table and notes as text."""
        if not self.done:
            return f"{self.title}; study.run() does them."
        table = self.readable(measures).to_string()
        return "\n".join([self.title, table, *self.notes(measures)])

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from efcml.studies.page import as_html

        return as_html(self)


def common_samples(tables: Iterable[Floats]) -> list[Floats]:
    """Cut tables of shape (orders, samples, ...) to the last samples, which all have."""
    tables = list(tables)
    n = min(table.shape[1] for table in tables)
    return [table[:, table.shape[1] - n :] for table in tables]


def listed(names: Names) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def read_orders(orders: Any) -> tuple[int, ...]:
    """Return the orders of a study: so many, or those of a list."""
    if isinstance(orders, Iterable) and not isinstance(orders, str):
        found = list(orders)
        if not found:
            raise ValueError("orders is empty: give at least one; 0 is that of the file.")
        for order in found:
            check_whole("an order", order, least=0, most=MOST_ORDERS - 1)
        if len(set(found)) < len(found):
            raise ValueError(f"orders has the same one twice: {found}.")
        return tuple(int(order) for order in found)
    check_whole("orders", orders, least=1, most=MOST_ORDERS)
    return tuple(range(int(orders)))


def choose(name: str | None, known: list[str], what: str) -> str:
    """Return a name that is known, the first if none is given."""
    if name is None:
        return known[0]
    if name not in known:
        raise ValueError(f"there is no {what} {name!r}: choose from {', '.join(known)}.")
    return name
