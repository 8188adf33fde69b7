"""What kernels are given, made from plain arrays."""

import numpy as np

from efcml.model.rulebase import RuleBase
from efcml.model.steering import settings_of
from helpers.streams import make_params


def rules_with(p, K, n_rules=1, *, n_groups=1, n_pairs=1, **fields):
    """A rule base of which some arrays are given, one entry for each rule."""
    sizes = {"n_groups": n_groups, "n_pairs": n_pairs}
    rules = RuleBase(p, K, capacity=n_rules, **sizes)
    for _ in range(n_rules):
        rules.append()
    for name, values in fields.items():
        getattr(rules.arrays, name)[:] = values
    return rules


def settings_with(p, K, changes=None, **values):
    """Settings of the parameters of all tests, with ``changes``; ``values`` replace entries."""
    params = make_params(**(changes or {}))
    return settings_of(params, p, K, float(params.prior), params.split_share).replace(**values)


def set_row(rules, row, weights, keeps, known):
    """Write a row r = [x, 1] into the scratch arrays, with what each rule learns from it."""
    scratch, n = rules.scratch, rules.n_rules
    scratch.row[:], scratch.known[:] = row, known
    scratch.weights[:n], scratch.keeps[:n] = weights, keeps
    scratch.heights[:n] = np.einsum("rci,i->rc", rules.arrays.W[:n], row)
