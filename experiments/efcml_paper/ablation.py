"""What is taken away or changed, one thing at a time, and the pairs that may act together."""

from efcml.datasets import CATALOG
from efcml_paper.scale import DRIFTING

BASE = "default"


def changes(p):
    """Return the parameters of every line, by its name; ``p`` is the number of features."""
    from efcml import EFCMLClassifier

    own = EFCMLClassifier().get_params()
    printed = EFCMLClassifier.paper().get_params()
    return {
        BASE: {},
        "no correlation": {"correlation": "none"},
        "laplacian": {"correlation": "laplacian"},
        "signed": {"correlation": "signed"},
        "correlation x 10": {"beta": 10 * own["beta"]},
        "bandwidth 1 (paper)": {"bandwidth": 1.0},
        "bandwidth p/2": {"bandwidth": p / 2},
        "bandwidth 2p": {"bandwidth": 2.0 * p},
        "L1 .01": {"alpha": 0.01},
        "L1 .1": {"alpha": 0.1},
        "no merging": {"merging": False},
        "input space": {"product_space": False},
        "no splitting": {"splitting": "off"},
        "nothing forgotten": {"forgetting": 1.0},
        "forgetting .999": {"forgetting": 0.999},
        "forgetting .995": {"forgetting": 0.995},
        "prior 1": {"prior": 1.0},
        "prior 10": {"prior": 10.0},
        "prior 100": {"prior": 100.0},
        "distance (paper)": {"activation": "distance"},
        "no variance floor": {"variance_floor": 0.0},
        "one rule": {"max_rules": 1},
        "10 rules": {"max_rules": 10},
        "vigilance .5, 40 rules": {"vigilance": 0.5, "max_rules": 40},
        "no cases": {"cases": 0},
        "200 cases": {"cases": 200},
        "no time": {"time": False},
        "scale frozen": {"scaling": "frozen"},
        "all as printed": {key: printed[key] for key in printed if printed[key] != own[key]},
    }


PAIRS = (
    "no cases + forgetting .995",
    "no correlation + bandwidth 1 (paper)",
    "correlation x 10 + bandwidth 1 (paper)",
    "no correlation + bandwidth 2p",
    "correlation x 10 + bandwidth 2p",
    "L1 .01 + prior 1",
    "L1 .1 + prior 1",
    "no merging + input space",
    "no cases + no correlation",
    "no cases + bandwidth 1 (paper)",
    "no cases + one rule",
)
DRIFT_LINES = (
    BASE,
    "nothing forgotten",
    "forgetting .999",
    "forgetting .995",
    "no cases",
    "no cases + forgetting .995",
)


def settings_of(name):
    """Return the parameters of every line on a set, those of pairs too."""
    # No line of the drifting stream needs the number of its features.
    single = changes(0 if name == DRIFTING else CATALOG[name].p)
    pairs = {pair: pair.split(" + ") for pair in PAIRS}
    return single | {pair: single[a] | single[b] for pair, (a, b) in pairs.items()}
