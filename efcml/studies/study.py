"""Study: several models on several data sets in several orders, in one object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from efcml.studies import USUAL, study_words
from efcml.studies.study_data import MOST_ORDERS, read_data
from efcml.studies.study_findings import StudyFindings
from efcml.studies.study_plan import StudyPlan
from efcml.studies.variants import read_variants, vary
from efcml.support.checks import check_backend, check_whole
from efcml.support.extras import extra_for
from efcml.support.watch import busy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from pandas import DataFrame

    from efcml.evaluation import PrequentialResult
    from efcml.studies.noting import Note
    from efcml.support.aliases import Facts, PathLike

    Names: TypeAlias = str | Sequence[str]  # one or several


class Study:
    """Models on data sets in several orders: run, table, paired differences, pictures.

    Every model is fitted to the initial part of every data set, once, and a copy of it then goes
    through the stream in every order, test-then-train. The first model is the one that others are
    compared with.

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
        Keeps every run; the same study with the same folder goes on where it was. A study may grow:
        further models, data and orders are added. If not given, runs are kept as long as the study.
    active, delay, start, learn : value or list of values, optional
        Options of `Variant` for all models. Of a list every value makes a line of its own.
    only : callable, optional
        Gets the names of a data set and a model and an order, and tells whether that is run: for
        models that take long, or that belong to some of the data. All are run if not given.
    note : callable, optional
        Gets the model after the last row of a run and the result, and returns a dict of numbers and
        words that is kept with the run, for `noted`. Runs that are kept with another note, or with
        none, are made again.

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
        variants = read_variants(models, axes)
        check_whole("seed", seed, least=0)
        if note is not None and not callable(note):
            raise TypeError(f"note must be a function of model and result; got {note!r:.60}.")
        found = read_data(data)
        self.plan = StudyPlan(variants, found, read_orders(orders), int(seed), only, note)
        for name in self.plan.data:
            for model in variants:
                self.plan.n_initial(name, model)  # refused now, if nothing would be left to run
        self.folder = self.plan.open_folder(folder)
        self.findings = StudyFindings(self.plan, self.folder)

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

    def run(self, jobs: int = 1, dask: Any = None, *, progress: bool | None = None) -> Self:
        """Do the runs that are missing; return the study.

        The result does not depend on where runs are done. After Ctrl-C, or if a worker dies, what
        was done is kept, and another call goes on from there.

        Parameters
        ----------
        jobs : int
            Processes on this machine; -1 for one on every core.
        dask : str or distributed.Client, optional
            A Dask cluster that does the runs instead; its workers need efcml, not the data.
        progress : bool, optional
            Whether to show a bar; None shows it on a terminal and in a notebook.
        """
        from efcml.studies.study_work import run_batches, split

        check_backend(jobs, dask)
        with busy("looking at what is there", progress):
            batches, rows = self.plan.missing(self.folder)
        if batches:
            if jobs != 1:
                from joblib import effective_n_jobs

                batches = split(batches, effective_n_jobs(jobs))
            self.findings.forget()
            run_batches(batches, rows, self.folder, jobs=jobs, dask=dask, progress=progress)
        return self

    @property
    def total(self) -> int:
        """How many runs there are."""
        return len(self.plan.cells())

    @property
    def done(self) -> int:
        """How many of them are kept."""
        return sum(self.plan.is_current(self.folder, cell) for cell in self.plan.cells())

    @property
    def models(self) -> list[str]:
        """Names of the models; others are compared with the first."""
        return list(self.plan.variants)

    @property
    def data(self) -> list[str]:
        """Names of the data sets."""
        return list(self.plan.data)

    def result(
        self, model: str | None = None, data: str | None = None, order: int | None = None
    ) -> PrequentialResult:
        """Return what `prequential` gave in one run; by default the first of everything."""
        return self.findings.result(*self._cell(model, data, order))

    def noted(
        self, model: str | None = None, data: str | None = None, order: int | None = None
    ) -> Facts:
        """Return what ``note`` gave in one run; by default the first of everything."""
        if self.plan.note is None:
            raise ValueError("nothing is noted: give Study a function as note=...")
        return self.findings.facts(*self._cell(model, data, order))["noted"]

    def _cell(self, model: str | None, data: str | None, order: int | None) -> tuple[str, str, int]:
        """Return data set, model and order of a run, the first of what is not given."""
        order = self.plan.orders[0] if order is None else order
        if order not in self.plan.orders:
            known = ", ".join(map(str, self.plan.orders))
            raise ValueError(f"there is no order {order!r}: choose from {known}.")
        return self.name_data(data), self.name_model(model), order

    def name_data(self, name: str | None) -> str:
        """Return the name of a data set of this study, the first if none is given."""
        return choose(name, self.data, "data set")

    def name_model(self, name: str | None) -> str:
        """Return the name of a model of this study, the first if none is given."""
        return choose(name, self.models, "model")

    # -- numbers ----------------------------------------------------------------------------

    def comparisons(self, measures: Names = USUAL) -> int:
        """Return how many differences a person sees who looks at all of them."""
        first, *others = self.models
        pairs = sum(self.plan.meet(data, one, first) for data in self.data for one in others)
        return max(pairs * len(listed(measures)), 1)

    def table(self, measures: Names = USUAL) -> DataFrame:
        """Return a pandas DataFrame: one line per data set and model, means over the orders.

        Columns are the measures, the number of rules at the end, milliseconds per sample, the share
        of labels that was asked, and the number of orders.
        """
        with extra_for("table"):
            import pandas

        return pandas.DataFrame(self.findings.rows(listed(measures))).set_index(["data", "model"])

    def differences(
        self,
        model: str | None = None,
        *,
        to: str | None = None,
        measures: Names = USUAL,
        comparisons: int | None = None,
    ) -> DataFrame:
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
        with extra_for("differences"):
            import pandas

        to, measures = self.name_model(to), listed(measures)
        names = [name for name in self.models if name != to]
        names = names if model is None else [self.name_model(model)]
        count = self.comparisons(measures) if comparisons is None else comparisons
        check_whole("comparisons", count, least=1)
        if not names:
            raise ValueError("a single model has no differences: give at least two.")
        lines = {
            (data, name) if model is None else data: self._line(data, name, to, measures, count)
            for data in self.data
            for name in names
            if self.plan.meet(data, name, to)
        }
        frame = pandas.DataFrame.from_dict(lines, orient="index")
        frame.columns = pandas.MultiIndex.from_tuples(frame.columns)
        frame.index.names = ["data", "model"] if model is None else ["data"]
        frame.attrs = {"to": to, "comparisons": count, "level": 0.95}
        return frame

    def _line(
        self, data: str, model: str, to: str, measures: Sequence[str], count: int
    ) -> dict[tuple[str, str], float]:
        """Return one line of differences."""
        line: dict[tuple[str, str], float] = {}
        for measure in measures:
            found = self.findings.interval(data, model, to, measure, count)
            line[measure, "difference"] = found.mean
            line[measure, "low"], line[measure, "high"] = found.wide_low, found.wide_high
        change = self.findings.change(data, model, to)
        line["scores", "largest change"] = change.largest
        line["scores", "decisions changed"] = change.decisions / max(change.asked, 1)
        return line

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
        from efcml.studies.study_pictures import plot_study

        names = None if models is None else listed(models)
        return plot_study(self, measure, data=data, models=names, window=window, ax=ax)

    def plot_differences(
        self,
        measure: str = "pa",
        *,
        to: str | None = None,
        comparisons: int | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw all differences to one model with their intervals; return the Axes."""
        from efcml.studies.study_pictures import plot_study_differences

        return plot_study_differences(self, measure, to=to, comparisons=comparisons, ax=ax)

    # -- words ------------------------------------------------------------------------------

    def notes(self, measures: Names = USUAL) -> list[str]:
        """Return sentences on what the differences mean, and on what a reader should know."""
        return study_words.notes(self, listed(measures))

    def write(self, folder: PathLike, measures: Names = USUAL) -> list[str]:
        """Write tables, figures and a page into a folder; return the names of the files."""
        from efcml.studies.study_page import write_study

        return write_study(self, folder, listed(measures))

    def to_text(self, measures: Names = USUAL) -> str:
        """Return table and notes as text."""
        return study_words.as_text(self, listed(measures))

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return study_words.as_html(self)


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
