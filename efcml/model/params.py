"""Parameters of the learner: names, defaults, allowed ranges."""

import math
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from efcml import seams
from efcml.support.declared import (
    check_parameters,
    choice,
    facts_of,
    flag,
    number,
    other,
    whole,
    with_parameters,
)

CORRELATIONS = ("shift", "laplacian", "signed", "paper", "none")
DECISIONS = ("hamming", "f1", "subset")
MOST_CASES = 2000  # time and memory grow with the square
LEAST, MOST = 1e-9, 1e9  # of numbers that, far beyond, would leave rounding errors alone


@with_parameters
class Parameters:
    """Every hyper-parameter of EFC-ML, once: default, range, and what the paper prints.

    The words say what it does and when to change it. Checks, the signatures and docstrings of all
    estimators, ``paper()``, the command line, tests and pages follow from here.
    """

    vigilance: Any = number(default=1.7, above=0.0, paper=0.5, seam="birth")
    """Radius of a rule, in units that allow for the dimension. Lower it for more rules; raise it if
    births never end. Or a birth test of one's own."""

    alpha: float = number(default=0.0, least=0.0, most=MOST, paper=0.1)
    """Weight of the L1 penalty on the slopes. Raise it for sparser rules, if many features say
    nothing."""

    beta: float = number(default=0.1, least=0.0, most=MOST, paper=1.0)
    """Weight of the correlation penalty, where ``correlation`` chooses one."""

    correlation: str = choice(default="none", allowed=CORRELATIONS, paper="paper")
    """What the label correlation of a rule does to its planes. By default nothing: measured, no
    penalty changed PA or AP by more than a hundredth of a point, and they take 8 to 30 % more time.
    "shift" is the paper's penalty made convex, "paper" the printed one, which is not."""

    bandwidth: float | str = number(default=0.5, least=LEAST, words=("dimension",), paper=1.0)
    """Width of the activation. 1.0 is the paper. The wider, the more rules share a decision:
    "dimension" averages squared distances over the features instead of summing them, and nearly all
    rules take part."""

    activation: str = choice(default="density", allowed=("density", "distance"), paper="distance")
    """What a rule counts by when rules fire and win rows: its Gaussian density, or the distance to
    its center alone (the paper), by which a wide rule drowns a narrow one. Change it only to
    compare."""

    lipschitz: str = choice(default="exact", allowed=("exact", "paper"), paper="paper")
    """Step length of the proximal steps. "paper" diverges on most data; it is there to compare."""

    forgetting: float | str = number(
        default="auto", above=0.0, most=1.0, words=("auto",), paper=1.0
    )
    """What a row leaves of the rule that learns it. 1 remembers everything, .99 about the last
    hundred rows of a rule. "auto" lets every rule find out, from a second, brief memory; it costs
    up to twice the time of a row. Give a number to compare, or 1 for speed if nothing drifts."""

    prior: float | str = number(default="auto", least=LEAST, most=MOST, words=("auto",), paper=1.0)
    """Strength with which the planes of a rule are held to flat ones. "auto" picks it by
    cross-validation on the initial rows, and also whether rules are held to one plane for all rows
    instead. Give a number if these rows are few, or unlike the stream: larger for many features and
    few rows."""

    birth_width: float = number(default=0.2, least=LEAST, most=MOST, paper=0.1)
    """Variance of a new rule, as a share of range times standard deviation of each feature. Lower
    it if groups are narrow compared with the range."""

    variance_floor: float = number(default=0.1, least=0.0, most=MOST, paper=0.0)
    """Share of the birth variance that a rule never falls below. Raise it if old rules reject
    everything and births do not end."""

    merging: Any = flag(default=True, seam="merging")
    """Whether rules that have grown together become one. Switch it off to compare, or if rules must
    keep their identity. Or a criterion of one's own."""

    merge_overlap: float = number(default=0.8, above=0.0, most=1.0)
    """Least overlap of two rules that are merged. Lower it for fewer rules."""

    merge_volume: float | str = number(default=1.0, above=0.0, words=("paper",), paper="paper")
    """How much larger than both together a merged rule may be, per dimension of the bandwidth.
    "paper" is the printed test. Raise it for more merges."""

    merge_consequents: str = choice(default="exact", allowed=("exact", "paper"), paper="paper")
    """Planes of a merged rule: the least-squares solution on the data of both, or the printed
    average. Change it only to compare."""

    product_space: bool = flag(default=True)
    """Whether labels take part in forming rules. Switch it off if labels are many, or noisy."""

    splitting: Any = choice(
        default="labels", allowed=("labels", "axis", "off"), paper="off", seam="split"
    )
    """Where a rule that has grown too large is cut in two: across the direction in which its
    features tell most about its labels, across its longest axis, or not at all ("off", the paper).
    Unless it is off, a rule that has won less than a hundredth of the rows since its birth becomes
    part of the one that is most alike. Take "off" to compare, or if births alone should make rules.
    Or a direction of one's own."""

    split_share: float | str = number(default="auto", above=0.0, most=1.0, words=("auto",))
    """A rule that holds a larger share of all rows is split. Lower it for more rules. "auto" takes
    0.3, or 0.2 if the initial rows, cross-validated, are clearly better told by many rules than by
    one plane."""

    max_rules: int = whole(default=20, least=1)
    """Cap on the number of rules. At the cap a rule that has long won nothing is dropped; else the
    least used one becomes part of the one that is most alike, or is dropped if rules are not
    merged, and none is split; a single rule takes every row. Time and memory grow with it; raise it
    if rules are lost that you miss."""

    update: Any = choice(default="rls", allowed=("rls", "paper"), paper="paper", seam="update")
    """How planes learn a row: "rls" is recursive weighted least squares, by which all rules that
    fire learn every row; "paper" is the same, but for rows that a rule is born from, which the
    others do not learn. Or an update of one's own."""

    activation_floor: float = number(default=1e-4, least=0.0, below=1.0, paper=0.0)
    """Rules that fire less than this do not learn from a row. Raise it for speed; 0 lets all of
    them learn, and take a proximal step, with every row (the paper)."""

    # A rule that holds a value further off than the limit is all rounding.
    clip: float = number(default=6.0, above=0.0, most=1e6)
    """Features are standardised and clipped at this many deviations. Raise it if far values carry
    meaning."""

    scaling: str = choice(default="follow", allowed=("follow", "frozen"), paper="frozen")
    """What happens when the stream leaves the scale of the initial rows. "follow" gives features
    that are measured otherwise, in another unit for example, a new scale; what was learned stays.
    "frozen" changes nothing (the paper), and clips. Take it to compare, or to keep the units of the
    initial rows."""

    warmup_rows: int = whole(default=200, least=1)
    """Rows that ``partial_fit`` holds, when ``fit`` was not called: it fits to the first 50 of
    them, and once more to all. Raise it for a better scale and prior."""

    cases: int = whole(default=400, least=0, most=MOST_CASES, paper=0)
    """Rows that are remembered besides the rules. They learn what the rules get wrong near them and
    correct the answer of similar rows. 0 leaves the rules alone, which is easier to read and less
    accurate; raise it if rows are many and errors go on."""

    time: bool = flag(default=True, paper=False)
    """Whether scores are drawn towards the label frequencies as far as the model has been wrong to
    leave them, and whether errors and labels of the last known rows have a say in the next, once
    they have proved to tell something. It helps where rows are few and labels many, or where rows
    follow each other. Switch it off to compare."""

    relevance: Any = other('{"auto", "off"} or array of shape (p,)', default="auto", paper="off")
    """Over which features rules are formed: those that tell more of the labels than chance, found
    in the initial rows and looked for again along the stream ("auto"), all of them ("off", the
    paper), or those that are not 0 in an array of flags or weights."""

    projection: int | str | None = other('"auto", None or int >= 1', default="auto", paper=None)
    """Onto how many directions rows are projected before anything else: as many as given, none, or,
    with "auto", none up to 300 features, or 600 of which most values are not 0, else 32 more than
    there are labels, from 64 to 160. It keeps thousands of features, also sparse ones, in bounds.
    Give None to keep all, or more directions if many labels have features of their own."""

    stages: tuple[Any, ...] = other("tuple of stages", default=())
    """Stages of one's own that follow the others, each a function of the numbers of features and
    labels, or its registered name."""

    decision: str = choice(default="hamming", allowed=DECISIONS, paper="hamming")
    """What decisions are to be good at. "hamming" decides every label by itself, from a score of .5
    on. "f1" says rare labels too, each from the score on at which its F1 has been best. "subset"
    takes the set of labels that is most likely as a whole. Both cost single decisions; scores and
    probabilities stay the same."""


def read_relevance(value: Any) -> str | tuple[int, ...]:
    """Return a word, or 0 or 1 for each feature, or refuse what can be neither."""
    if isinstance(value, str) and value in ("auto", "off"):
        return value
    with suppress(TypeError, ValueError):
        flags = np.asarray(value, dtype=float)
        if flags.ndim == 1 and np.isfinite(flags).all() and flags.any():
            return tuple((flags != 0.0).astype(int).tolist())
    raise ValueError(
        'relevance must be "auto", "off", or one number for each feature, not all of them 0; '
        f"got {value!r}."
    )


def read_projection(value: Any) -> str | int | None:
    """Return how many directions there are to be, or refuse what says nothing of them."""
    if value is None or value == "none":  # as the command line says it
        return None
    if isinstance(value, str) and value == "auto":
        return value
    if isinstance(value, str | bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f'projection must be "auto", None or a whole number >= 1; got {value!r}.')
    return int(value)


class DivergenceWarning(RuntimeWarning):
    """A rule's consequents ran away under a printed formula; the guard stopped its steps."""


@dataclass(kw_only=True, unsafe_hash=True)
class Params(Parameters):
    """Values of all hyper-parameters; they are checked when an instance is made, and stay."""

    def __post_init__(self) -> None:
        check_parameters(self)
        good = isinstance(self.stages, tuple | list)
        if not good or not all(seams.is_known("stage", stage) for stage in self.stages):
            raise ValueError(f"stages must be a tuple of functions or names; got {self.stages!r}.")
        vars(self)["relevance"] = read_relevance(self.relevance)
        vars(self)["projection"] = read_projection(self.projection)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            raise AttributeError(f"{name} cannot be changed: make new parameters.")
        super().__setattr__(name, value)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the parameter names in order."""
        return tuple(facts_of(cls))

    def check_width(self, n_features: int) -> None:
        """Refuse parameters of another number of features."""
        given = self.relevance
        if not isinstance(given, str) and len(given) != n_features:
            raise ValueError(
                f"relevance must have one entry for each of {n_features} features; got "
                f"{len(given)}."
            )

    def merge_width(self, n_features: int, n_labels: int) -> float:
        """Return tau_q, the bandwidth of the space in which rules are compared: its dimension."""
        if self.merge_volume == "paper":
            return 1.0
        return float(n_features + n_labels) if self.product_space else float(n_features)

    def most_gap(self, n_features: int, n_labels: int) -> float:
        """Return how far apart, squared, centers of rules with the least overlap may be."""
        return -8.0 * self.merge_width(n_features, n_labels) * float(np.log(self.merge_overlap))

    def merge_log_volume(self, n_features: int, n_labels: int) -> float:
        """Return the logarithm of the allowed growth in volume of a merged rule."""
        if self.merge_volume == "paper":
            return math.log(n_features)
        return self.merge_width(n_features, n_labels) * math.log(float(self.merge_volume))

    @property
    def correlates(self) -> bool:
        """Whether planes of labels are drawn together or apart."""
        return self.correlation != "none" and self.beta > 0.0

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


def has_own_functions(params: Params) -> bool:
    """Tell whether functions from outside take part in learning."""
    named = {name: facts.seam for name, facts in facts_of(Params).items() if facts.seam}
    return bool(params.stages) or any(
        seams.is_known(kind, getattr(params, name)) for name, kind in named.items()
    )
