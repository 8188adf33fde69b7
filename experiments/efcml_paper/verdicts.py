"""From claims to verdicts, in three words for three things, and a fourth for a mixture."""

from collections import Counter
from dataclasses import dataclass

from efcml.model.params import Params
from efcml_paper.claims import Claim
from efcml_paper.scale import SETS

HOLDS, REFUTED, OPEN = "holds", "does not hold", "could not be shown"
PARTLY = "in part"  # holds on some of its sets, not on all
NOT_RUN = "no records"
NEARLY = 0.9  # of the rows: "nearly the whole stream"
WITHIN = 0.5  # of a number: "about" and "near"
TIMED = 0.1  # of a ratio of two times, each measured once, says nothing


@dataclass(frozen=True)
class Outcome:
    """What one check gave."""

    where: str
    answer: str  # HOLDS, REFUTED or OPEN
    numbers: str


@dataclass(frozen=True)
class Verdict:
    """A claim with the outcomes of its checks."""

    claim: Claim
    outcomes: tuple[Outcome, ...]

    @property
    def missing(self):
        """Sets without records."""
        known = {outcome.where for outcome in self.outcomes}
        return [name for name in self.claim.sets if name not in known]

    @property
    def word(self):
        """Return the verdict in one word; a claim that holds nowhere is refuted by one set."""
        if self.missing:
            return NOT_RUN
        answers = {outcome.answer for outcome in self.outcomes}
        if HOLDS in answers:
            return HOLDS if answers == {HOLDS} else PARTLY
        return REFUTED if REFUTED in answers else OPEN

    @property
    def told(self):
        """Return the verdict; where the sets differ, on how many it is which."""
        count = Counter(outcome.answer for outcome in self.outcomes)
        if self.missing and self.outcomes:
            return f"{NOT_RUN} on {', '.join(self.missing)}"
        if len(count) < 2:
            return self.word
        parts = [f"{word} on {count[word]}" for word in (HOLDS, REFUTED, OPEN) if count[word]]
        return f"{self.word}: {', '.join(parts)} of {len(self.claim.sets)} sets"


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
    return HOLDS if yes else REFUTED if no else OPEN


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
    """Tell whether the first line leads the best other by about the margin."""
    found = [findings.difference(lines[0], other, claim.measure) for other in lines[1:]]
    least = min(found, key=lambda one: one.mean)
    low, high = (1.0 - WITHIN) * claim.margin, (1.0 + WITHIN) * claim.margin
    yes = low < least.wide_low and least.wide_high < high
    return decide(yes, least.wide_high < low or least.wide_low > high), in_words([least])


def does_lead(findings, claim, lines, place):
    """Tell whether the first trend, in file order, is above all others nearly everywhere."""
    found = findings.share_ahead(lines[0], lines[1:], claim.measure)
    low, high = found.wide_low, found.wide_high
    words = f"{found.mean:.0%} of the rows [{low:.0%}, {high:.0%}]"
    return decide(low >= NEARLY, high < NEARLY), words


def does_fall(findings, claim, lines, place):
    """Tell whether the second half of the stream is below the first."""
    found = findings.fall(lines[0], claim.measure)
    return decide(found.wide_high < 0, found.wide_low > 0), in_words([found])


def is_kept_near(findings, claim, lines, place):
    """Tell whether merging keeps the rules near the number named for this set, in all orders.

    Nothing is shown where it is the cap that keeps them.
    """
    values, named = findings.numbers(lines[0], claim.measure), claim.margin[place]
    near = abs(values - named) <= WITHIN * named
    cap = dict(lines[0].run.parameters).get("max_rules", Params.max_rules)
    capped = values >= cap
    words = f"{values.mean():.3g}, the cap" if capped.any() else f"{values.mean():.3g}"
    return decide((near & ~capped).all(), not near.any()), words


def is_more(findings, claim, lines, place):
    """Tell whether the numbers of all lines are above the margin, in all orders."""
    more = [findings.numbers(line, claim.measure) > claim.margin for line in lines]
    words = " and ".join(f"{findings.mean(line, claim.measure):.0f}" for line in lines)
    return decide(all(one.all() for one in more), not all(one.any() for one in more)), words


def is_times(findings, claim, lines, place):
    """Tell whether the second line takes at least as many times as named for this set."""
    ratio = findings.mean(lines[1], claim.measure) / findings.mean(lines[0], claim.measure)
    named = claim.margin[place]
    yes, no = ratio >= (1.0 + TIMED) * named, ratio < (1.0 - TIMED) * named
    return decide(yes, no), f"{ratio:.1f} times, printed {named:.1f}"


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
    "above": is_above,
    "worst": is_worst,
    "level": is_level,
    "no loss": is_no_loss,
    "about": is_about,
    "leads": does_lead,
    "falls": does_fall,
    "kept near": is_kept_near,
    "more": is_more,
    "times": is_times,
    "most": is_most,
}
NEEDED = {  # of every test, with the tolerance for words that leave it open
    "above": "difference above 0",
    "worst": "all others above it",
    "level": "less than {points} apart",
    "no loss": "less than {points} below",
    "about": "{low:g} to {high:g} points apart",
    "leads": f"above on {NEARLY:.0%} of the rows; the first tenth does not count",
    "falls": "second half minus first below 0",
    "kept near": f"within {WITHIN:.0%} of them, and below the cap",
    "more": "more than {margin} each",
    "times": f"more than {TIMED:.0%} above the printed ratio",
    "most": "difference above those on all other sets",
}


def needed(claim):
    """Return what a claim needs to hold, in points where it is about a measure.

    Examples
    --------
    >>> needed(Claim("pa-trends", "about 5 points", "about", ("birds",), ("a", "b"), margin=0.05))
    '2.5 to 7.5 points apart'
    """
    margin = claim.margin
    number = 0.0 if isinstance(margin, tuple) else round(100 * margin, 6)
    points = "1 point" if number == 1 else f"{number:g} points"
    low, high = (1.0 - WITHIN) * number, (1.0 + WITHIN) * number
    return NEEDED[claim.test].format(margin=margin, points=points, low=low, high=high)
