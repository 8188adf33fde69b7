"""From claims to verdicts: holds, holds in part, does not hold."""

from dataclasses import dataclass

import numpy as np

from efcml.params import Params
from efcml.reproduce.claims import Claim
from efcml.reproduce.scale import SETS

YES, NO, OPEN = "yes", "no", "not shown"
HOLDS, PARTLY = "holds", "holds in part"
REFUTED, UNDECIDED = "does not hold", "does not hold (not shown)"
NEARLY = 0.9  # of the stream: "nearly the whole"
BEGINNING = 0.1  # of the stream is not looked at: means of few rows


@dataclass(frozen=True)
class Outcome:
    """What one check gave."""

    where: str
    answer: str  # YES, NO or OPEN
    numbers: str


@dataclass(frozen=True)
class Verdict:
    """A claim with the outcomes of its checks."""

    claim: Claim
    outcomes: tuple[Outcome, ...]

    @property
    def word(self):
        """Return the verdict in words; "not run" where records are missing."""
        if len(self.outcomes) < len(self.claim.sets):
            return "not run on all sets" if self.outcomes else "not run"
        answers = {outcome.answer for outcome in self.outcomes}
        if YES in answers:
            return HOLDS if answers == {YES} else PARTLY
        return REFUTED if NO in answers else UNDECIDED


def judge(claim, findings):
    """Return the verdict on a claim."""
    outcomes = []
    for place, dataset in enumerate(claim.sets):
        lines = lines_of(claim, findings, dataset)
        if None not in lines:
            answer, numbers = TESTS[claim.test](findings, claim, lines, place)
            outcomes.append(Outcome(dataset, answer, numbers))
    return Verdict(claim, tuple(outcomes))


def lines_of(claim, findings, dataset):
    """Return the lines of a claim on a set, None for those that are not recorded."""
    names = [name + claim.start for name in claim.lines]
    return [findings.line(claim.experiment, dataset, name) for name in names]


def decide(yes, no):
    """Return the answer; a check is open where the interval does not decide."""
    return YES if yes else NO if no else OPEN


# -- tests: each returns an answer and the numbers behind it --------------------------------


def is_above(findings, claim, lines, place):
    """Tell whether the first line is above all others, by more than chance."""
    return are_positive(
        [findings.difference(lines[0], other, claim.measure) for other in lines[1:]]
    )


def is_worst(findings, claim, lines, place):
    """Tell whether all others are above the first line."""
    return are_positive(
        [findings.difference(other, lines[0], claim.measure) for other in lines[1:]]
    )


def are_positive(found):
    """Tell whether all differences are above 0."""
    yes = all(one.wide_low > 0 for one in found)
    return decide(yes, any(one.wide_high < 0 for one in found)), in_words(found)


def is_level(findings, claim, lines, place):
    """Tell whether two lines differ by less than the margin."""
    found = findings.difference(*lines, claim.measure)
    yes = -claim.margin < found.wide_low and found.wide_high < claim.margin
    no = found.wide_low > claim.margin or found.wide_high < -claim.margin
    return decide(yes, no), in_words([found])


def is_no_loss(findings, claim, lines, place):
    """Tell whether the first line is not below the second by the margin."""
    found = findings.difference(*lines, claim.measure)
    return (
        decide(found.wide_low > -claim.margin, found.wide_high < -claim.margin),
        in_words([found]),
    )


def is_about(findings, claim, lines, place):
    """Tell whether the first line leads the best other by the margin, half of it more or less."""
    found = [findings.difference(lines[0], other, claim.measure) for other in lines[1:]]
    least = min(found, key=lambda one: one.mean)
    low, high = 0.5 * claim.margin, 1.5 * claim.margin
    yes = low < least.wide_low and least.wide_high < high
    return decide(yes, least.wide_high < low or least.wide_low > high), in_words([least])


def does_lead(findings, claim, lines, place):
    """Tell whether the first trend, in file order, is above all others nearly everywhere."""
    first, *others = (findings.trend(line, claim.measure) for line in lines)
    begin = int(BEGINNING * len(first))
    ahead = np.all([first[begin:] > other[begin:] for other in others], axis=0)
    share = float(ahead.mean())
    return decide(share >= NEARLY, share < NEARLY), f"{share:.0%} of the rows"


def does_fall(findings, claim, lines, place):
    """Tell whether the second half of the stream is below the first."""
    found = findings.fall(lines[0], claim.measure)
    return decide(found.wide_high < 0, found.wide_low > 0), in_words([found])


def is_kept_near(findings, claim, lines, place):
    """Tell whether merging keeps the rules within a half of the number named for this set.

    Nothing is shown where it is the cap that keeps them.
    """
    value, named = findings.mean(lines[0], claim.measure), claim.margin[place]
    near = abs(value - named) <= 0.5 * named
    capped = value >= dict(lines[0].run.parameters).get("max_rules", Params.max_rules)
    words = f"{value:.3g}, the cap" if capped else f"{value:.3g}"
    return decide(near and not capped, not near), words


def is_more(findings, claim, lines, place):
    """Tell whether all numbers of all lines are above the margin."""
    values = [findings.numbers(line, claim.measure) for line in lines]
    more = all(value.min() > claim.margin for value in values)
    return decide(more, not more), " and ".join(f"{value.mean():.0f}" for value in values)


def is_times(findings, claim, lines, place):
    """Tell whether the second line takes at least as many times as named for this set."""
    ratio = findings.mean(lines[1], claim.measure) / findings.mean(lines[0], claim.measure)
    named = claim.margin[place]
    return decide(ratio >= named, ratio < named), f"{ratio:.1f} times, printed {named:.1f}"


def is_most(findings, claim, lines, place):
    """Tell whether the difference is larger on this set than on all others."""
    own = findings.difference(*lines, claim.measure)
    others = []
    for dataset in SETS:
        pair = lines_of(claim, findings, dataset)
        if dataset != claim.sets[0] and None not in pair:
            others.append(findings.difference(*pair, claim.measure))
    most = all(own.wide_low > other.wide_high for other in others)
    less = any(own.wide_high < other.wide_low for other in others)
    rest = ", ".join(f"{100 * other.mean + 0.0:+.2f}" for other in others)
    return decide(most, less), f"{own.in_points()}, others {rest}"


def in_words(intervals):
    """Return differences in points with their corrected intervals."""
    return "; ".join(interval.in_points() for interval in intervals)


TESTS = {
    "above": is_above, "worst": is_worst, "level": is_level, "no loss": is_no_loss,
    "about": is_about, "leads": does_lead, "falls": does_fall, "kept near": is_kept_near,
    "more": is_more, "times": is_times, "most": is_most,
}  # fmt: skip
