"""What the records say of a line: by sample, along the stream, on average."""

from functools import cached_property

import numpy as np

from efcml.measures import running_mean
from efcml.studies.intervals import interval_of, resampled_means, shares_ahead, summarise
from efcml.studies.study_data import BLOCK
from efcml_paper.plan import IDS, Plan
from efcml_paper.run_records import unpack, unpack_shares
from efcml_paper.runs import is_built_in, order_of
from efcml_paper.scale import LARGE
from efcml_paper.work import curve_points


class Findings:
    """Records, found by experiment, data set and name of a line.

    Parameters
    ----------
    plan : Plan
    claims : int
        Number of claims that intervals are corrected for.
    """

    def __init__(self, plan: Plan, claims=1):
        self.plan, self.records, self.claims = plan, plan.records, claims
        self._lines, self._samples = {}, {}

    @cached_property
    def rules_alone(self):
        """The same of rules alone, without remembered cases."""
        return Findings(self.plan.rules_alone(), self.claims)

    @cached_property
    def methods(self):
        """Versions and methods that made the records, each once."""
        made = {(r["versions"]["efcml"], r["method"]) for r in self.records.by_key.values()}
        return sorted(made)

    def lines(self, experiment):
        """Return ``{data set: {name: Line}}``, only lines whose runs are all recorded."""
        if experiment not in self._lines:
            self._lines[experiment] = {
                name: {key: line for key, line in lines.items() if self._is_complete(line)}
                for name, lines in self.plan.lines(experiment).items()
            }
        return self._lines[experiment]

    def line(self, experiment, dataset, name):
        """Return one line, or None if it is not recorded."""
        return self.lines(experiment).get(dataset, {}).get(name)

    def _is_complete(self, line):
        return all(self.records.of(run) is not None for run in line.runs)

    def numbers(self, line, field):
        """Return a field of the records, by order."""
        return np.array([self.records.of(run)[field] for run in line.runs], dtype=float)

    def mean(self, line, field):
        """Return a field of the records, mean over the orders."""
        return float(self.numbers(line, field).mean())

    def by_order(self, line, measure):
        """Return an array (orders, samples) of "pa" or "ap", samples in the order of the file.

        Built-in streams have other samples with every seed; these stand beside each other.
        """
        if (line, measure) not in self._samples:
            rows = [self._by_sample(run, measure) for run in line.runs]
            if is_built_in(line.run.dataset):
                rows = [np.concatenate(rows)]
            self._samples[line, measure] = np.array(rows)
        return self._samples[line, measure]

    def _by_sample(self, run, measure):
        record = self.records.of(run)
        if measure == "pa":
            return unpack(record["right"], "u1") / record["labels"]
        return unpack_shares(record["ap_rows"])

    def trend(self, line, measure, order=0):
        """Return a measure up to each row of the stream, in one order; NaN until there is one."""
        run = line.run.in_order(order)
        values = self._by_sample(run, measure)
        return running_mean(values[order_of(run, len(values))])

    def mean_trend(self, line, measure):
        """Return a measure up to each row, mean over the orders."""
        return np.mean([self.trend(line, measure, order) for order in line.orders], axis=0)

    def rules(self, line, order=0):
        """Return the number of rules after each row of the stream."""
        record = self.records.of(line.run.in_order(order))
        n_rows = len(unpack(record["right"], "u1"))
        kept = curve_points(n_rows)
        last = np.searchsorted(kept, np.arange(n_rows), side="right") - 1
        return unpack(record["curve"], "u2")[last]

    # -- differences ------------------------------------------------------------------------

    def combine(self, lines, weights, measure):
        """Return the interval of a weighted sum of lines, such as a difference, over samples."""
        parts = [self.by_order(line, measure) for line in lines]
        values = sum(w * part.mean(axis=0) for w, part in zip(weights, parts, strict=True))
        spread = np.nan
        if len({len(part) for part in parts}) == 1 and len(parts[0]) > 1:
            pairs = zip(weights, parts, strict=True)
            spread = sum(w * np.nanmean(part, axis=1) for w, part in pairs).std(ddof=1)
        return interval_of(values, block=block_of(lines[0]), claims=self.claims, spread=spread)

    def difference(self, a, b, measure):
        """Return the interval of line a minus line b, paired by sample."""
        return self.combine((a, b), (1.0, -1.0), measure)

    def share_ahead(self, first, others, measure):
        """Return the interval of the share of rows at which a trend is above all others.

        Trends are in file order; the first tenth of the stream is left out. Samples are drawn by
        how often each one counts, and stay in their order.
        """
        own = self._by_sample(first.run, measure)
        leads = [np.nan_to_num(own - self._by_sample(other.run, measure)) for other in others]
        return shares_ahead(np.array(leads), self.claims)

    def fall(self, line, measure):
        """Return the interval of the second half of the stream minus the first, in file order."""
        values = self._by_sample(line.run, measure)
        halves = np.array_split(values, 2)
        first, second = (
            resampled_means(half, block_of(line), seed) for seed, half in enumerate(halves)
        )
        mean = np.nanmean(halves[1]) - np.nanmean(halves[0])
        return summarise(mean, second - first, self.claims)


def block_of(line):
    """Return the length of blocks that are drawn together."""
    dataset = line.run.dataset
    return BLOCK if dataset == LARGE or is_built_in(dataset) else 1


def recorded_ids(findings):
    """Return the experiments that have at least one whole line."""
    return [name for name in IDS if any(findings.lines(name).values())]
