"""Verdicts of all claims in tables: with cases, which is the default, and of rules alone."""

from collections import Counter
from dataclasses import dataclass

from efcml_paper.paper_tables import Table
from efcml_paper.verdicts import HOLDS, NOT_RUN, OPEN, PARTLY, REFUTED, Verdict, judge, needed

WITH_CASES, ALONE = "with cases (default)", "rules alone"
NO_VERDICTS = "a quick run gives no verdicts: its streams are cut"


@dataclass(frozen=True)
class Judged:
    """A claim with its two verdicts."""

    cases: Verdict
    alone: Verdict

    @property
    def claim(self):
        """The claim."""
        return self.cases.claim


def judge_all(claims, findings):
    """Return the verdicts on claims, with cases and of rules alone."""
    return [Judged(judge(claim, findings), judge(claim, findings.rules_alone)) for claim in claims]


def verdict_tables(judged, title="what the paper says"):
    """Return the claims with what they need and their verdicts, and the numbers behind them."""
    words, numbers = [], []
    for one in judged:
        first = [one.claim.experiment, one.claim.words]
        words.append([*first, needed(one.claim), one.cases.told, one.alone.told])
        numbers.append([*first, by_set(one.cases), by_set(one.alone)])
    header = ["experiment", "claim"]
    return [
        Table(title, [*header, "holds if", WITH_CASES, ALONE], words),
        Table(f"{title}: numbers by set", [*header, WITH_CASES, ALONE], numbers),
    ]


def by_set(verdict):
    """Return the answers of all sets with the numbers behind them."""
    told = (f"{one.where}: {one.answer} ({one.numbers})" for one in verdict.outcomes)
    return "; ".join(told) or NOT_RUN


def count_verdicts(judged):
    """Return how often each verdict was given, in one sentence for each way."""
    told = [f"{len(judged)} claims."]
    for way, verdicts in (
        (WITH_CASES, [one.cases for one in judged]),
        (ALONE, [one.alone for one in judged]),
    ):
        count = Counter(verdict.word for verdict in verdicts)
        parts = [count[word] for word in (HOLDS, PARTLY, REFUTED, OPEN)]
        words = "{} hold, {} hold in part, {} do not hold, {} could not be shown".format(*parts)
        missing = len(verdicts) - sum(parts)
        lacking = f", {missing} lack records" if missing else ""
        told.append(f"{way[0].upper()}{way[1:]}: {words}{lacking}.")
    return " ".join(told)
