"""What the paper says of its figures and tables, as data.

A claim is checked on every set it names, by a test of `efcml_paper.verdicts` on lines of an
experiment. Margins are in the unit of the measure: .01 is one point.
"""

from dataclasses import dataclass, replace

from efcml_paper.plan import NAMES, SMALL
from efcml_paper.scale import LARGE, RULE_COUNT_SETS, SETS

PAPER_SECONDS = {  # per update, as printed: EFC-ML, one-versus-rest, chain
    "birds": (0.289, 0.868, 1.078),
    "emotions": (0.070, 0.107, 0.172),
    "water-quality": (0.033, 0.093, 0.324),
    "yeast": (0.063, 0.147, 0.171),
    "mediamill": (0.41, 0.94, 1.56),
}
TIMED = ("EFC-ML", "one-versus-rest", "chain")  # whose times these are

# Below the name of an experiment: words | test | sets | lines | margin, if there is one. A point
# is the least that is seen in the paper's figures, so it is the margin of what is not visible.
SAID = """
pa-trends
 PA: EFC-ML above one-versus-rest | above | small | efcml / ovr
 PA: EFC-ML above the chain | above | small | efcml / chain
 PA: EFC-ML above both over nearly the whole stream | leads | small | efcml / ovr / chain
ap-trends
 AP: EFC-ML above one-versus-rest | above | small | efcml / ovr
 AP: EFC-ML above the chain | above | small | efcml / chain
 AP: EFC-ML above both over nearly the whole stream | leads | small | efcml / ovr / chain
pa-trends
 PA: birds about 5 points above both | about | birds | efcml / ovr / chain | .05
 PA: emotions about 10 points above both | about | emotions | efcml / ovr / chain | .1
 PA: static worst | worst | small | static / efcml / ovr / chain
ap-trends
 AP: static worst | worst | birds, emotions | static / efcml / ovr / chain
 AP: chain below static | above | water-quality, yeast | static / chain
rule-counts
 merging keeps the rules near 17 and 10 | kept near | counted | efcml | 17 10
 one-versus-rest and chain need over 100 rules in total | more | counted | ovr / chain | 100
mediamill
 PA: static falls along the stream | falls | mediamill | static
 PA: EFC-ML above static | above | mediamill | efcml / static
 PA: EFC-ML about level with one-versus-rest | level | mediamill | efcml / ovr | .001
 PA: EFC-ML above the chain | above | mediamill | efcml / chain
 PA: one-versus-rest above the chain | above | mediamill | ovr / chain
 PA: EFC-ML above least squares only | above | mediamill | efcml / rfwls
 PA: least squares only about level with the chain | level | mediamill | rfwls / chain | .001
 AP: static falls along the stream | falls | mediamill | static
 AP: EFC-ML above static | above | mediamill | efcml / static
 AP: EFC-ML about level with one-versus-rest | level | mediamill | efcml / ovr | .01
 AP: EFC-ML above the chain | above | mediamill | efcml / chain
 AP: one-versus-rest above the chain | above | mediamill | ovr / chain
 AP: EFC-ML above least squares only | above | mediamill | efcml / rfwls
 AP: least squares only about level with the chain | level | mediamill | rfwls / chain | .01
al-labels
 10 % of the labels: no visible loss against full update | no loss | easy | active 10% / full | .01
 20 % of the labels: no visible loss against full update | no loss | hard | active 20% / full | .01
 10 % of the labels clearly below 20 % | above | hard | active 20% / active 10%
 10 % active above 10 % random, labels | above | small | active 10% / random 10%
 10 % random near static, labels | level | small | random 10% / static | .01
al-samples
 10 % of the samples: no visible loss against full update | no loss | easy | active 10% / full | .01
 water quality loses about 3 points at 30 % of the samples | about | water | full / active 30% | .03
 water quality loses no more at 10 % | no loss | water | active 10% / active 30% | .01
 birds: 30 % of the samples above static | above | birds | active 30% / static
 birds: 20 % of the samples no better than static | level | birds | active 20% / static | .002
al-instability
 instability helps at 10 % of the labels | above | birds, emotions, water | labels+ / labels-
 it helps birds most, labels | most | birds | labels+ / labels-
 instability helps at 10 % of the samples | above | birds, emotions, water | samples+ / samples-
 it helps birds most, samples | most | birds | samples+ / samples-
al-mediamill
 PA: 10 % of the samples: no loss | no loss | mediamill | active 10% / full | .001
 AP: 30 % of the samples slightly below full update | above | mediamill | full / active 30%
 PA: 10 % random near static | level | mediamill | random 10% / static | .001
 AP: 10 % random near static | level | mediamill | random 10% / static | .01
speed
 as many times faster than one-versus-rest as printed, or more | times | all | efcml / ovr
 as many times faster than the chain as printed, or more | times | all | efcml / chain
"""
GROUPS = {
    "small": SETS,
    "easy": ("emotions", "yeast"),
    "hard": ("birds", "water-quality"),
    "water": ("water-quality",),
    "counted": RULE_COUNT_SETS,
    "all": (*SETS, LARGE),
}
SHORT = NAMES | {
    "full": "full update",
    **{f"{unit}+": f"with instability, {unit}" for unit in ("labels", "samples")},
    **{f"{unit}-": f"without instability, {unit}" for unit in ("labels", "samples")},
}
MEASURED = {"rule-counts": "rules", "speed": "ms_per_sample"}  # others: as the words begin


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper and how it is checked."""

    experiment: str
    words: str
    test: str  # a name of efcml_paper.verdicts.NEEDED
    sets: tuple[str, ...]
    lines: tuple[str, ...]
    measure: str = "pa"
    margin: float | tuple = 0.0
    start: str = ""  # what follows the names of the lines: SMALL for the small start


def read_claims(text):
    """Return the claims of a text like `SAID`."""
    claims, experiment = [], ""
    for row in text.strip().splitlines():
        if not row.startswith(" "):
            experiment = row
            continue
        words, test, sets, lines, *margin = row.strip().split(" | ")
        sets = sum((GROUPS.get(name, (name,)) for name in sets.split(", ")), ())
        lines = tuple(SHORT.get(name, name) for name in lines.split(" / "))
        margins = tuple(map(float, " ".join(margin).split())) or (0.0,)
        if test == "times":
            seconds, place = [PAPER_SECONDS[name] for name in sets], TIMED.index(lines[1])
            margins = tuple(own[place] / own[0] for own in seconds)
        measure = MEASURED.get(experiment, "ap" if words.startswith("AP") else "pa")
        one = margins if len(margins) > 1 else margins[0]
        claims.append(Claim(experiment, words, test, sets, lines, measure, one))
    return claims


def with_small_start(claims):
    """Return claims with those on budgets once more, from a start of which the paper is silent."""
    budgets = [claim for claim in claims if claim.experiment.startswith("al-")]
    small = [claim for claim in budgets if claim.sets != (LARGE,)]
    place = claims.index(small[-1]) + 1
    more = [replace(claim, words=claim.words + SMALL, start=SMALL) for claim in small]
    return (*claims[:place], *more, *claims[place:])


CLAIMS = with_small_start(read_claims(SAID))
N_CHECKS = 2 * sum(len(claim.sets) for claim in CLAIMS)  # with cases, and for rules alone
