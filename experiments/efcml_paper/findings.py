"""What the records say of a line: by sample, along the stream, on average."""

from functools import cached_property, lru_cache

import numpy as np

from efcml.studies.variants import BLOCK
from efcml_paper.means import interval_of, resampled_means, shares_ahead, summarise
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
        # Of this object alone: records of another one may differ.
        self.lines, self.by_order = lru_cache(None)(self.lines), lru_cache(None)(self.by_order)

    @cached_property
    def rules_alone(self):
        """The same of rules alone, without remembered cases."""
        return Findings(self.plan.rules_alone(), self.claims)

    @property
    def methods(self):
        """Versions and methods that made the records, each once."""
        made = {(r["versions"]["efcml"], r["method"]) for r in self.records.by_key.values()}
        return sorted(made)

    @property
    def recorded_ids(self):
        """The experiments that have at least one whole line."""
        return [name for name in IDS if any(self.lines(name).values())]

    def lines(self, experiment):
        """Return ``{data set: {name: Line}}``, only lines whose runs are all recorded."""
        return {
            name: {key: line for key, line in lines.items() if all(map(self.records.of, line.runs))}
            for name, lines in self.plan.lines(experiment).items()
        }

    def pick(self, experiment, dataset, *names):
        """Return lines by their names, or None if one of them is not recorded."""
        known = self.lines(experiment).get(dataset, {})
        return [known[name] for name in names] if known.keys() >= set(names) else None

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
        rows = [self._by_sample(run, measure) for run in line.runs]
        return np.array([np.concatenate(rows)] if is_built_in(line.run.dataset) else rows)

    def _by_sample(self, run, measure):
        record = self.records.of(run)
        if measure == "pa":
            return unpack(record["right"], "u1") / record["labels"]
        return unpack_shares(record["ap_rows"])

    def trend(self, line, measure, order=0):
        """Return a measure up to each row of the stream, in one order; NaN until there is one."""
        run = line.run.in_order(order)
        values = self._by_sample(run, measure)
        values = values[order_of(run, len(values))]
        with np.errstate(invalid="ignore"):  # 0 / 0, until there is one
            return np.nancumsum(values) / np.cumsum(~np.isnan(values))

    def mean_trend(self, line, measure):
        """Return a measure up to each row, mean over the orders."""
        return np.mean([self.trend(line, measure, order) for order in line.orders], axis=0)

    def rules(self, line):
        """Return the number of rules after each row of the stream, in file order."""
        record = self.records.of(line.run)
        n_rows = len(unpack(record["right"], "u1"))
        last = np.searchsorted(curve_points(n_rows), np.arange(n_rows), side="right") - 1
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
        halves = np.array_split(self._by_sample(line.run, measure), 2)
        block = block_of(line)
        first, second = (resampled_means(half, block, seed) for seed, half in enumerate(halves))
        mean = np.nanmean(halves[1]) - np.nanmean(halves[0])
        return summarise(mean, second - first, self.claims)


def block_of(line):
    """Return the length of blocks that are drawn together."""
    dataset = line.run.dataset
    return BLOCK if dataset == LARGE or is_built_in(dataset) else 1
