"""Study: several models on several data sets in several orders, in one object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from html import escape
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pandas as pd

from efcml import plots
from efcml.evaluation.prequential_result import USUAL
from efcml.explain.words import count
from efcml.measures import MEASURES, find
from efcml.plots.style import own_axes
from efcml.studies import page
from efcml.studies.intervals import LEVEL, Interval, paired_difference
from efcml.studies.ranks import Ranks, SignedRanks, compare_two, rank_models
from efcml.studies.runs import Run, RunCache
from efcml.studies.variants import MOST_ORDERS, choose, read_data, read_variants, refuse_words, vary
from efcml.studies.workers import RunsInterrupted, complete
from efcml.support.checks import check_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from efcml.evaluation import PrequentialResult
    from efcml.studies.workers import Progress
    from efcml.support.aliases import Facts, Floats, PathLike

    Names: TypeAlias = str | Sequence[str]  # one or several

CHANGES = ("largest change", "decisions changed")  # of scores, besides measures
WORDS = {"random_state": "seed", "n_orders": "orders", "checkpoint": "folder"}  # of others
FIRST = 0.05  # of a stream is not drawn: means of few rows say little


class WholeFrame(pd.DataFrame):
    """A table that prints all of its columns; what is made of it is a DataFrame."""

    def __repr__(self) -> str:
        return self.to_string(float_format="{:.4g}".format)


class Study:
    """Models on data sets in several orders: run, table, paired differences, ranks, pictures.

    Every model is fitted to the initial part of every data set, and a copy of it then goes through
    the stream in every order, test-then-train. The others are compared with the first model.

    Parameters
    ----------
    models : dict of str to model or Variant, or one of these, or a list
        Not fitted: ours, or whatever else `prequential` takes. `Study.vary` makes such a dict. A
        `Variant` also says how its model gets labels: late, in part, from when on.
    data : name, Dataset, (X, Y), or a list of these, or a dict of these by name
        X and Y are arrays or data frames.
    orders : int
        Order 0 is that of the file; the others are shuffles of the stream, by their number and the
        seed. A built-in stream that is given by name is drawn anew instead, to keep its drift.
    seed : int
    folder : path, optional
        Keeps every run by its content: what is there is not run again. Several studies and searches
        may share a folder. If not given, runs are kept as long as the study.
    block : int, optional
        So many neighbouring rows belong together, for intervals of differences: 1 says that rows
        are independent. Found out if not given.
    measures : str or sequence of str
        What is shown where nothing else is asked for. Intervals are corrected for all of them.

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
        models: Any,
        data: Any,
        *,
        orders: int = 10,
        seed: int = 0,
        folder: PathLike | None = None,
        block: int | None = None,
        measures: Names = USUAL,
        **other: Any,
    ) -> None:
        refuse_words(other, WORDS)
        check_whole("orders", orders, least=1, most=MOST_ORDERS)
        check_whole("seed", seed, least=0)
        check_whole("block", 1 if block is None else block, least=1)
        self.variants, self.sets = read_variants(models), read_data(data)
        self.models, self.data = list(self.variants), list(self.sets)  # names
        self.orders, self.seed, self.block = range(orders), int(seed), block
        self.measures = self._listed(measures)
        self.cache = RunCache(folder)
        self._known: dict[tuple[Any, ...], Any] = {}

    @cached_property
    def runs(self) -> dict[tuple[str, str, int], Run]:
        """All runs by data set, model and order; streams are drawn when this is first used."""
        cells = product(self.sets, self.variants, self.orders)
        return {cell: self._run(*cell) for cell in cells}

    def _run(self, data: str, model: str, order: int) -> Run:
        variant, rows, seed = self.variants[model], self.sets[data], MOST_ORDERS * self.seed + order
        return Run(
            f"{model} on {data}, order {order}",
            variant.model,
            rows.table(seed),
            slice(rows.dataset.n_initial),
            rows.arriving(seed if order else 0),
            active=variant.active,
            seed=seed,
            delay=variant.delay,
            learn=variant.learn,
        )

    vary = staticmethod(vary)

    # -- runs -------------------------------------------------------------------------------

    def run(
        self,
        jobs: int = 1,
        dask: Any = None,
        *,
        n_jobs: int | None = None,
        progress: Progress = None,
    ) -> Self:
        """Do the runs that are missing, the same wherever they are done; return the study.

        What was done is kept, however it ends, and another call goes on from there.

        Parameters
        ----------
        jobs, n_jobs : int
            Processes on this machine; -1 for one on every core. Both words say the same.
        dask : str or distributed.Client, optional
            A Dask cluster that does the runs instead; its workers need efcml, not the data.
        progress : bool or callable, optional
            Whether to show a bar; None shows it on a terminal and in a notebook. A function, such
            as ``print``, gets a line now and then.
        """
        jobs = jobs if n_jobs is None else n_jobs
        try:
            complete(self.cache, list(self.runs.values()), "study", jobs, dask, progress)
        except RunsInterrupted as interrupt:
            raise RunsInterrupted(f"{interrupt}; another call goes on from there") from None
        return self

    @property
    def done(self) -> int:
        """How many of the runs are kept."""
        return sum(run in self.cache for run in self.runs.values())

    def result(
        self, model: str | None = None, data: str | None = None, order: int | None = None
    ) -> PrequentialResult:
        """Return what `prequential` gave in one run; by default the first of everything."""
        order = choose(order, list(self.orders), "order")
        data, model = choose(data, self.data, "data set"), choose(model, self.models, "model")
        return self.cache.result(self.runs[data, model, order])

    def _results(self, model: str, data: str) -> list[PrequentialResult]:
        """Return the results of all orders."""
        if self.done < len(self.runs):
            raise ValueError(f"{self.title}: call study.run() first.")
        return [self.result(model, data, order) for order in self.orders]

    # -- numbers ----------------------------------------------------------------------------

    def table(self, measures: Names | None = None) -> pd.DataFrame:
        """Return a pandas DataFrame: one line per data set and model, means over the orders.

        Columns are the measures, the number of rules at the end, milliseconds per sample, the share
        of labels that was asked, the number of orders, and, such as ``pa_std``, the standard
        deviations of the measures over the orders.
        """
        names, cells = self._listed(measures), [*product(self.data, self.models)]
        lines = [self._once(self._line, *cell, names) for cell in cells]
        return WholeFrame(lines, pd.MultiIndex.from_tuples(cells, names=["data", "model"]))

    def differences(
        self,
        model: str | None = None,
        *,
        to: str | None = None,
        measures: Names | None = None,
        comparisons: int | None = None,
    ) -> pd.DataFrame:
        """Return a model minus another, paired by row, with intervals; a line per data set.

        Measures have three columns each: the difference, and the ends of the 95 % interval,
        corrected (Bonferroni) for the number of comparisons; NaN where no interval would be honest,
        and `notes` says why. "scores" has the largest change of any score, and the share of
        decisions that changed: where both are 0, nothing changed at all.

        Parameters
        ----------
        model, to : str, optional
            If not given, all models, as lines (data, model), and the first one.
        measures : str or sequence of str
        comparisons : int, optional
            Among how many these are looked at; all of the study if not given.
        """
        to, measures = choose(to, self.models, "model"), self._listed(measures)
        others = [name for name in self.models if name != to]
        if not others:
            raise ValueError("a single model has no differences: give at least two.")
        usual = len(others) * len(self.data) * len({*self.measures, *measures})
        number = usual if comparisons is None else comparisons
        check_whole("comparisons", number, least=1)
        wanted = others if model is None else [choose(model, self.models, "model")]
        pairs = [*product(self.data, wanted)]
        lines = []
        for pair in pairs:
            found = [self._once(self._interval, *pair, to, name, number) for name in measures]
            ends = chain(*(one[:3] for one in found))
            lines.append([*ends, *self._once(self._change, *pair, to)])
        columns = [*product(measures, Interval._fields[:3]), *product(["scores"], CHANGES)]
        index = pd.MultiIndex.from_tuples(pairs, names=["data", "model"])
        index = index if model is None else index.droplevel("model")
        table = WholeFrame(lines, index, pd.MultiIndex.from_tuples(columns))
        table.attrs = {"to": to, "comparisons": number, "level": LEVEL}
        return table

    def _listed(self, names: Names | None) -> tuple[str, ...]:
        """Return measures as a tuple; those of the study if none are asked for."""
        names = self.measures if names is None else names
        return (names,) if isinstance(names, str) else tuple(names)

    def _found(self, measures: Names | None) -> pd.DataFrame | None:
        """Return the differences to the first model, None if there is no other one."""
        return self.differences(measures=measures) if len(self.models) > 1 else None

    def _once(self, make: Callable[..., Any], *given: Any) -> Any:
        """Return what was made of all orders, from what is known if it was asked for before."""
        key = make.__name__, *given
        if key not in self._known:
            self._known[key] = make(*given)
        return self._known[key]

    def _line(self, data: str, model: str, names: Sequence[str]) -> Facts:
        """Return a line of the table."""
        results = self._results(model, data)
        values: dict[str, list[Any]] = {n: [one.measure(n) for one in results] for n in names}
        values["rules"] = [one.rules[-1] for one in results]
        values["ms_per_sample"] = [one.ms_per_sample for one in results]
        values["asked"] = [one.queried.mean() for one in results]
        line = {name: float(np.mean(found)) for name, found in values.items()}
        spread = {f"{n}_std": float(np.std(values[n], ddof=len(results) > 1)) for n in names}
        return line | {"orders": len(results)} | spread

    def _pair(
        self, data: str, model: str, to: str, values: Callable[[PrequentialResult], Floats]
    ) -> list[Floats]:
        """Return values of two models, the second first, by order and sample, as in the file."""
        tables = []
        for name in (to, model):
            runs = [self.runs[data, name, order] for order in self.orders]
            found = [values(result) for result in self._results(name, data)]
            pairs = zip(found, runs, strict=True)
            tables.append(np.stack([rows[np.argsort(run.stream_rows)] for rows, run in pairs]))
        return tables

    def _interval(self, data: str, model: str, to: str, measure: str, number: int) -> Interval:
        first, second = self._pair(data, model, to, lambda one: one.tallies(measure))
        given = first, second, find(measure).value_of, self.block, number
        return paired_difference(*given, shared=not self.sets[data].redrawn)

    def _change(self, data: str, model: str, to: str) -> list[float]:
        both = self._pair(data, model, to, lambda r: np.stack([r.scores, r.decisions], axis=1))
        gaps = np.abs(both[0] - both[1])
        return [float(gaps[:, :, 0].max()), float(gaps[:, :, 1].mean())]

    # -- several data sets ------------------------------------------------------------------

    def ranks(self, measure: str = "pa", *, level: float = LEVEL) -> Ranks:
        """Return the mean ranks of the models over the data sets, and what they are worth.

        Friedman's test says whether models differ at all; two models differ if their mean ranks are
        further apart than the critical difference (Nemenyi), at this level of confidence.
        """
        return rank_models(self._values(measure), find(measure), level)

    def plot_ranks(
        self, measure: str = "pa", *, level: float = LEVEL, ax: Axes | None = None
    ) -> Axes:
        """Draw mean ranks; a bar joins models that cannot be told apart. Return the Axes."""
        return self.ranks(measure, level=level).plot(ax)

    def signed_ranks(
        self,
        model: str | None = None,
        *,
        to: str | None = None,
        measure: str = "pa",
        rope: float = 0.01,
    ) -> SignedRanks:
        """Return how likely a model is better than another on a further data set, level, or worse.

        Bayesian signed ranks over the data sets; differences within ``rope`` count as level (the
        region of practical equivalence). If not given, the second model and the first one.
        """
        to, values = choose(to, self.models, "model"), self._values(measure)
        model = choose(model, [one for one in self.models if one != to], "model")
        sign = 1.0 if find(measure).better == "up" else -1.0
        return compare_two(sign * (values[model] - values[to]).to_numpy(), rope)

    def _values(self, measure: str) -> pd.DataFrame:
        """Return a measure, mean of the orders, of models (columns) on data sets."""
        values = self.table(find(measure).name)[measure].unstack()
        return values.loc[self.data, self.models]

    # -- pictures ---------------------------------------------------------------------------

    def plot(
        self,
        measure: str = "pa",
        *,
        data: str | None = None,
        window: int | None = None,
        ax: Axes | None = None,
    ) -> Any:
        """Draw a measure, or "rules", along the stream; return the Axes, of several sets an array.

        Lines are means over the orders, bands reach from the lowest to the highest: of the last
        ``window`` rows, or of all rows so far. ``ax`` is for one data set.
        """
        choose(measure, ["rules", *MEASURES], "measure")
        if data is None and ax is None and len(self.data) > 1:
            figure = own_axes().figure  # which a notebook shows
            figure.clear()
            return self._draw_all(measure, figure, 2, window)
        return self._draw(measure, choose(data, self.data, "data set"), window, ax or own_axes())

    def _draw_all(self, measure: str, figure: Any, across: int, window: int | None = None) -> Any:
        """Draw all data sets, so many beside each other."""
        axes = page.panels(self.data, figure, across, len(self.models))
        for data, ax in zip(self.data, axes, strict=True):
            self._draw(measure, data, window, ax)
        return axes

    def _draw(self, measure: str, data: str, window: int | None, ax: Axes) -> Axes:
        """Draw all models along one data set."""
        ds, curves = self.sets[data].dataset, {}
        for model in self.models:
            results = self._results(model, data)
            if measure == "rules":
                values, first = np.array([one.rules for one in results], dtype=float), 0
            else:
                values = np.array([one.trend(measure, window=window) for one in results])
                first = min(window or 1 + int(FIRST * values.shape[1]), values.shape[1]) - 1
            curves[model] = np.arange(len(ds) - values.shape[1], len(ds))[first:], values[:, first:]
        in_order = self.sets[data].redrawn or len(self.orders) == 1
        span = "so far" if window is None else f"last {window} rows"
        ylabel = "rules" if measure == "rules" else f"{find(measure).title}, {span}"
        marks = plots.name_drifts(ds.marks) if in_order else None
        ax = plots.draw_trends(curves, ax=ax, ylabel=ylabel, marks=marks)
        if measure == "rules":
            ax.set_ylim(bottom=0.0)
        return ax

    def plot_differences(self, measure: str = "pa", *, ax: Axes | None = None) -> Axes:
        """Draw all differences to the first model with their intervals; return the Axes."""
        return page.draw_intervals(self.differences(measures=measure), measure, ax)

    # -- words ------------------------------------------------------------------------------

    def notes(self, measures: Names | None = None) -> list[str]:
        """Return sentences on what the differences mean, and on what a reader should know."""
        measures, several = self._listed(measures), len(self.orders) > 1
        found, sentences = self._found(measures), []
        if found is not None:
            over = "rows and orders" if several else "rows, of one order only"
            sentences = page.about_differences(found, measures, over) + self._reasons(found)
        for data, model in product(self.data, self.models):
            told = [self.cache.facts(self.runs[data, model, o])["warnings"] for o in self.orders]
            warned = [one[0] for one in told if one]
            if warned:
                many = f"{len(warned)} of {len(told)} runs"
                sentences.append(f"{many} of {model} on {data} warned: {warned[0]}")
        drifting = [k for k, one in self.sets.items() if one.dataset.marks and not one.redrawn]
        if several and drifting:
            sentences.append(
                f"{', '.join(drifting)} drifts, and a shuffle destroys the drift: use orders=1, or"
                " give a built-in stream by its name."
            )
        return sentences

    def _reasons(self, found: pd.DataFrame) -> list[str]:
        """Say where there is no interval, and why."""
        told: dict[str, Counter[str]] = {}
        names = found.columns.unique(0).drop("scores")
        for (data, model), name in product(found.index, names):
            given = data, model, found.attrs["to"], name, found.attrs["comparisons"]
            told.setdefault(self._once(self._interval, *given).reason, Counter())[data] += 1
        told.pop("", None)
        places = {why: (f"{n} on {data}" for data, n in sets.items()) for why, sets in told.items()}
        return [f"Without an interval: {', '.join(sets)}; {why}." for why, sets in places.items()]

    def write(self, folder: PathLike, measures: Names | None = None) -> list[str]:
        """Write tables, figures and a page into a folder; return the names of the files."""
        measures = self._listed(measures)
        found = self._found(measures)
        summary = {
            "title": self.title,
            "runs": len(self.runs),
            "orders": list(self.orders),
            "seed": self.seed,
            "models": {name: variant.settings() for name, variant in self.variants.items()},
            "data": {name: one.table().key[:12] for name, one in self.sets.items()},
            "notes": self.notes(measures),
        }
        tables = self.table(measures), found, self.readable(measures)
        return page.write_study(folder, summary, *tables, self._pictures(measures, found))

    def _pictures(self, measures: Names, found: pd.DataFrame | None) -> dict[str, tuple[Any, str]]:
        """Return all figures by name, with captions; none that a notebook would show."""
        drawn = dict[str, tuple[Any, str]]()
        for name in (*measures, "rules"):  # one panel below the other, as a page may be on a phone
            figure = plots.new_figure()
            self._draw_all(name, figure, 1)
            drawn[name] = figure, f"Along the stream: {page.title(name)}"
        if found is not None:
            for name in measures:
                ax = plots.new_axes(page.WIDTH, 1.1 + 0.3 * (len(found) + len(self.data)))
                page.draw_intervals(found, name, ax)
                what = f"{page.title(name)} minus {self.models[0]}, in {find(name).unit}"
                drawn[f"differences_{name}"] = ax.figure, what
        return drawn

    @property
    def title(self) -> str:
        """What the study is and how far it has come, in one line."""
        sizes = {"model": self.models, "data set": self.data, "order": self.orders}
        counts = ", ".join(count(len(things), noun) for noun, things in sizes.items())
        return f"Study of {counts}: {self.done} of {len(self.runs)} runs done"

    def readable(self, measures: Names | None = None) -> pd.DataFrame:
        """Return the table as words, with the differences to the first model beside it."""
        measures = self._listed(measures)
        frame, found = self.table(measures), self._found(measures)
        formats = dict.fromkeys(measures, "{:.4f}") | {"rules": "{:.1f}", "ms_per_sample": "{:.2g}"}
        shown = pd.DataFrame({page.title(n): frame[n].map(formats[n].format) for n in formats})
        if found is not None:
            for name in measures:
                cells = page.in_words(found, name)
                shown[f"{page.title(name)} minus {self.models[0]}"] = cells
        return shown.fillna("-")

    def to_latex(self, measures: Names | None = None) -> str:
        """Return a table for a paper: means, spread over the orders, differences, intervals.

        It needs no package of LaTeX; names are escaped.
        """
        measures = self._listed(measures)
        return page.to_latex(self.table(measures), self._found(measures), measures)

    def to_text(self, measures: Names | None = None) -> str:
        """Return table and notes as text."""
        if self.done < len(self.runs):
            return f"{self.title}; study.run() does them."
        table = self.readable(measures).to_string()
        return "\n".join([self.title, table, *self.notes(measures)])

    __repr__ = to_text

    def _repr_html_(self) -> str:
        if self.done < len(self.runs):
            return f"<p>{escape(self.to_text())}</p>"
        table = self.readable().to_html(border=0, index_names=False)
        return f"<p>{escape(self.title)}</p>{table}<p>{'<br>'.join(map(escape, self.notes()))}</p>"
