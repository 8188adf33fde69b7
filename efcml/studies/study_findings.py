"""What the kept runs of a study say: by run, on average, in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.measures.measures import find
from efcml.studies.cell_run import join_result
from efcml.studies.paired import (
    Change,
    decisions_of,
    difference,
    in_file_order,
    tallies_of,
    values_of,
)

if TYPE_CHECKING:
    from efcml.evaluation import PrequentialResult
    from efcml.studies.intervals import Interval
    from efcml.studies.record_folder import RecordFolder
    from efcml.studies.study_plan import StudyPlan
    from efcml.support.aliases import Facts, Floats


class StudyFindings:
    """Numbers of a study. What was computed once is kept until something new is run."""

    def __init__(self, plan: StudyPlan, folder: RecordFolder) -> None:
        self.plan, self.folder = plan, folder
        self._known: dict[tuple[Any, ...], Any] = {}

    def forget(self) -> None:
        """Compute everything anew."""
        self._known.clear()

    def orders(self, data: str, *models: str) -> tuple[int, ...]:
        """Return the orders in which all these models have been run."""
        there = self.plan.is_current
        return tuple(
            order
            for order in self.plan.orders
            if all(there(self.folder, (data, model, order)) for model in models)
        )

    def facts(self, data: str, model: str, order: int) -> Facts:
        """Return the record of a run without its arrays, or say that there is none."""
        cell = data, model, order
        facts = self.folder.facts(self.plan.key(*cell))
        if facts is None or not self.plan.is_current(self.folder, cell):
            raise ValueError(f"{self.plan.key(*cell)} is not run yet: call study.run().")
        return facts

    def result(self, data: str, model: str, order: int) -> PrequentialResult:
        """Return what `prequential` gave in one run."""
        facts = self.facts(data, model, order)
        rows = self.plan.stream_rows(data, model, order)
        Y = self.plan.data[data].labels(order, self.plan.seed, rows)
        return join_result(facts, self.folder.arrays(facts["key"]), Y)

    def tallies(self, data: str, model: str, measure: str, orders: tuple[int, ...]) -> Floats:
        """Return the tallies of a measure, (orders, samples, 2, L), in the order of the file."""
        key = "tallies", data, model, measure, orders
        if key not in self._known:
            found = [
                in_file_order(
                    tallies_of(self.result(data, model, order), measure),
                    self.plan.stream_rows(data, model, order),
                )
                for order in orders
            ]
            self._known[key] = np.stack(found)
        return self._known[key]

    def mean(self, data: str, model: str, measure: str) -> float:
        """Return a measure, mean over the orders; NaN where it has none."""
        orders = self.orders(data, model)
        tallies = self.tallies(data, model, measure, orders)
        return float(values_of(tallies, find(measure).value_of).mean())

    def counts(self, data: str, model: str) -> dict[str, Any]:
        """Return rules at the end, time and share of labels asked, means over the orders."""
        orders = self.orders(data, model)
        key = "counts", data, model, orders
        if key not in self._known:
            results = [self.result(data, model, order) for order in orders]
            self._known[key] = {
                "rules": float(np.mean([found.rules[-1] for found in results])),
                "ms_per_sample": 1e3 * float(np.mean([r.seconds_per_sample for r in results])),
                "asked": float(np.mean([found.queried.mean() for found in results])),
                "orders": len(orders),
            }
        return self._known[key]

    def rows(self, measures: Sequence[str]) -> list[dict[str, Any]]:
        """Return one dict per data set and model that has been run, means over its orders."""
        found = [
            {"data": data, "model": model}
            | {measure: self.mean(data, model, measure) for measure in measures}
            | self.counts(data, model)
            for data in self.plan.data
            for model in self.plan.variants
            if self.orders(data, model)
        ]
        if not found:
            raise ValueError("nothing has been run yet: call study.run() first.")
        return found

    # -- pairs ------------------------------------------------------------------------------

    def interval(
        self, data: str, model: str, to: str, measure: str, comparisons: int = 1
    ) -> Interval:
        """Return a model minus another one, paired, with its interval."""
        orders = self._common_orders(data, model, to)
        key = "interval", data, model, to, measure, comparisons, orders
        if key not in self._known:
            tables = [self.tallies(data, name, measure, orders) for name in (to, model)]
            first, second = self._common_samples(data, (to, model), tables)
            self._known[key] = difference(
                first,
                second,
                value_of=find(measure).value_of,
                block=self.plan.data[data].block,
                comparisons=comparisons,
            )
        return self._known[key]

    def change(self, data: str, model: str, to: str) -> Change:
        """Return how far the answers of two models are apart, over all orders."""
        orders = self._common_orders(data, model, to)
        key = "change", data, model, to, orders
        if key not in self._known:
            changes = []
            for order in orders:
                tables = [self._answers(data, name, order) for name in (to, model)]
                first, second = self._common_samples(data, (to, model), tables)
                gap = np.abs(first - second)[0]  # samples, scores and decisions, labels
                largest = float(gap[:, 0].max(initial=0.0))
                changes.append((largest, int((gap[:, 1] > 0).sum()), gap[:, 1].size))
            scores, changed, asked = zip(*changes, strict=True)
            self._known[key] = Change(max(scores), sum(changed), sum(asked))
        return self._known[key]

    def _answers(self, data: str, model: str, order: int) -> Floats:
        """Return scores and decisions of a run, (1, samples, 2, K), in the order of the file."""
        found = self.result(data, model, order)
        both = np.stack([found.scores, decisions_of(found)], axis=1)
        return in_file_order(both, self.plan.stream_rows(data, model, order))[None]

    def _common_orders(self, data: str, model: str, to: str) -> tuple[int, ...]:
        orders = self.orders(data, model, to)
        if not orders:
            raise ValueError(f"{model!r} and {to!r} are not run yet on {data}: call study.run().")
        return orders

    def _common_samples(self, data: str, models: Sequence[str], tables: list[Floats]) -> Any:
        """Cut tables to the samples that both models had in their streams."""
        starts = [self.plan.n_initial(data, model) for model in models]
        if starts[0] == starts[1]:
            return tables
        first = max(starts)
        return [table[:, first - start :] for table, start in zip(tables, starts, strict=True)]
