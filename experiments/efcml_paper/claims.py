"""What the paper says of its figures and tables, and how every sentence is checked.

A check gets a study, a data set and the number of all checks, for which intervals are corrected
(Bonferroni), and returns an answer with the numbers behind it. It *holds* if the whole interval is
where the claim says, it *does not hold* if all of it is outside; else it *could not be shown*.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from efcml.measures import find
from efcml.studies.intervals import Interval
from efcml_paper.plan import COUNTED, LARGE, SETS, SMALL

HOLDS, REFUTED, OPEN = "holds", "does not hold", "could not be shown"
NEARLY_ALL = 0.9  # of the rows, without the first tenth
WITHIN = 0.5  # of a number: "about" and "near"
TIMED = 0.1  # of a ratio of two times says nothing
SECONDS = {  # per update, as printed: EFC-ML, one-versus-rest, chain
    "birds": (0.289, 0.868, 1.078),
    "emotions": (0.070, 0.107, 0.172),
    "water-quality": (0.033, 0.093, 0.324),
    "yeast": (0.063, 0.147, 0.171),
}


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, and what it takes to hold on each of some data sets."""

    experiment: str
    words: str
    check: Callable
    sets: tuple[str, ...]

    def judge(self, study, checks):
        """Return the verdict, and by data set the answer and the numbers."""
        found = {name: self.check(study, name, checks) for name in self.sets}
        count = Counter(answer for answer, _ in found.values())
        if len(count) == 1:
            return next(iter(count)), found
        return ", ".join(f"{word} on {count[word]}" for word in count), found


def decide(yes, no):
    """Return the answer; a check is open where the interval does not decide."""
    return HOLDS if yes else REFUTED if no else OPEN


# Differences, with intervals


def between(low, high, pairs, measure):
    """Return a check: every first model minus its second one is within bounds."""

    def check(study, name, checks):
        found = []
        for model, other in pairs:
            lines = study.differences(model, to=other, measures=measure, comparisons=checks)
            found.append(Interval(*lines.loc[name, measure]))
        yes = all(low < one.low and one.high < high for one in found)
        no = any(one.high < low or high < one.low for one in found)
        return decide(yes, no), "; ".join(one.in_points() for one in found)

    return check


def above(measure, model, *others):
    return between(0.0, inf, [(model, other) for other in others], measure)


def below(measure, model, *others):
    return between(0.0, inf, [(other, model) for other in others], measure)


def level(measure, model, other, margin):
    return between(-margin, margin, [(model, other)], measure)


def no_loss(measure, model, other, margin):
    return between(-margin, inf, [(model, other)], measure)


def about(measure, model, other, margin):
    return between((1.0 - WITHIN) * margin, (1.0 + WITHIN) * margin, [(model, other)], measure)


# Numbers


def leads(measure, model, *others):
    """Return a check: the model is above the others on nearly all rows, mean of the orders."""

    def check(study, name, checks):
        def trend(one):
            results = [study.result(one, name, order) for order in study.orders]
            return np.mean([trend_of(result, measure) for result in results], axis=0)

        own, rest = trend(model), [trend(other) for other in others]
        ahead = np.all([own > other for other in rest], axis=0)[len(own) // 10 :]
        return decide(ahead.mean() >= NEARLY_ALL, True), f"{ahead.mean():.0%} of the rows"

    return check


def trend_of(result, measure):
    """Return the measure of all rows so far, at each row."""
    return find(measure).value_of(np.cumsum(result.tallies(measure), axis=0)[5:])


def falls(measure, model):
    """Return a check: the second half of the stream is below the first."""

    def check(study, name, checks):
        tallies = study.result(model, name).tallies(measure)
        halves = np.array_split(tallies, 2)
        first, second = (find(measure).value_of(half.sum(axis=0)) for half in halves)
        return decide(second < first, True), f"{first:.4f}, then {second:.4f}"

    return check


def rules_of(study, name, model):
    """Return the number of rules after the last row, by order."""
    results = (study.result(model, name, order) for order in study.orders)
    return np.array([result.rules[-1] for result in results])


def kept_near(model, numbers):
    """Return a check: the rules stay near a number in all orders."""

    def check(study, name, checks):
        found, named = rules_of(study, name, model), numbers[name]
        near = np.abs(found - named) <= WITHIN * named
        return decide(near.all(), not near.any()), f"{found.mean():.3g}, printed {named}"

    return check


def more_rules(number, *models):
    """Return a check: all models have more rules than a number, in all orders."""

    def check(study, name, checks):
        found = [rules_of(study, name, model) for model in models]
        yes, no = (all(f(one > number) for one in found) for f in (np.all, lambda v: not v.any()))
        return decide(yes, no), " and ".join(f"{one.mean():.0f}" for one in found)

    return check


def times_faster(model, other, place):
    """Return a check: the other model takes as many times as long as printed, or longer."""

    def check(study, name, checks):
        own, rest = (study.table("pa").loc[(name, m), "ms_per_sample"] for m in (model, other))
        ratio, named = rest / own, SECONDS[name][place] / SECONDS[name][0]
        yes, no = ratio >= (1.0 + TIMED) * named, ratio < (1.0 - TIMED) * named
        return decide(yes, no), f"{ratio:.1f} times, printed {named:.1f}"

    return check


# What it says

EASY, HARD = ("emotions", "yeast"), ("birds", "water-quality")
OURS, BOTH = "EFC-ML", ("one-versus-rest", "chain")


def trend_claims(measure):
    said, where = measure.upper(), f"{measure}-trends"
    yield where, f"{said}: EFC-ML above one-versus-rest", above(measure, OURS, BOTH[0]), SETS
    yield where, f"{said}: EFC-ML above the chain", above(measure, OURS, BOTH[1]), SETS
    words = f"{said}: EFC-ML above both over nearly the whole stream"
    yield where, words, leads(measure, OURS, *BOTH), SETS
    if measure == "pa":
        for name, points in (("birds", 0.05), ("emotions", 0.1)):
            for other in BOTH:
                words = f"PA: {name} about {100 * points:g} points above {other}"
                yield where, words, about("pa", OURS, other, points), (name,)
        yield where, "PA: static worst", below("pa", "static", OURS, *BOTH), SETS
    else:
        worst = below("ap", "static", OURS, *BOTH)
        yield where, "AP: static worst", worst, ("birds", "emotions")
        words = "AP: chain below static"
        yield where, words, above("ap", "static", "chain"), ("water-quality", "yeast")


def rule_claims():
    near = kept_near(OURS, {"emotions": 17, "water-quality": 10})
    yield "rule-counts", "merging keeps the rules near 17 and 10", near, COUNTED
    words = "one-versus-rest and chain need over 100 rules in total"
    yield "rule-counts", words, more_rules(100, *BOTH), COUNTED


def large_claims():
    for measure, margin in (("pa", 0.001), ("ap", 0.01)):
        checks = {
            "static falls along the stream": falls(measure, "static"),
            "EFC-ML above static": above(measure, OURS, "static"),
            "EFC-ML about level with one-versus-rest": level(measure, OURS, BOTH[0], margin),
            "EFC-ML above the chain": above(measure, OURS, "chain"),
            "one-versus-rest above the chain": above(measure, *BOTH),
            "EFC-ML above least squares only": above(measure, OURS, "least squares only"),
        }
        words = "least squares only about level with the chain"
        checks[words] = level(measure, "least squares only", "chain", margin)
        for words, check in checks.items():
            yield "mediamill", f"{measure.upper()}: {words}", check, (LARGE,)


def budget_claims(start):
    """Yield claims on budgets; the paper is silent on a small start, where they are told again."""

    def loss(budget, than="full update"):
        return no_loss("pa", f"active {budget}", than, 0.01)

    def on(*names):
        return tuple(name + start for name in names)

    labels, samples, full = "al-labels", "al-samples", "full update"
    yield labels, f"10 % of the labels: no visible loss{start}", loss("10%"), on(*EASY)
    yield labels, f"20 % of the labels: no visible loss{start}", loss("20%"), on(*HARD)
    check = above("pa", "active 20%", "active 10%")
    yield labels, f"10 % of the labels clearly below 20 %{start}", check, on(*HARD)
    check = above("pa", "active 10%", "random 10%")
    yield labels, f"10 % active above 10 % random{start}", check, on(*SETS)
    check = level("pa", "random 10%", "static", 0.01)
    yield labels, f"10 % random near static{start}", check, on(*SETS)
    yield samples, f"10 % of the samples: no visible loss{start}", loss("10%"), on(*EASY)
    check = about("pa", full, "active 30%", 0.03)
    yield samples, f"water quality loses about 3 points at 30 %{start}", check, on("water-quality")
    check = loss("10%", "active 30%")
    yield samples, f"water quality loses no more at 10 %{start}", check, on("water-quality")
    check = above("pa", "active 30%", "static")
    yield samples, f"birds: 30 % of the samples above static{start}", check, on("birds")
    check = level("pa", "active 20%", "static", 0.002)
    yield samples, f"birds: 20 % of the samples no better than static{start}", check, on("birds")
    for unit in ("labels", "samples"):
        check = above("pa", f"with instability, {unit}", f"without instability, {unit}")
        words = f"instability helps at 10 % of the {unit}{start}"
        yield "al-instability", words, check, on("birds", "emotions", "water-quality")


def large_budget_claims():
    where, sets = "al-mediamill", (LARGE,)
    loss = no_loss("pa", "active 10%", "full update", 0.001)
    yield where, "PA: 10 % of the samples: no loss", loss, sets
    check = above("ap", "full update", "active 30%")
    yield where, "AP: 30 % of the samples slightly below full update", check, sets
    for measure, margin in (("pa", 0.001), ("ap", 0.01)):
        check = level(measure, "random 10%", "static", margin)
        yield where, f"{measure.upper()}: 10 % random near static", check, sets


def speed_claims():
    for place, other in enumerate(BOTH, 1):
        words = f"as many times faster than {other} as printed, or more"
        yield "speed", words, times_faster(OURS, other, place), SETS


CLAIMS = [
    Claim(*parts)
    for parts in (
        *trend_claims("pa"),
        *trend_claims("ap"),
        *rule_claims(),
        *large_claims(),
        *budget_claims(""),
        *budget_claims(SMALL),
        *large_budget_claims(),
        *speed_claims(),
    )
]
CHECKS = sum(len(claim.sets) for claim in CLAIMS)
