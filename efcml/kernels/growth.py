"""Which rules have grown too large, and which have stayed too small (how_it_works.md 3, "Split").

Counted by ``updates``, because forgetting caps the support; the birth sample counts too. Rules that
have fallen silent, because rows no longer come where they are, hold no share of the rows of now.
"""

from efcml._jit import kernel, kernel_part

LEAST_TO_SPLIT = 40  # rows: half of them for each part
TRIAL = 100  # rows after its birth in which a rule may gather some of its own
SILENCE = 10.0  # rows in turn that a rule of the least share would have won; with none it is silent


@kernel_part
def is_silent(rule, row_number, rules, settings):
    """Tell whether a rule has won nothing for so long that rows no longer come where it is."""
    return settings.least_share * (row_number - rules.last_won[rule]) > SILENCE


@kernel
def find_silent(row_number, n_rules, rules, settings):
    """Return the rule that has been silent for longest, or -1."""
    found = -1
    for r in range(n_rules):
        if is_silent(r, row_number, rules, settings):
            if found < 0 or rules.last_won[r] < rules.last_won[found]:
                found = r
    return found


@kernel
def count_rows_in_use(row_number, n_rules, rules, settings):
    """Return how many rows the rules hold that are not silent."""
    total = 0
    for r in range(n_rules):
        if not is_silent(r, row_number, rules, settings):
            total += rules.updates[r] + 1
    return total


@kernel
def is_too_large(rule, row_number, n_rules, rules, settings):
    """Tell whether a rule holds so large a share of all rows that it is to be split.

    There must be room, or a silent rule that can make some.
    """
    own = rules.updates[rule] + 1
    if not settings.splits or own < LEAST_TO_SPLIT:
        return False
    if own <= settings.split_share * count_rows_in_use(row_number, n_rules, rules, settings):
        return False
    return n_rules < settings.max_rules or find_silent(row_number, n_rules, rules, settings) >= 0


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
