"""What the paper says of its figures and tables, as data.

A claim is checked on every set it names, by a test of `efcml_paper.verdicts` on lines of an
experiment. Margins are in the unit of the measure: .01 is one point.
"""

from dataclasses import dataclass, replace

from efcml_paper.plan import SMALL
from efcml_paper.scale import LARGE, RULE_COUNT_SETS, SETS

OVR, CHAIN = "one-versus-rest", "chain"
PAPER_SECONDS = {  # per update, as printed: EFC-ML, one-versus-rest, chain
    "birds": (0.289, 0.868, 1.078),
    "emotions": (0.070, 0.107, 0.172),
    "water-quality": (0.033, 0.093, 0.324),
    "yeast": (0.063, 0.147, 0.171),
    "mediamill": (0.41, 0.94, 1.56),
}


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper and how it is checked."""

    experiment: str
    words: str
    test: str  # a name of efcml_paper.verdicts.TESTS
    sets: tuple[str, ...]
    lines: tuple[str, ...]
    measure: str = "pa"
    margin: float | tuple = 0.0
    start: str = ""  # what follows the names of the lines: SMALL for the small start


VISIBLE = 0.01  # a point: the least that is seen in the paper's figures


def trend_claims():
    """Return what is said of both measures with full update, and of the number of rules."""
    claims = []
    for measure, experiment in (("pa", "pa-trends"), ("ap", "ap-trends")):
        short = measure.upper()
        add = (experiment, measure)
        claims += [
            _trend(*add, f"{short}: EFC-ML above one-versus-rest", "above", SETS, ("EFC-ML", OVR)),
            _trend(*add, f"{short}: EFC-ML above the chain", "above", SETS, ("EFC-ML", CHAIN)),
            _trend(
                *add,
                f"{short}: EFC-ML above both over nearly the whole stream",
                "leads",
                SETS,
                ("EFC-ML", OVR, CHAIN),
            ),
        ]
    pa, ap = ("pa-trends", "pa"), ("ap-trends", "ap")
    ahead = ("EFC-ML", OVR, CHAIN)
    claims += [
        _trend(*pa, "PA: birds about 5 points above both", "about", ("birds",), ahead, 0.05),
        _trend(*pa, "PA: emotions about 10 points above both", "about", ("emotions",), ahead, 0.1),
        _trend(*pa, "PA: static worst", "worst", SETS, ("static", *ahead)),
        _trend(*ap, "AP: static worst", "worst", ("birds", "emotions"), ("static", *ahead)),
        _trend(
            *ap, "AP: chain below static", "above", ("water-quality", "yeast"), ("static", CHAIN)
        ),
        Claim(
            "rule-counts",
            "merging keeps the rules near 17 and 10",
            "kept near",
            RULE_COUNT_SETS,
            ("EFC-ML",),
            "rules",
            (17, 10),
        ),
        Claim(
            "rule-counts",
            "one-versus-rest and chain need over 100 rules in total",
            "more",
            RULE_COUNT_SETS,
            (OVR, CHAIN),
            "rules",
            100,
        ),
    ]
    return claims


def _trend(experiment, measure, words, test, sets, lines, margin=0.0):
    return Claim(experiment, words, test, sets, lines, measure, margin)


def large_claims():
    """Return what is said of mediamill with full update."""
    claims = []
    for measure, margin in (("pa", 0.001), ("ap", 0.01)):
        short = measure.upper()
        for words, test, lines in (
            ("static falls along the stream", "falls", ("static",)),
            ("EFC-ML above static", "above", ("EFC-ML", "static")),
            ("EFC-ML about level with one-versus-rest", "level", ("EFC-ML", OVR)),
            ("EFC-ML above the chain", "above", ("EFC-ML", CHAIN)),
            ("one-versus-rest above the chain", "above", (OVR, CHAIN)),
            ("EFC-ML above least squares only", "above", ("EFC-ML", "least squares only")),
            (
                "least squares only about level with the chain",
                "level",
                ("least squares only", CHAIN),
            ),
        ):
            claims.append(
                Claim("mediamill", f"{short}: {words}", test, (LARGE,), lines, measure, margin)
            )
    return claims


def active_claims():
    """Return what is said of budgets on the small sets."""
    labels, samples = "al-labels", "al-samples"
    easy, hard = ("emotions", "yeast"), ("birds", "water-quality")
    return [
        Claim(
            labels,
            "10 % of the labels: no visible loss against full update",
            "no loss",
            easy,
            ("active 10%", "full update"),
            margin=VISIBLE,
        ),
        Claim(
            labels,
            "20 % of the labels: no visible loss against full update",
            "no loss",
            hard,
            ("active 20%", "full update"),
            margin=VISIBLE,
        ),
        Claim(
            labels,
            "10 % of the labels clearly below 20 %",
            "above",
            hard,
            ("active 20%", "active 10%"),
        ),
        Claim(
            labels,
            "10 % active above 10 % random, labels",
            "above",
            SETS,
            ("active 10%", "random 10%"),
        ),
        Claim(
            labels,
            "10 % random near static, labels",
            "level",
            SETS,
            ("random 10%", "static"),
            margin=VISIBLE,
        ),
        Claim(
            samples,
            "10 % of the samples: no visible loss against full update",
            "no loss",
            easy,
            ("active 10%", "full update"),
            margin=VISIBLE,
        ),
        Claim(
            samples,
            "water quality loses about 3 points at 30 % of the samples",
            "about",
            ("water-quality",),
            ("full update", "active 30%"),
            margin=0.03,
        ),
        Claim(
            samples,
            "water quality loses no more at 10 %",
            "no loss",
            ("water-quality",),
            ("active 10%", "active 30%"),
            margin=VISIBLE,
        ),
        Claim(
            samples,
            "birds: 30 % of the samples above static",
            "above",
            ("birds",),
            ("active 30%", "static"),
        ),
        Claim(
            samples,
            "birds: 20 % of the samples no better than static",
            "level",
            ("birds",),
            ("active 20%", "static"),
            margin=0.002,
        ),
        *instability_claims(),
    ]


def instability_claims():
    """Return what is said of the third criterion."""
    claims = []
    for unit in ("labels", "samples"):
        lines = (f"with instability, {unit}", f"without instability, {unit}")
        claims += [
            Claim(
                "al-instability",
                f"instability helps at 10 % of the {unit}",
                "above",
                ("birds", "emotions", "water-quality"),
                lines,
            ),
            Claim("al-instability", f"it helps birds most, {unit}", "most", ("birds",), lines),
        ]
    return claims


def large_active_claims():
    """Return what is said of budgets on mediamill."""
    claims = [
        Claim(
            "al-mediamill",
            "PA: 10 % of the samples: no loss",
            "no loss",
            (LARGE,),
            ("active 10%", "full update"),
            margin=0.001,
        ),
        Claim(
            "al-mediamill",
            "AP: 30 % of the samples slightly below full update",
            "above",
            (LARGE,),
            ("full update", "active 30%"),
            "ap",
        ),
    ]
    for measure, margin in (("pa", 0.001), ("ap", 0.01)):
        claims.append(
            Claim(
                "al-mediamill",
                f"{measure.upper()}: 10 % random near static",
                "level",
                (LARGE,),
                ("random 10%", "static"),
                measure,
                margin,
            )
        )
    return claims


def speed_claims():
    """Return what is said of the time per update: how many times faster EFC-ML is."""
    sets = tuple(PAPER_SECONDS)
    return [
        Claim(
            "speed",
            f"as many times faster than {words} as printed, or more",
            "times",
            sets,
            ("EFC-ML", line),
            "ms_per_sample",
            tuple(seconds[place] / seconds[0] for seconds in PAPER_SECONDS.values()),
        )
        for place, (words, line) in enumerate(((OVR, OVR), ("the chain", CHAIN)), start=1)
    ]


def from_small_start(claims):
    """Return the same claims for the small start, of which the paper does not speak."""
    return [replace(claim, words=claim.words + SMALL, start=SMALL) for claim in claims]


CLAIMS = (
    *trend_claims(),
    *large_claims(),
    *active_claims(),
    *from_small_start(active_claims()),
    *large_active_claims(),
    *speed_claims(),
)
N_CHECKS = 2 * sum(len(claim.sets) for claim in CLAIMS)  # with cases, and for rules alone
