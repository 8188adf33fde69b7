"""What a study runs: every model on every data set in every order, and which of it is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from efcml.studies import provenance
from efcml.studies.cell_run import Batch, Pass
from efcml.studies.noting import describe_note
from efcml.studies.record_folder import RecordFolder
from efcml.studies.study_data import StudyData, shuffle_seed

if TYPE_CHECKING:
    from efcml.studies.noting import Note
    from efcml.studies.variants import Variant
    from efcml.support.aliases import Facts, Ints, PathLike


@dataclass(eq=False)
class StudyPlan:
    """Lines, rows and orders of a study, and the folder that keeps its runs."""

    variants: dict[str, Variant]
    data: dict[str, StudyData]
    orders: tuple[int, ...]
    seed: int
    only: Callable[[str, str, int], bool] | None = None
    note: Note | None = None
    _origins: dict[tuple[str, str], Facts] = field(default_factory=dict)

    def open_folder(self, path: PathLike | None) -> RecordFolder:
        """Return the folder of the study; one of another study is refused."""
        header = {
            "seed": self.seed,
            "data": {name: one.fingerprint for name, one in self.data.items()},
            "models": {name: variant.describe() for name, variant in self.variants.items()},
        }
        return RecordFolder(path, header)

    def cells(self) -> list[tuple[str, str, int]]:
        """Return all runs: data set, model, order."""
        cells = product(self.data, self.variants, self.orders)
        return [cell for cell in cells if self.only is None or self.only(*cell)]

    def meet(self, data: str, *models: str) -> bool:
        """Tell whether models are run on a data set in an order that they share."""
        only = self.only
        return only is None or any(all(only(data, m, o) for m in models) for o in self.orders)

    def key(self, data: str, model: str, order: int) -> str:
        """Return what tells the runs of a study apart."""
        return f"{model} on {data}, order {order}"

    def n_initial(self, data: str, model: str) -> int:
        """Return how many rows are fitted."""
        return self.data[data].n_initial(self.variants[model].start)

    def stream_rows(self, data: str, model: str, order: int) -> Ints:
        """Return the rows of a stream in the order in which they arrive."""
        return self.data[data].order(order, self.seed, self.n_initial(data, model))

    def source(self, data: str, order: int) -> tuple[str, int]:
        """Return what tells apart the rows that runs are made of."""
        return data, shuffle_seed(order, self.seed) if self.data[data].redrawn else 0

    def origin(self, data: str, model: str) -> Facts:
        """Return what a record must agree in, to be taken for one of this study."""
        if (data, model) not in self._origins:
            origin = {
                "method": provenance.method(),
                "package": provenance.package_version(self.variants[model].model),
                "fingerprint": self.data[data].fingerprint,
            }
            if self.note is not None:  # without one, what others have noted does no harm
                origin["noted_by"] = describe_note(self.note)
            self._origins[data, model] = origin
        return self._origins[data, model]

    def is_current(self, folder: RecordFolder, cell: tuple[str, str, int]) -> bool:
        """Tell whether a run is kept and was made by the method of today from these data."""
        facts = folder.facts(self.key(*cell))
        if facts is None:
            return False
        return all(facts.get(name) == value for name, value in self.origin(*cell[:2]).items())

    def missing(self, folder: RecordFolder) -> tuple[list[Batch], dict[tuple[str, int], Any]]:
        """Return the runs that are not kept, in batches of one fitted model, and their rows."""
        batches: dict[Any, Batch] = {}
        rows: dict[tuple[str, int], Any] = {}
        for data, model, order in self.cells():
            if self.is_current(folder, (data, model, order)):
                continue
            variant, source = self.variants[model], self.source(data, order)
            rows[source] = self.data[data].rows(order, self.seed)
            n_initial = self.n_initial(data, model)
            group = *source, n_initial, str(variant.describe()["model"])
            batch = batches.setdefault(
                group, Batch(variant.model, n_initial, (), source, note=self.note)
            )
            own = self._pass(data, model, order)
            batches[group] = replace(batch, passes=(*batch.passes, own))
        return list(batches.values()), rows

    def _pass(self, data: str, model: str, order: int) -> Pass:
        return Pass(
            self._identity(data, model, order),
            replace(self.variants[model], model=None),
            self.stream_rows(data, model, order),
            shuffle_seed(order, self.seed),
        )

    def _identity(self, data: str, model: str, order: int) -> Facts:
        """Return what the record of a run says before it is done."""
        variant, origin = self.variants[model], self.origin(data, model)
        return {
            "key": self.key(data, model, order),
            "data": data,
            "model": model,
            "order": order,
            "seed": self.seed,
            "parameters": variant.describe(),
            "versions": provenance.versions() | origin["package"],
            "machine": provenance.machine(),
        } | origin
