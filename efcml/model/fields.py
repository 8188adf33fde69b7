"""The one table of per-rule arrays.

Allocation, growth, removal, copying, saving and the documentation of the state all follow from
``FIELDS``. Sizes: ``p`` features, ``K`` labels, ``d = p + 1``, ``q = p + K``, ``g`` label groups (1
while every row so far was fully labelled, K afterwards), ``R`` rules (a table between rules), ``L``
planes: K, or K for each of several pairs (alpha, beta) that are carried along in one pass.

``W``, ``B``, ``D`` and ``W_prior`` are stored with one row per label, the transpose of how the
formulas are written: what a label learns is then contiguous, together with others or alone.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """One array of the state: its name, shape of one rule's share, type, fill value and meaning.

    Of a ``symmetric`` one the kernels keep the lower triangle alone (kernels/triangle.py).
    """

    name: str
    dims: tuple[str, ...]
    dtype: str
    fill: float
    symbol: str
    meaning: str
    symmetric: bool = False


ANTECEDENT = (
    Field("center", ("q",), "f8", 0.0, "c", "mean of the joint samples z = [x, y]"),
    Field("joint_precision", ("q", "q"), "f8", 0.0, "S^-1", "inverse covariance of z", True),
    Field(
        "input_precision", ("p", "p"), "f8", 0.0, "S_x^-1", "inverse marginal covariance of x", True
    ),
    Field("log_det", ("2",), "f8", 0.0, "log|S|", "log-determinants of both covariances"),
    Field("support", (), "f8", 0.0, "k", "samples won by the rule, capped by forgetting"),
    Field("updates", (), "i8", 0, "", "antecedent updates since birth; never capped"),
    Field("prior_share", (), "f8", 0.0, "s", "how much of S_0 is left in k S"),
    Field("tested", ("R",), "i8", 0, "", "samples both had when last tested for a merge"),
)

CONSEQUENT = (
    Field("P", ("g", "d", "d"), "f8", 0.0, "P", "inverse of G + Delta", True),
    Field("G", ("g", "d", "d"), "f8", 0.0, "G", "weighted Hessian R'QR, data only", True),
    Field("B", ("K", "d"), "f8", 0.0, "B'", "weighted information matrix Y'QR, data only"),
    Field("Delta", ("g", "d"), "f8", 0.0, "Delta", "prior precision of the consequents"),
    Field("W_prior", ("L", "d"), "f8", 0.0, "W_prior'", "consequents the rule was born with"),
    Field("W", ("L", "d"), "f8", 0.0, "W'", "consequents, one row per label, intercept last"),
    Field("D", ("L", "d"), "f8", 0.0, "D'", "gradient (G + Delta) W - (B + Delta W_prior)"),
    Field("weight", (), "f8", 0.0, "w", "sum of the activation over learned rows"),
    Field("use", (), "f8", 0.0, "", "the same sum, of which nothing is forgotten"),
    Field("label_weight", ("g", "K"), "f8", 0.0, "", "activation over rows where both are known"),
    Field("label_mean", ("g", "K"), "f8", 0.0, "y_bar", "weighted label means, per group"),
    Field("label_cov", ("K", "K"), "f8", 0.0, "", "weighted label co-moments"),
    Field("penalty", ("K", "K"), "f8", 0.0, "M", "correlation penalty, renewed as weight grows"),
    Field("penalty_top", (), "f8", 0.0, "", "largest eigenvalue of the penalty"),
    Field("penalty_slack", (), "f8", 0.0, "", "activation since the penalty was derived"),
    Field("uncorrected", (), "f8", 0.0, "", "activation since the last proximal steps"),
    Field("curvature", ("g",), "f8", 0.0, "U", "estimated bound of the eigenvalues of G + Delta"),
    Field("curvature_direction", ("g", "d"), "f8", 0.0, "", "vector of the power iteration"),
    Field("unchecked", ("g",), "i8", 0, "", "updates of P since it was last checked"),
    Field("stale", (), "i8", 0, "", "1: P is to be derived anew from G + Delta"),
    Field("stopped", (), "i8", 0, "", "row + 1 at which the divergence guard stopped it, or 0"),
)

IDENTITY = (
    Field("uid", (), "i8", -1, "", "identity that survives the removal of other rules"),
    Field("born", (), "i8", 0, "", "row of birth"),
)

FIELDS = ANTECEDENT + CONSEQUENT + IDENTITY


def markdown_table(fields=FIELDS, shape="shape per rule"):
    """Return the state as a markdown table, for the documentation."""
    lines = [f"| array | {shape} | symbol | meaning |", "|---|---|---|---|"]
    for field in fields:
        shape = " x ".join(field.dims) or "1"
        lines.append(f"| `{field.name}` | {shape} | {field.symbol} | {field.meaning} |")
    return "\n".join(lines)
