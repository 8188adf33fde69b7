"""Study: several models on several data sets in several orders, in one object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import product
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pandas as pd

from efcml.evaluation.prequential_result import USUAL
from efcml.measures import MEASURES, find
from efcml.studies import notes
from efcml.studies.intervals import LEVEL, Interval, paired_difference
from efcml.studies.runs import Run, RunCache
from efcml.studies.variants import MOST_ORDERS, read_data, read_variants, vary
from efcml.studies.workers import RunsInterrupted, complete
from efcml.support.checks import check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from efcml.evaluation import PrequentialResult
    from efcml.studies.runs import Note
    from efcml.studies.workers import Progress
    from efcml.support.aliases import Facts, Floats, PathLike

    Name: TypeAlias = str | None
    Names: TypeAlias = str | Sequence[str]  # one or several


CHANGES = ("largest change", "decisions changed")  # of scores, besides measures


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
        given = {name: value for name, value in axes.items() if value is not None}
        self.variants = read_variants(models, given)
        check_whole("seed", seed, least=0)
        if note is not None and not callable(note):
            raise TypeError(f"note must be a function of model and result; got {note!r:.60}.")
        self.sets, self.orders = read_data(data), read_orders(orders)
        self.models, self.data = list(self.variants), list(self.sets)  # names
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
            seed=MOST_ORDERS * self.seed + order,
            delay=variant.delay,
            learn=variant.learn,
            note=self.note,
        )

    vary = staticmethod(vary)

    # -- runs -------------------------------------------------------------------------------

    def run(self, jobs: int = 1, dask: Any = None, *, progress: Progress = None) -> Self:
        """Do the runs that are missing; return the study.

        The result does not depend on where runs are done. What was done is kept, however it ends,
        and another call goes on from there.

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
        try:
            runs = list(self.runs.values())
            complete(self.cache, runs, "study", jobs, dask, progress)
        except RunsInterrupted as interrupt:
            raise RunsInterrupted(f"{interrupt}; another call goes on from there") from None
        return self

    @property
    def total(self) -> int:
        """How many runs there are."""
        return len(self.runs)

    @property
    def done(self) -> int:
        """How many of them are kept."""
        return sum(run in self.cache for run in self.runs.values())

    def result(
        self, model: Name = None, data: Name = None, order: int | None = None
    ) -> PrequentialResult:
        """Return what `prequential` gave in one run; by default the first of everything."""
        return self.cache.result(self._find(model, data, order))

    def facts(self, model: Name = None, data: Name = None, order: int | None = None) -> Facts:
        """Return how one run was made: seconds, warnings, versions, and what was noted."""
        return self.cache.facts(self._find(model, data, order))

    def noted(self, model: Name = None, data: Name = None, order: int | None = None) -> Facts:
        """Return what ``note`` gave in one run; by default the first of everything."""
        if self.note is None:
            raise ValueError("nothing is noted: give Study a function as note=...")
        return self.facts(model, data, order)["noted"]

    def _find(self, model: Name, data: Name, order: int | None) -> Run:
        """Return a run, the first of what is not given."""
        order = choose(order, list(self.orders), "order")
        data, model = choose(data, self.data, "data set"), self._model(model)
        if (data, model, order) not in self.runs:
            raise ValueError(f"{model} on {data}, order {order} is left out of this study.")
        return self.runs[data, model, order]

    def _model(self, name: str | None) -> str:
        return choose(name, self.models, "model")

    def orders_of(self, data: str, *models: str) -> tuple[int, ...]:
        """Return the orders in which all these models have been run."""

        def is_done(*cell: Any) -> bool:
            return cell in self.runs and self.runs[cell] in self.cache

        return tuple(o for o in self.orders if all(is_done(data, model, o) for model in models))

    def pairs(self, to: str | None = None) -> list[tuple[str, str]]:
        """Return data sets and models that are compared with one, the first if none is given."""
        to = self._model(to)
        others = product(self.data, [name for name in self.models if name != to])
        return [
            (data, model)
            for data, model in others
            if any({(data, model, o), (data, to, o)} <= self.runs.keys() for o in self.orders)
        ]

    @property
    def compared(self) -> list[tuple[str, str]]:
        """Data sets and models that have been run in an order in which the first one has."""
        return [pair for pair in self.pairs() if self.orders_of(*pair, self.models[0])]

    # -- numbers ----------------------------------------------------------------------------

    def comparisons(self, measures: Names = USUAL) -> int:
        """Return how many differences a person sees who looks at all of them."""
        return max(len(self.pairs()) * len(listed(measures)), 1)

    def table(self, measures: Names = USUAL) -> pd.DataFrame:
        """Return a pandas DataFrame: one line per data set and model, means over the orders.

        Columns are the measures, the number of rules at the end, milliseconds per sample, the share
        of labels that was asked, and the number of orders.
        """
        lines: dict[tuple[str, str], Facts] = {}
        for cell in product(self.data, self.models):
            orders = self.orders_of(*cell)
            if orders:
                lines[cell] = {}
                for name in listed(measures):
                    sums = self._once(self._tallies, *cell, name, orders).sum(axis=1)
                    lines[cell][name] = float(find(name).value_of(sums).mean())
                lines[cell] |= self._once(self._counts, *cell, orders)
        if not lines:
            raise ValueError("nothing has been run yet: call study.run() first.")
        index = pd.MultiIndex.from_tuples(lines, names=["data", "model"])
        return WholeFrame(list(lines.values()), index)

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
        model, to : str, optional
            If not given, all models, as lines (data, model), and the first one.
        measures : str or sequence of str
        comparisons : int, optional
            Among how many these are looked at; all of the study if not given.
        """
        to, measures = self._model(to), listed(measures)
        number = self.comparisons(measures) if comparisons is None else comparisons
        check_whole("comparisons", number, least=1)
        wanted = self.models if model is None else [self._model(model)]
        pairs = [pair for pair in self.pairs(to) if pair[1] in wanted]
        if not pairs:
            raise ValueError("a single model has no differences: give at least two.")
        lines: dict[tuple[str, str], list[float]] = {}
        for pair in pairs:
            orders = self.orders_of(*pair, to)
            if orders:
                lines[pair] = []
                for measure in measures:
                    lines[pair] += self._once(self._interval, *pair, to, measure, orders, number)
                lines[pair] += self._once(self._change, *pair, to, orders)
        if not lines:
            data, name = pairs[0]
            raise ValueError(f"{name!r} and {to!r} are not run yet on {data}: call study.run().")
        columns = [*product(measures, Interval._fields), *product(["scores"], CHANGES)]
        index = pd.MultiIndex.from_tuples(lines, names=["data", "model"])
        index = index if model is None else index.droplevel("model")
        found = WholeFrame(list(lines.values()), index, pd.MultiIndex.from_tuples(columns))
        found.attrs = {"to": to, "comparisons": number, "level": LEVEL}
        return found

    def _once(self, make: Callable[..., Any], *given: Any) -> Any:
        """Return what was made of some orders, from what is known if there is nothing new."""
        key = make.__name__, *given
        if key not in self._known:
            self._known[key] = make(*given)
        return self._known[key]

    def _tallies(self, data: str, model: str, measure: str, orders: tuple[int, ...]) -> Floats:
        """Return the tallies of a measure, (orders, samples, 2, L), in the order of the file."""
        runs = [self.runs[data, model, order] for order in orders]
        found = [in_file_order(run, self.cache.result(run).tallies(measure)) for run in runs]
        return np.stack(found)

    def _counts(self, data: str, model: str, orders: tuple[int, ...]) -> Facts:
        results = [self.result(model, data, order) for order in orders]
        return {
            "rules": float(np.mean([one.rules[-1] for one in results])),
            "ms_per_sample": 1e3 * float(np.mean([one.seconds_per_sample for one in results])),
            "asked": float(np.mean([one.queried.mean() for one in results])),
            "orders": len(orders),
        }

    def _interval(
        self, data: str, model: str, to: str, measure: str, orders: tuple[int, ...], number: int
    ) -> Interval:
        tables = [self._once(self._tallies, data, one, measure, orders) for one in (to, model)]
        n = min(table.shape[1] for table in tables)  # the last samples, which both have
        first, second = (table[:, table.shape[1] - n :] for table in tables)
        return paired_difference(
            first, second, find(measure).value_of, self.sets[data].block, number
        )

    def _change(self, data: str, model: str, to: str, orders: tuple[int, ...]) -> list[float]:
        gaps = []
        for order in orders:
            runs = [self.runs[data, name, order] for name in (to, model)]
            tables = [in_file_order(run, answers(self.cache.result(run))) for run in runs]
            n = min(map(len, tables))  # the last samples, which both have
            gap = np.abs(tables[0][-n:] - tables[1][-n:])
            gaps.append((gap[:, 0].max(initial=0.0), gap[:, 1].mean()))
        largest, shares = zip(*gaps, strict=True)
        return [float(max(largest)), float(np.mean(shares))]

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
        data, models : str, optional
            One data set, one model or a list; all of them if not given.
        window : int, optional
            The measure of the last so many rows; of all rows so far if not given.
        ax : Axes, optional
            For one data set.
        """
        from efcml.plots.style import own_axes
        from efcml.studies import page

        choose(measure, ["rules", *MEASURES], "measure")
        names = [self._model(name) for name in (self.models if models is None else listed(models))]
        if data is not None or ax is not None or len(self.data) == 1:
            one = choose(data, self.data, "data set")
            return page.draw_set(self, measure, one, names, window, ax or own_axes())
        figure = own_axes().figure  # which a notebook shows
        figure.clear()
        axes = page.panels(self.data, figure, 2)
        for one, ax in zip(self.data, axes, strict=True):
            page.draw_set(self, measure, one, names, window, ax)
        return axes

    def plot_differences(
        self,
        measure: str = "pa",
        *,
        to: str | None = None,
        comparisons: int | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw all differences to one model with their intervals; return the Axes."""
        from efcml.studies import page

        found = self.differences(to=to, measures=measure, comparisons=comparisons)
        return page.draw_intervals(found, measure, ax)

    # -- words ------------------------------------------------------------------------------

    def notes(self, measures: Names = USUAL) -> list[str]:
        """Return sentences on what the differences mean, and on what a reader should know."""
        return notes.notes(self, listed(measures))

    def write(self, folder: PathLike, measures: Names = USUAL) -> list[str]:
        """Write tables, figures and a page into a folder; return the names of the files."""
        from efcml.studies import page

        return page.write_study(self, folder, listed(measures))

    @property
    def title(self) -> str:
        """What the study is and how far it has come, in one line."""
        sizes = {"model": self.models, "data set": self.data, "order": self.orders}
        counts = ", ".join(notes.counted(len(things), noun) for noun, things in sizes.items())
        return f"Study of {counts}: {self.done} of {self.total} runs done"

    def readable(self, measures: Names = USUAL) -> pd.DataFrame:
        """Return the table as words, with the differences to the first model beside it."""
        measures, frame = listed(measures), self.table(measures)
        formats = dict.fromkeys(measures, "{:.4f}") | {"rules": "{:.1f}", "ms_per_sample": "{:.2g}"}
        shown = pd.DataFrame({notes.title(n): frame[n].map(formats[n].format) for n in formats})
        if self.compared:
            found = self.differences(measures=measures)
            for name in measures:
                cells = found[name].apply(lambda line: Interval(*line).in_points(), axis=1)
                shown[f"{notes.title(name)} minus {self.models[0]}"] = cells
        return shown.fillna("-")

    def to_text(self, measures: Names = USUAL) -> str:
        """Return table and notes as text."""
        if not self.done:
            return f"{self.title}; study.run() does them."
        table = self.readable(measures).to_string()
        return "\n".join([self.title, table, *self.notes(measures)])

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        if not self.done:
            return f"<p>{escape(self.to_text())}</p>"
        table = self.readable().to_html(border=0, index_names=False)
        return f"<p>{escape(self.title)}</p>{table}<p>{'<br>'.join(map(escape, self.notes()))}</p>"


def in_file_order(run: Run, values: Any) -> Any:
    """Return values that came in the order of a run, in the order of the file."""
    return values[np.argsort(run.stream_rows)]


def answers(result: PrequentialResult) -> Floats:
    """Return scores and decisions of a run, of shape (n, 2, K)."""
    return np.stack([result.scores, result.decisions], axis=1)


def listed(names: Names) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def read_orders(orders: Any) -> tuple[int, ...]:
    """Return the orders of a study: so many, or those of a list."""
    if not isinstance(orders, Iterable) or isinstance(orders, str):
        check_whole("orders", orders, least=1, most=MOST_ORDERS)
        return tuple(range(int(orders)))
    numbers = list(orders)
    if not numbers:
        raise ValueError("orders is empty: give at least one; 0 is that of the file.")
    for order in numbers:
        check_whole("an order", order, least=0, most=MOST_ORDERS - 1)
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"orders has the same one twice: {numbers}.")
    return tuple(map(int, numbers))


def choose(name: Any, known: list[Any], what: str) -> Any:
    """Return a name that is known, the first if none is given."""
    if name is not None and name not in known:
        raise ValueError(f"there is no {what} {name!r}: choose from {', '.join(map(str, known))}.")
    return known[0] if name is None else name
