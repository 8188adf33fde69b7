"""Parameters of the learner: names, defaults, allowed ranges."""

import math
from dataclasses import dataclass, fields
from typing import Any

from efcml.kernels import constants
from efcml.support.declared import (
    check_parameters,
    choice,
    flag,
    number,
    whole,
    with_parameters,
)

CORRELATIONS = {
    "shift": constants.SHIFT,
    "laplacian": constants.LAPLACIAN,
    "signed": constants.SIGNED,
    "paper": constants.RAW,
    "none": constants.NONE,
}
DECISIONS = {"hamming": constants.HAMMING, "f1": constants.F1, "subset": constants.SUBSET}
MOST_CASES = 2000  # time and memory grow with the square
LEAST, MOST = 1e-9, 1e9  # of numbers that, far beyond, would leave rounding errors alone
LEAST_CASE_NOISE = 1e-4  # below, rounding outweighs what long streams leave open


@with_parameters
class Parameters:
    """Every hyper-parameter of EFC-ML, once: default, range, and what the paper prints.

    The words say what it does and when to change it. Checks, the signatures and docstrings of all
    estimators, ``paper()``, the command line, tests and pages follow from here.
    """

    vigilance: float = number(
        "Radius of a rule, in units that allow for the dimension. Lower it for more rules; "
        "raise it if births never end.",
        default=1.7,
        above=0.0,
        paper=0.5,
    )
    alpha: float = number(
        "Weight of the L1 penalty on the slopes. Raise it for sparser rules, if many features "
        "say nothing.",
        default=0.0,
        least=0.0,
        most=MOST,
        paper=0.1,
    )
    beta: float = number(
        "Weight of the correlation penalty. 0 switches it off, which saves time; try more if "
        "labels depend on each other.",
        default=0.1,
        least=0.0,
        most=MOST,
        paper=1.0,
    )
    correlation: str = choice(
        'What the label correlation of a rule does to its planes. "paper" is the printed form, '
        'which is not convex. "none" leaves recursive least squares alone (no L1 either): the '
        "quickest, and a good first comparison.",
        default="shift",
        allowed=CORRELATIONS,
        paper="paper",
    )
    bandwidth: float | str = number(
        "Width of the activation. 1.0 is the paper. The wider, the more rules share a decision: "
        '"dimension" averages squared distances over the features instead of summing them, and '
        "nearly all rules take part.",
        default=0.5,
        least=LEAST,
        words=("dimension",),
        paper=1.0,
    )
    activation: str = choice(
        "What a rule counts by when rules fire and win rows: its Gaussian density, or the distance "
        "to its center alone (the paper), by which a wide rule drowns a narrow one. Change it only "
        "to compare.",
        default="density",
        allowed=("density", "distance"),
        paper="distance",
    )
    lipschitz: str = choice(
        'Step length of the proximal steps. "paper" diverges on most data; it is there to compare.',
        default="exact",
        allowed=("exact", "paper"),
        paper="paper",
    )
    n_steps: int = whole(
        "Proximal steps at a time. More follow `alpha` and `beta` more closely and cost time.",
        default=1,
        least=1,
        paper=1,
        kernels=True,
    )
    step_interval: float = number(
        "Activation that a rule gathers before it takes proximal steps again, counted in whole "
        "rows. 0 takes them with every row (the paper), which costs up to twice the time and "
        "changes next to nothing.",
        default=1.0,
        least=0.0,
        paper=0.0,
        kernels=True,
    )
    forgetting: float | str = number(
        "What a row leaves of the rule that learns it. 1 remembers everything, .99 about the last "
        'hundred rows of a rule. "auto" lets every rule find out, from a second, brief memory; it '
        "costs up to twice the time of a row. Give a number to compare, or 1 for speed if nothing "
        "drifts.",
        default="auto",
        above=0.0,
        most=1.0,
        words=("auto",),
        paper=1.0,
    )
    prior: float | str = number(
        'Strength with which the planes of a rule are held to flat ones. "auto" picks it by '
        "cross-validation on the initial rows, and also whether rules are held to one plane for"
        " all rows instead. Give a number if these rows are few, or unlike the stream: larger "
        "for many features and few rows.",
        default="auto",
        least=LEAST,
        most=MOST,
        words=("auto",),
        paper=1.0,
    )
    birth_width: float = number(
        "Variance of a new rule, as a share of range times standard deviation of each feature. "
        "Lower it if groups are narrow compared with the range.",
        default=0.2,
        least=LEAST,
        most=MOST,
        paper=0.1,
    )
    variance_floor: float = number(
        "Share of the birth variance that a rule never falls below. Raise it if old rules "
        "reject everything and births do not end.",
        default=0.1,
        least=0.0,
        most=MOST,
        paper=0.0,
        kernels=True,
    )
    merging: bool = flag(
        "Whether rules that have grown together become one. Switch it off to compare, or if "
        "rules must keep their identity.",
        default=True,
        kernels=True,
    )
    merge_overlap: float = number(
        "Least overlap of two rules that are merged. Lower it for fewer rules.",
        default=0.8,
        above=0.0,
        most=1.0,
        kernels=True,
    )
    merge_volume: float | str = number(
        "How much larger than both together a merged rule may be, per dimension of the "
        'bandwidth. "paper" is the printed test. Raise it for more merges.',
        default=1.0,
        above=0.0,
        words=("paper",),
        paper="paper",
    )
    merge_consequents: str = choice(
        "Planes of a merged rule: the least-squares solution on the data of both, or the "
        "printed average. Change it only to compare.",
        default="exact",
        allowed=("exact", "paper"),
        paper="paper",
    )
    product_space: bool = flag(
        "Whether labels take part in forming rules. Switch it off if labels are many, or noisy.",
        default=True,
        kernels=True,
    )
    splitting: str = choice(
        "Where a rule that has grown too large is cut in two: across the direction in which its "
        'features tell most about its labels, across its longest axis, or not at all ("off", the '
        'paper). Take "off" to compare, or if births alone should make rules.',
        default="labels",
        allowed=("labels", "axis", "off"),
        paper="off",
    )
    split_share: float | str = number(
        "A rule that holds a larger share of all rows is split. Lower it for more rules. "
        '"auto" takes 0.3, or 0.2 if the initial rows, cross-validated, are clearly better told '
        "by many rules than by one plane.",
        default="auto",
        above=0.0,
        most=1.0,
        words=("auto",),
    )
    least_share: float = number(
        "A rule that has won a smaller share of the rows since its birth becomes part of its "
        "neighbour; one that has won none of the last 10 / least_share rows no longer counts when "
        "others are split. Raise it for fewer rules, 0 keeps them all (the paper).",
        default=0.01,
        least=0.0,
        below=1.0,
        paper=0.0,
        kernels=True,
    )
    max_rules: int = whole(
        "Cap on the number of rules. At the cap a rule that has long won nothing is dropped; else "
        "the most similar pair is merged or the least used rule dropped, and none is split; a "
        "single rule takes every row. Time and memory grow with it; raise it if rules are dropped "
        "that you miss.",
        default=20,
        least=1,
        kernels=True,
    )
    activation_floor: float = number(
        "Rules that fire less than this do not learn from a sample. Raise it for speed, 0 lets "
        "all of them learn.",
        default=1e-4,
        least=0.0,
        below=1.0,
        paper=0.0,
        kernels=True,
    )
    clip: float = number(
        "Features are standardised and clipped at this many deviations. Raise it if far values "
        "carry meaning.",
        default=6.0,
        above=0.0,
        most=1e6,  # a rule that holds a value further off is all rounding
    )
    scaling: str = choice(
        'What happens when the stream leaves the scale of the initial rows. "follow" changes the '
        'scale of features that have moved, and what was learned with it; "frozen" never does '
        "(the paper), and clips. Take it to compare, or if the units of the initial rows are to "
        "stay.",
        default="follow",
        allowed=("follow", "frozen"),
        paper="frozen",
    )
    warmup_rows: int = whole(
        "Rows that ``partial_fit`` holds before it fits, when ``fit`` was not called. Lower it "
        "to have rules sooner, raise it for a better scale and prior.",
        default=200,
        least=1,
    )
    provisional: bool = flag(
        "Whether the rows that ``partial_fit`` holds answer before it fits: similar ones, as far "
        "as they have been better than label frequencies. False leaves these alone: take it to "
        "compare, or if rows of the warm-up must be quick.",
        default=True,
        paper=False,
    )
    birth_learning: bool = flag(
        "Whether the other rules learn the sample that a rule was born from. False is the paper.",
        default=True,
        paper=False,
        kernels=True,
    )
    birth_plane: str = choice(
        "What a rule that is born in the stream starts with: the planes of the nearest rule, or"
        ' those of all rules as they fire at its center. "blend" is better after a small '
        "initial part.",
        default="nearest",
        allowed=("nearest", "blend"),
        paper="nearest",
    )
    cases: int = whole(
        "Rows that are remembered besides the rules. They learn what the rules get wrong near "
        "them and correct the answer of similar rows. 0 leaves the rules alone, which is easier"
        " to read and less accurate; raise it if rows are many and errors go on.",
        default=400,
        least=0,
        most=MOST_CASES,
        paper=0,
    )
    case_width: float = number(
        "How far a case reaches: variance of its similarity, per scaled feature. Lower it if "
        "what the rules get wrong changes over short distances.",
        default=0.25,
        least=LEAST,
    )
    case_noise: float = number(
        "How much of an error is taken for chance: the larger, the more similar rows must agree"
        " before they correct. Raise it if labels are noisy.",
        default=1.0,
        least=LEAST_CASE_NOISE,
    )
    caution: bool = flag(
        "Whether scores are drawn towards the label frequencies as far as the model has been wrong "
        "to leave them. It helps where rows are few and labels many, and changes nothing where the "
        "model is right. Switch it off to compare.",
        default=True,
        paper=False,
    )
    time: bool = flag(
        "Whether errors and labels of the last known rows have a say in the next, once they have "
        "proved to tell something. Where rows are independent it changes nothing. Switch it off "
        "to compare, or if rows come in no order.",
        default=True,
        paper=False,
    )
    weight_limit: float = number(
        "A rule with a larger absolute weight stops its proximal steps, with a warning. Only "
        "printed formulas get there. Infinity takes the guard away.",
        default=1e6,
        above=0.0,
        infinite=True,
        kernels=True,
    )
    decision: str = choice(
        'What decisions are to be good at. "hamming" decides every label by itself, from a score '
        'of .5 on. "f1" says rare labels too, each from the score on at which its F1 has been '
        'best. "subset" takes the set of labels that is most likely as a whole. Both cost single '
        "decisions; scores and probabilities stay the same.",
        default="hamming",
        allowed=DECISIONS,
        paper="hamming",
    )


@dataclass(kw_only=True, unsafe_hash=True)
class Params(Parameters):
    """Values of all hyper-parameters; they are checked when an instance is made, and stay."""

    def __post_init__(self) -> None:
        check_parameters(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            raise AttributeError(f"{name} cannot be changed: make new parameters.")
        super().__setattr__(name, value)

    def check_together(self) -> None:
        """Refuse values that are good alone and harm together on real streams."""
        if self.forgetting not in (1.0, "auto") and self.variance_floor < LEAST:
            raise ValueError(
                f"forgetting < 1 needs variance_floor >= {LEAST:g} "
                f"(got {self.variance_floor:g}): a feature that rests would lose its variance."
            )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the parameter names in order."""
        return tuple(field.name for field in fields(cls))

    def input_bandwidth(self, n_features: int) -> float:
        """Return tau for the input space."""
        return float(n_features) if self.bandwidth == "dimension" else float(self.bandwidth)

    def merge_width(self, n_features: int, n_labels: int) -> float:
        """Return tau_q, the bandwidth of the space in which rules are compared: its dimension."""
        if self.merge_volume == "paper":
            return 1.0
        return float(n_features + n_labels) if self.product_space else float(n_features)

    def merge_log_volume(self, n_features: int, n_labels: int) -> float:
        """Return the logarithm of the allowed growth in volume of a merged rule."""
        if self.merge_volume == "paper":
            return math.log(n_features)
        return self.merge_width(n_features, n_labels) * math.log(float(self.merge_volume))

    @property
    def follows(self) -> bool:
        """Whether rules have a brief memory beside the long one, and so find how to forget."""
        return self.forgetting == "auto"

    @property
    def fixed_forgetting(self) -> float:
        """The number that is given, 1 if it is to be found."""
        return 1.0 if self.follows else float(self.forgetting)

    @property
    def max_support(self) -> float:
        """The cap of a rule's support that forgetting implies."""
        fixed = self.fixed_forgetting
        return math.inf if fixed == 1.0 else 1.0 / (1.0 - fixed)
