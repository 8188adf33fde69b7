"""Parameters of the learner: names, defaults, allowed ranges, and what kernels make of them."""

import math
from dataclasses import dataclass, fields
from numbers import Integral, Real

import numpy as np

from efcml.kernels import constants
from efcml.model.arguments import Settings

CORRELATIONS = {
    "shift": constants.SHIFT,
    "laplacian": constants.LAPLACIAN,
    "signed": constants.SIGNED,
    "paper": constants.RAW,
    "none": constants.NONE,
}
MOST_CASES = 2000  # time and memory grow with the square
LEAST, MOST = 1e-9, 1e9  # of numbers that, far beyond, would leave rounding errors alone
LEAST_CASE_NOISE = 1e-4  # below, rounding outweighs what long streams leave open


@dataclass(frozen=True)
class Params:
    """Hyper-parameters of EFC-ML; every value is checked when an instance is made.

    The estimator's documentation says what each one does and when to change it.
    """

    vigilance: float = 0.7
    alpha: float = 0.0
    beta: float = 0.1
    correlation: str = "shift"
    bandwidth: float | str = "dimension"
    activation: str = "density"
    lipschitz: str = "exact"
    n_steps: int = 1
    step_interval: float = 1.0
    forgetting: float = 1.0
    prior: float | str = "auto"
    birth_width: float = 0.2
    variance_floor: float = 0.1
    merging: bool = True
    merge_overlap: float = 0.8
    merge_volume: float | str = 1.0
    merge_consequents: str = "exact"
    product_space: bool = True
    max_rules: int = 20
    activation_floor: float = 1e-4
    clip: float = 6.0
    warmup_rows: int = 200
    birth_learning: bool = True
    birth_plane: str = "nearest"
    cases: int = 400
    case_width: float = 0.25
    case_noise: float = 1.0
    weight_limit: float = 1e6

    def __post_init__(self):
        check_number("vigilance", self.vigilance, above=0.0)
        check_number("alpha", self.alpha, least=0.0, most=MOST)
        check_number("beta", self.beta, least=0.0, most=MOST)
        check_choice("correlation", self.correlation, CORRELATIONS)
        check_number("bandwidth", self.bandwidth, least=LEAST, words=("dimension",))
        check_choice("activation", self.activation, ("density", "distance"))
        check_choice("lipschitz", self.lipschitz, ("exact", "paper"))
        check_whole("n_steps", self.n_steps, least=1)
        check_number("step_interval", self.step_interval, least=0.0)
        check_number("forgetting", self.forgetting, above=0.0, most=1.0)
        check_number("prior", self.prior, least=LEAST, most=MOST, words=("auto",))
        check_number("birth_width", self.birth_width, least=LEAST, most=MOST)
        check_number("variance_floor", self.variance_floor, least=0.0, most=MOST)
        check_flag("merging", self.merging)
        check_number("merge_overlap", self.merge_overlap, above=0.0, most=1.0)
        check_number("merge_volume", self.merge_volume, above=0.0, words=("paper",))
        check_choice("merge_consequents", self.merge_consequents, ("exact", "paper"))
        check_flag("product_space", self.product_space)
        check_whole("max_rules", self.max_rules, least=1)
        check_number("activation_floor", self.activation_floor, least=0.0, below=1.0)
        check_number("clip", self.clip, above=0.0, most=MOST)
        check_whole("warmup_rows", self.warmup_rows, least=1)
        check_flag("birth_learning", self.birth_learning)
        check_choice("birth_plane", self.birth_plane, ("nearest", "blend"))
        check_whole("cases", self.cases, least=0, most=MOST_CASES)
        check_number("case_width", self.case_width, least=LEAST)
        check_number("case_noise", self.case_noise, least=LEAST_CASE_NOISE)
        check_number("weight_limit", self.weight_limit, above=0.0, infinite=True)

    def check_together(self):
        """Refuse values that are good alone and harm together on real streams."""
        if self.forgetting < 1.0 and self.variance_floor < LEAST:
            raise ValueError(
                f"forgetting < 1 needs variance_floor >= {LEAST:g} (got {self.variance_floor:g}): "
                "a feature that rests would lose its variance."
            )

    @classmethod
    def names(cls):
        """Return the parameter names in order."""
        return tuple(field.name for field in fields(cls))

    def input_bandwidth(self, n_features):
        """Return tau for the input space."""
        return float(n_features) if self.bandwidth == "dimension" else float(self.bandwidth)

    def merge_width(self, n_features, n_labels):
        """Return tau_q, the bandwidth of the space in which rules are compared."""
        if self.merge_volume == "paper":
            return 1.0
        width = self.input_bandwidth(n_features)
        return width * (n_features + n_labels) / n_features if self.product_space else width

    def merge_log_volume(self, n_features, n_labels):
        """Return the logarithm of the allowed growth in volume of a merged rule."""
        if self.merge_volume == "paper":
            return math.log(n_features)
        return self.merge_width(n_features, n_labels) * math.log(self.merge_volume)

    def settings(self, n_features, n_labels, prior_slope, pairs=None):
        """Return the numbers that the kernels need.

        ``pairs`` are the values of (alpha, beta) to carry along at once, if not the own ones.
        """
        alpha, beta = np.array(pairs or [(self.alpha, self.beta)], dtype=float).T.copy()
        return Settings(
            # A single rule takes every row: whatever replaced it would know nothing yet.
            vigilance=np.inf if self.max_rules == 1 else float(self.vigilance),
            bandwidth=self.input_bandwidth(n_features),
            density=self.activation == "density",
            joint_bandwidth=self.merge_width(n_features, n_labels),
            forgetting=float(self.forgetting),
            max_support=self.max_support,
            activation_floor=float(self.activation_floor),
            variance_floor=float(self.variance_floor),
            product_space=bool(self.product_space),
            alpha=alpha,
            beta=beta,
            corrects=self.correlation != "none" and bool(alpha.any() or beta.any()),
            correlation=CORRELATIONS[self.correlation],
            exact_length=self.lipschitz == "exact",
            n_steps=int(self.n_steps),
            step_interval=float(self.step_interval),
            weight_limit=float(self.weight_limit),
            birth_learning=bool(self.birth_learning),
            merging=bool(self.merging),
            merge_overlap=float(self.merge_overlap),
            prior_slope=float(prior_slope),
        )

    @property
    def max_support(self):
        """The cap of a rule's support that forgetting implies."""
        return math.inf if self.forgetting == 1.0 else 1.0 / (1.0 - self.forgetting)


def check_number(name, value, *, above=None, least=None, below=None, most=None, words=(),
                 infinite=False):  # fmt: skip
    """Refuse a value that is not a number in the range, naming parameter and range."""
    if isinstance(value, str) and value in words:
        return
    good = isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)
    good = good and (infinite or not math.isinf(value))
    good = good and (above is None or value > above) and (least is None or value >= least)
    good = good and (below is None or value < below) and (most is None or value <= most)
    if good:
        return
    limits = [("> ", above), (">= ", least), ("< ", below), ("<= ", most)]
    wanted = " and ".join(f"{sign}{limit:g}" for sign, limit in limits if limit is not None)
    options = "".join(f"{word!r} or " for word in words)
    raise ValueError(f"{name} must be {options}a number {wanted}; got {value!r}.")


def check_whole(name, value, *, least, most=None):
    """Refuse a value that is not a whole number of at least ``least``, and at most ``most``."""
    good = isinstance(value, Integral) and not isinstance(value, bool) and value >= least
    if not good or (most is not None and value > most):
        allowed = f">= {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {allowed}; got {value!r}.")


def check_flag(name, value):
    """Refuse a value that is neither true nor false."""
    if value not in (True, False):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_choice(name, value, allowed):
    """Refuse a value that is not one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
