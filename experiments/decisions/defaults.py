"""The search behind the defaults: ``python experiments/decisions/defaults.py``.

Inside the initial parts only (`inside.py`), in four stages. First around one center, one parameter
at a time and the pairs that interact, in four orders. Then the candidates that were close to each
other, with the merge volume that lets equal rules merge, in ten orders. Then the best of those with
three quarters of the initial part fitted instead of half. Last the activation by density against
the distance alone, with vigilance, width and clipping around it, with both starts. The runs are
recorded in ``experiments/results/decisions/defaults-1.jsonl`` to ``-5``; a second call only adds
what is missing. Every setting is written out in full, so the record does not depend on today's
defaults.
"""

from pathlib import Path

from inside import MORE_ORDERS, print_table, run_all

RESULTS = Path(__file__).parents[1] / "results" / "decisions"

CENTER = dict(
    activation="distance",
    vigilance=0.6,
    birth_width=0.15,
    variance_floor=0.1,
    max_rules=40,
    merge_volume=0.9,
    alpha=0.0,
    beta=0.0,
)

SETTINGS = {
    "center": {},
    "vigilance .5": {"vigilance": 0.5},
    "vigilance .7": {"vigilance": 0.7},
    "vigilance .9": {"vigilance": 0.9},
    "width .1": {"birth_width": 0.1},
    "width .2": {"birth_width": 0.2},
    "width .3": {"birth_width": 0.3},
    "vigilance .7, width .1": {"vigilance": 0.7, "birth_width": 0.1},
    "vigilance .5, width .2": {"vigilance": 0.5, "birth_width": 0.2},
    "floor .03": {"variance_floor": 0.03},
    "floor .3": {"variance_floor": 0.3},
    "20 rules": {"max_rules": 20},
    "60 rules": {"max_rules": 60},
    "volume .8": {"merge_volume": 0.8},
    "volume 1": {"merge_volume": 1.0},
    "alpha .01": {"alpha": 0.01},
    "beta .1": {"beta": 0.1},
    "alpha .01, beta .1": {"alpha": 0.01, "beta": 0.1},
}

FINAL = CENTER | dict(vigilance=0.5, birth_width=0.2, merge_volume=1.0, beta=0.1)
FINALISTS = {
    "vigilance 0.5, width 0.15": FINAL | {"birth_width": 0.15},
    "vigilance 0.5, width 0.2": FINAL,
    "vigilance 0.6, width 0.15": FINAL | {"vigilance": 0.6, "birth_width": 0.15},
    "vigilance 0.4, width 0.15": FINAL | {"vigilance": 0.4, "birth_width": 0.15},
    "25 rules": FINAL | {"max_rules": 25},
    "30 rules": FINAL | {"max_rules": 30},
}

# Closer to how the learner is used: three quarters fitted, so that rules have more samples.
LARGER_START = {
    "30 rules": FINAL | {"max_rules": 30},
    "40 rules": FINAL | {"max_rules": 40},
    "30 rules, width 0.15": FINAL | {"max_rules": 30, "birth_width": 0.15},
    "40 rules, width 0.15": FINAL | {"max_rules": 40, "birth_width": 0.15},
    "40 rules, vigilance 0.6": FINAL | {"max_rules": 40, "vigilance": 0.6},
    "40 rules, vigilance 0.6, width 0.15": FINAL
    | {"max_rules": 40, "vigilance": 0.6, "birth_width": 0.15},
}

DENSITY = FINAL | {"activation": "density", "max_rules": 30}
AROUND_DENSITY = {
    "distance": DENSITY | {"activation": "distance"},
    "density": DENSITY,
    "density, vigilance 0.4": DENSITY | {"vigilance": 0.4},
    "density, vigilance 0.6": DENSITY | {"vigilance": 0.6},
    "density, vigilance 0.7": DENSITY | {"vigilance": 0.7},
    "density, width 0.15": DENSITY | {"birth_width": 0.15},
    "density, vigilance 0.6, width 0.25": DENSITY | {"vigilance": 0.6, "birth_width": 0.25},
    "density, vigilance 0.6, 40 rules": DENSITY | {"vigilance": 0.6, "max_rules": 40},
    "density, vigilance 0.6, clip 4": DENSITY | {"vigilance": 0.6, "clip": 4.0},
    "density, vigilance 0.6, clip 3": DENSITY | {"vigilance": 0.6, "clip": 3.0},
    "density, vigilance 0.6, clip 2": DENSITY | {"vigilance": 0.6, "clip": 2.0},
}
SMALL_START = {
    "density": DENSITY,
    "density, vigilance 0.6": DENSITY | {"vigilance": 0.6},
    "density, clip 4": DENSITY | {"clip": 4.0},
    "density, clip 5": DENSITY | {"clip": 5.0},
    "density, vigilance 0.6, clip 4": DENSITY | {"vigilance": 0.6, "clip": 4.0},
}

if __name__ == "__main__":
    settings = {name: CENTER | changes for name, changes in SETTINGS.items()}
    print_table(run_all(settings, RESULTS / "defaults-1.jsonl"), settings)
    records = run_all(FINALISTS, RESULTS / "defaults-2.jsonl", orders=MORE_ORDERS)
    print_table(records, FINALISTS)
    records = run_all(LARGER_START, RESULTS / "defaults-3.jsonl", orders=MORE_ORDERS, share=0.75)
    print_table(records, LARGER_START)
    records = run_all(AROUND_DENSITY, RESULTS / "defaults-4.jsonl", orders=MORE_ORDERS, share=0.75)
    print_table(records, AROUND_DENSITY)
    records = run_all(SMALL_START, RESULTS / "defaults-5.jsonl", orders=MORE_ORDERS)
    print_table(records, SMALL_START)
