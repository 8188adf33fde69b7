"""Which rules have grown too large, and which have stayed too small (how_it_works.md 3, "Split").

Counted by ``updates``, because forgetting caps the support; the birth sample counts too.
"""

from efcml._jit import kernel

LEAST_TO_SPLIT = 40  # rows: half of them for each part
TRIAL = 100  # rows after its birth in which a rule may gather some of its own


@kernel
def is_too_large(rule, n_rules, rules, settings):
    """Tell whether a rule holds so large a share of all rows that it is to be split."""
    own = rules.updates[rule] + 1
    if not settings.splits or own < LEAST_TO_SPLIT or n_rules >= settings.max_rules:
        return False
    total = 0
    for r in range(n_rules):
        total += rules.updates[r] + 1
    return own > settings.split_share * total


@kernel
def find_idle(row_number, n_rules, rules, settings):
    """Return the first rule that has won too few of the rows since its birth, or -1."""
    if n_rules == 1 or settings.least_share == 0.0:
        return -1
    for r in range(n_rules):
        age = row_number - rules.born[r]
        if age >= TRIAL and rules.updates[r] + 1 < settings.least_share * age:
            return r
    return -1
