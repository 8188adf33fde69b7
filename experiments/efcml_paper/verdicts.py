"""From claims to verdicts, in three words for three things, and a fourth for a mixture.

All claims are judged twice: with cases, which is the default, and of rules alone.
"""

from collections import Counter
from dataclasses import dataclass
from math import inf, nextafter

from efcml.model.params import Params
from efcml_paper.claims import Claim
from efcml_paper.paper_tables import Table
from efcml_paper.scale import SETS

HOLDS, REFUTED, OPEN = "holds", "does not hold", "could not be shown"
PARTLY = "in part"  # holds on some of its sets, not on all
NOT_RUN = "no records"
WAYS = ("with cases (default)", "rules alone")
NEARLY = 0.9  # of the rows: "nearly the whole stream"
WITHIN = 0.5  # of a number: "about" and "near"
TIMED = 0.1  # of a ratio of two times, each measured once, says nothing


@dataclass(frozen=True)
class Verdict:
    """A claim with the outcomes of its checks: by set, an answer and the numbers behind it."""

    claim: Claim
    outcomes: dict[str, tuple[str, str]]  # answers are HOLDS, REFUTED or OPEN

    @property
    def answers(self):
        """How often each answer was given."""
        return Counter(answer for answer, _ in self.outcomes.values())

    @property
    def missing(self):
        """Sets without records."""
        return [name for name in self.claim.sets if name not in self.outcomes]

    @property
    def word(self):
        """Return the verdict in one word; a claim that holds nowhere is refuted by one set."""
        answers = set(self.answers)
        if self.missing:
            return NOT_RUN
        if HOLDS in answers:
            return HOLDS if answers == {HOLDS} else PARTLY
        return REFUTED if REFUTED in answers else OPEN

    @property
    def told(self):
        """Return the verdict; where the sets differ, on how many it is which."""
        count = self.answers
        if self.missing and self.outcomes:
            return f"{NOT_RUN} on {', '.join(self.missing)}"
        if len(count) < 2:
            return self.word
        parts = [f"{word} on {count[word]}" for word in (HOLDS, REFUTED, OPEN) if count[word]]
        return f"{self.word}: {', '.join(parts)} of {len(self.claim.sets)} sets"

    @property
    def by_set(self):
        """Return the answers of all sets with the numbers behind them."""
        told = (
            f"{name}: {answer} ({numbers})" for name, (answer, numbers) in self.outcomes.items()
        )
        return "; ".join(told) or NOT_RUN


def judge_all(claims, findings):
    """Return the two verdicts on each claim, with cases and of rules alone."""
    both = (findings, findings.rules_alone)
    return [tuple(judge(claim, one) for one in both) for claim in claims]


def judge(claim, findings):
    """Return the verdict on a claim."""
    check, outcomes = COUNTED.get(claim.test, compare), {}
    for place, dataset in enumerate(claim.sets):
        lines = lines_of(claim, findings, dataset)
        if lines:
            outcomes[dataset] = check(findings, claim, lines, place)
    return Verdict(claim, outcomes)


def lines_of(claim, findings, dataset):
    """Return the lines of a claim on a set, None if one is not recorded."""
    names = (name + claim.start for name in claim.lines)
    return findings.pick(claim.experiment, dataset, *names)


def decide(yes, no):
    """Return the answer; a check is open where the interval does not decide."""
    return HOLDS if yes else REFUTED if no else OPEN


# -- claims on measures: all intervals must be within bounds --------------------------------

BOUNDS = {  # by the margin of the claim
    "above": lambda margin: (0.0, inf),
    "worst": lambda margin: (0.0, inf),
    "level": lambda margin: (-margin, margin),
    "no loss": lambda margin: (-margin, inf),
    "about": lambda margin: ((1.0 - WITHIN) * margin, (1.0 + WITHIN) * margin),
    "leads": lambda margin: (nextafter(NEARLY, 0.0), inf),
    "falls": lambda margin: (-inf, 0.0),
}


def compare(findings, claim, lines, place):
    """Tell whether all intervals of a claim are within its bounds, or one of them outside."""
    found, (low, high) = intervals_of(findings, claim, *lines), BOUNDS[claim.test](claim.margin)
    yes = all(low < one.wide_low and one.wide_high < high for one in found)
    no = any(one.wide_high < low or high < one.wide_low for one in found)
    told = (in_rows(one) if claim.test == "leads" else one.in_points() for one in found)
    return decide(yes, no), "; ".join(told)


def intervals_of(findings, claim, first, *others):
    """Return what a claim is about: mostly the first line minus each of the others."""
    if claim.test == "leads":
        return [findings.share_ahead(first, others, claim.measure)]
    if claim.test == "falls":
        return [findings.fall(first, claim.measure)]
    if claim.test == "worst":
        return [findings.difference(other, first, claim.measure) for other in others]
    found = [findings.difference(first, other, claim.measure) for other in others]
    return [min(found, key=lambda one: one.mean)] if claim.test == "about" else found


def in_rows(found):
    """Return a share of the rows with its corrected interval."""
    return f"{found.mean:.0%} of the rows [{found.wide_low:.0%}, {found.wide_high:.0%}]"


# -- claims on numbers: each returns an answer and the numbers behind it --------------------


def is_kept_near(findings, claim, lines, place):
    """Tell whether merging keeps the rules near the number named for this set, in all orders.

    Nothing is shown where it is the cap that keeps them.
    """
    values, named = findings.numbers(lines[0], claim.measure), claim.margin[place]
    near = abs(values - named) <= WITHIN * named
    capped = values >= dict(lines[0].run.parameters).get("max_rules", Params.max_rules)
    words = f"{values.mean():.3g}, the cap" if capped.any() else f"{values.mean():.3g}"
    return decide((near & ~capped).all(), not near.any()), words


def is_more(findings, claim, lines, place):
    """Tell whether the numbers of all lines are above the margin, in all orders."""
    more = [findings.numbers(line, claim.measure) > claim.margin for line in lines]
    words = " and ".join(f"{findings.mean(line, claim.measure):.0f}" for line in lines)
    return decide(all(one.all() for one in more), not all(one.any() for one in more)), words


def is_times(findings, claim, lines, place):
    """Tell whether the second line takes at least as many times as named for this set."""
    own, other = (findings.mean(line, claim.measure) for line in lines)
    ratio, named = other / own, claim.margin[place]
    yes, no = ratio >= (1.0 + TIMED) * named, ratio < (1.0 - TIMED) * named
    return decide(yes, no), f"{ratio:.1f} times, printed {named:.1f}"


def is_most(findings, claim, lines, place):
    """Tell whether the difference is larger on this set than on all others."""
    own = findings.difference(*lines, claim.measure)
    pairs = [lines_of(claim, findings, name) for name in SETS if name not in claim.sets]
    others = [findings.difference(*pair, claim.measure) for pair in pairs if pair]
    most = all(own.wide_low > other.wide_high for other in others)
    less = any(own.wide_high < other.wide_low for other in others)
    rest = ", ".join(f"{100 * other.mean + 0.0:+.2f}" for other in others)
    return decide(most, less), f"{own.in_points()}, others {rest}"


COUNTED = {"kept near": is_kept_near, "more": is_more, "times": is_times, "most": is_most}

# -- in words -------------------------------------------------------------------------------

NEEDED = {  # of every test, with the tolerance for words that leave it open
    "above": "difference above 0",
    "worst": "all others above it",
    "level": "less than {points} apart",
    "no loss": "less than {points} below",
    "about": "{low:g} to {high:g} points apart",
    "leads": f"above on {NEARLY:.0%} of the rows; the first tenth does not count",
    "falls": "second half minus first below 0",
    "kept near": f"within {WITHIN:.0%} of them, and below the cap",
    "more": "more than {margin:g} each",
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
    margin = 0.0 if isinstance(claim.margin, tuple) else claim.margin
    number = round(100 * margin, 6)
    points = "1 point" if number == 1 else f"{number:g} points"
    low, high = (1.0 - WITHIN) * number, (1.0 + WITHIN) * number
    return NEEDED[claim.test].format(margin=margin, points=points, low=low, high=high)


def verdict_tables(judged, title="what the paper says"):
    """Return the claims with what they need and their verdicts, and the numbers behind them."""
    words, numbers = [], []
    for pair in judged:
        claim = pair[0].claim
        first = [claim.experiment, claim.words]
        words.append([*first, needed(claim), *(one.told for one in pair)])
        numbers.append([*first, *(one.by_set for one in pair)])
    header = ["experiment", "claim"]
    return [
        Table(title, [*header, "holds if", *WAYS], words),
        Table(f"{title}: numbers by set", [*header, *WAYS], numbers),
    ]


def count_verdicts(judged):
    """Return how often each verdict was given, in one sentence for each way."""
    told = [f"{len(judged)} claims."]
    for way, verdicts in zip(WAYS, zip(*judged, strict=True), strict=True):
        count = Counter(verdict.word for verdict in verdicts)
        parts = [count[word] for word in (HOLDS, PARTLY, REFUTED, OPEN)]
        words = "{} hold, {} hold in part, {} do not hold, {} could not be shown".format(*parts)
        lacking = f", {count[NOT_RUN]} lack records" if count[NOT_RUN] else ""
        told.append(f"{way[0].upper()}{way[1:]}: {words}{lacking}.")
    return " ".join(told)
