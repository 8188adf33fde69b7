"""How much is run: everything, or the same pictures on cut streams.

What was cut for want of time is named here and nowhere else, with the reason.
"""

from dataclasses import dataclass, field

from efcml.tuning import PAPER_GRID

SETS = ("birds", "emotions", "water-quality", "yeast")  # in the order of the paper's figures
WIDE_SETS = ("birds", "yeast")  # those of the small sets with more than a hundred features
RULE_COUNT_SETS = ("emotions", "water-quality")
LARGE = "mediamill"
DRIFTING = "drifting-clusters"
Limits = tuple[int | None, int | None]  # rows of the initial part and of the stream


@dataclass(frozen=True)
class Scale:
    """Numbers of rows and orders, and what is searched: everything, unless something is cut."""

    orders: tuple[int, ...] = tuple(range(11))  # 0 is that of the file
    more_orders: tuple[int, ...] = tuple(range(11))  # of budgets and of the ablation
    # Rules alone are run for the verdicts only. All orders would take as long as all with cases.
    alone_orders: tuple[int, ...] = (0, 1, 2)
    judged: bool = True  # whether there are verdicts: not on cut streams
    limits: Limits = (None, None)
    grid: dict = field(default_factory=lambda: PAPER_GRID)
    folds: int = 5
    # One-versus-rest and the chain: all labels share one setting, chosen on one split of the
    # initial part. Their full grid in five folds would take days.
    rival_vigilances: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)
    # Lower ones make a rule of nearly every row, and a pair of rules is merged for each: with a
    # hundred features and more, one fit of all labels takes up to ten minutes.
    wide_rival_vigilances: tuple[float, ...] = (0.5, 0.7, 0.9)
    rival_alphas: tuple[float, ...] = (0.0, 0.05)
    rival_parameters: dict = field(default_factory=dict)
    # Mediamill: the full grid on 30993 rows would take days.
    large_grid: dict = field(
        default_factory=lambda: {
            "vigilance": [0.3, 0.5, 0.7],
            "alpha": [0.0, 0.01, 0.1],
            "beta": [0.0, 0.1, 1.0, 10.0],
        }
    )
    large_grid_rows: int = 2000
    large_limits: Limits = (None, None)
    # 101 labels with a rule base each, most of which need one or two rules. In the chain, labels
    # are features, and rare ones would look new again and again: with 20 rules it takes days.
    large_rival_parameters: dict = field(default_factory=lambda: {"max_rules": 3})
    # Times per update depend on the number of rules, not on how many rows were fitted, nor on the
    # strength of the prior, whose choice for every label takes longest.
    speed_sets: tuple[str, ...] = (*SETS, LARGE)
    speed_parameters: dict = field(default_factory=lambda: {"prior": 10.0})
    speed_limits: Limits = (None, None)
    large_speed_limits: Limits = (600, 100)


FULL = Scale()
QUICK = Scale(
    orders=(0, 1),
    more_orders=(0,),
    judged=False,
    limits=(80, 60),
    grid={"vigilance": [0.3, 0.6], "alpha": [0.0, 0.05], "beta": [0.0, 0.1, 1.0]},
    folds=2,
    rival_vigilances=(0.3, 0.6),
    wide_rival_vigilances=(0.3, 0.6),
    rival_alphas=(0.0,),
    rival_parameters={"max_rules": 3, "prior": 10.0},  # its choice for every label takes longest
    large_grid={"vigilance": [0.5], "alpha": [0.0, 0.05], "beta": [0.0, 0.1]},
    large_grid_rows=100,
    large_limits=(200, 100),
    speed_sets=SETS,
    speed_limits=(80, 20),
)
