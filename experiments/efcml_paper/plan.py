"""Which lines every experiment has: runs by data set and name."""

from itertools import product

from efcml_paper.ablation import DRIFT_LINES, settings_of
from efcml_paper.runs import Asking, Line, make_run
from efcml_paper.scale import DRIFTING, FULL, LARGE, RULE_COUNT_SETS, SETS, WIDE_SETS

NAMES = {
    "efcml": "EFC-ML",
    "ovr": "one-versus-rest",
    "chain": "chain",
    "static": "static",
    "rules": "rules alone",
    "rfwls": "least squares only",
}
COMPARED = ("efcml", "rules", "ovr", "chain", "static", "rfwls")
RIVALS = ("ovr", "chain")  # a rule base for each label
WITH_CASES = (*RIVALS, "static", "rfwls")  # by default, as EFC-ML has
BUDGETS = (0.1, 0.2, 0.3)
UNITS = ("labels", "samples")
CRITERIA = ("novelty", "ambiguity", "instability")

DEFAULT, SMALL = ", default", ", small start"  # what follows a line's name
STARTS = {"published split": "", "small start": SMALL}  # in words
BOTH = (("published", ""), ("small", SMALL))  # in runs


class Plan:
    """The lines of all experiments, as far as tuned parameters are known.

    Parameters
    ----------
    scale : Scale
    choices : dict
        What tuning found, by set.
    records : Records
    cases : bool
        False makes every line of rules alone, without remembered cases, as in the paper. Tuned
        parameters are those that were chosen with cases; there are fewer orders.
    """

    def __init__(self, scale, choices, records, *, cases=True):
        self.scale, self.choices, self.records, self.cases = scale, choices, records, cases

    def rules_alone(self):
        """Return the same plan without cases."""
        return Plan(self.scale, self.choices, self.records, cases=False)

    def sets(self, experiment):
        """Return the data sets of an experiment."""
        return self.scale.speed_sets if experiment == "speed" else EXPERIMENTS[experiment][0]

    def lines(self, experiment):
        """Return ``{data set: {name: Line}}`` of an experiment."""
        make = EXPERIMENTS[experiment][1]
        return {name: make(self, name, experiment) for name in self.sets(experiment)}

    def runs(self, experiment):
        """Return all runs of an experiment."""
        lines = self.lines(experiment).values()
        return [run for named in lines for line in named.values() for run in line.runs]

    def line(self, name, model="efcml", orders=(0,), **options):
        """Return a line, of rules alone if this plan is."""
        if not self.cases:
            orders = tuple(order for order in orders if order in self.scale.alone_orders)
            options |= {"cases": 0} if model in WITH_CASES else {}
            model = "rules" if model == "efcml" else model
        return Line(make_run(name, model, **options), orders)

    # -- parameters that were chosen ---------------------------------------------------------

    def searches(self, experiment):
        """Return the runs that choose parameters of rivals for an experiment."""
        sets = self.sets(experiment) if EXPERIMENTS[experiment][1] is compared else ()
        pairs = product(sets, RIVALS)
        return [run for name, model in pairs for run in self.rival_searches(name, model)]

    def rival_searches(self, name, model):
        """Return the runs inside the initial part by which a rival's parameters are chosen."""
        scale, runs = self.scale, []
        wide = name in WIDE_SETS
        vigilances = scale.wide_rival_vigilances if wide else scale.rival_vigilances
        for vigilance, alpha in product(vigilances, scale.rival_alphas):
            # L1 needs a correlation, which least squares alone do not have.
            sparse = {"alpha": alpha, "correlation": "shift"} if alpha > 0.0 else {}
            own = scale.rival_parameters | {"vigilance": vigilance} | sparse
            runs.append(make_run(name, model, limits=scale.limits, start="inside", **own))
        return runs

    def tuned(self, name, model):
        """Return the tuned parameters of a model on a set, or None if they are not chosen yet.

        Of a rival those with the highest PA; AP breaks ties.
        """
        if model in RIVALS:
            found = [(self.records.of(run), run) for run in self.rival_searches(name, model)]
            if not all(record for record, _ in found):
                return None
            best = max(found, key=lambda pair: (pair[0]["pa"], pair[0]["ap"]))
            return dict(best[1].parameters)
        if name not in self.choices:
            return None
        left_out = ("alpha", "beta") if model == "rfwls" else ()
        chosen = self.choices[name]["parameters"]
        return {key: chosen[key] for key in chosen if key not in left_out}


# -- the lines of an experiment on one set --------------------------------------------------


def compared(plan, name, experiment):
    """Return all models, tuned and with defaults."""
    return default_and_tuned(plan, name, COMPARED, plan.scale.orders, plan.scale.limits)


def default_and_tuned(plan, name, models, orders, limits):
    """Return lines of models with default parameters, and with chosen ones if there are any."""
    lines = {}
    for model in models:
        own, first = (plan.scale.rival_parameters, (0,)) if model in RIVALS else ({}, orders)
        lines[NAMES[model] + DEFAULT] = plan.line(name, model, first, limits=limits, **own)
        tuned = plan.tuned(name, model)
        if tuned is not None:
            lines[NAMES[model]] = plan.line(name, model, orders, limits=limits, **tuned)
    return lines


def large(plan, name, experiment):
    """Return the same on mediamill, where rivals are not tuned."""
    limits, ours = plan.scale.large_limits, ("efcml", "rules", "rfwls", "static")
    lines = default_and_tuned(plan, name, ours, (0,), limits)
    own = {"limits": limits} | plan.scale.large_rival_parameters
    return lines | {NAMES[model]: plan.line(name, model, **own) for model in RIVALS}


def asked(plan, name, experiment):
    """Return full update, static, and every budget, active and random, from both starts.

    Mediamill has the published split alone.
    """
    scale, unit = plan.scale, "labels" if experiment == "al-labels" else "samples"
    limits, orders, starts = scale.limits, scale.more_orders, BOTH
    if name == LARGE:
        limits, orders, starts = scale.large_limits, (0,), BOTH[:1]
    ways = {"full update": ("efcml", None), "static": ("static", None)}
    for budget in BUDGETS:
        ways[f"active {budget:.0%}"] = "efcml", Asking(budget, unit, CRITERIA)
        ways[f"random {budget:.0%}"] = "efcml", Asking(budget, unit, ("random",))
    lines = {}
    for (start, suffix), (key, (model, asking)) in product(starts, ways.items()):
        own = {"limits": limits, "start": start, "asking": asking}
        lines[key + suffix] = plan.line(name, model, orders, **own)
    return lines


def criteria(plan, name, experiment):
    """Return a budget of 10 % with and without the third criterion."""
    scale, lines = plan.scale, {}
    ways = (("without", CRITERIA[:2]), ("with", CRITERIA))
    for unit, (start, suffix), (words, some) in product(UNITS, BOTH, ways):
        own = {"start": start, "asking": Asking(BUDGETS[0], unit, some)}
        line = plan.line(name, "efcml", scale.more_orders, limits=scale.limits, **own)
        lines[f"{words} instability, {unit}{suffix}"] = line
    return lines


def timed(plan, name, experiment):
    """Return the models whose times the paper prints."""
    scale = plan.scale
    limits = scale.large_speed_limits if name == LARGE else scale.speed_limits
    own = {"limits": limits, "alone": True} | scale.speed_parameters
    return {NAMES[model]: plan.line(name, model, **own) for model in ("efcml", *RIVALS)}


def ablation(plan, name, experiment):
    """Return one change at a time and some pairs; forgetting alone on the drifting stream."""
    settings, scale = settings_of(name), plan.scale
    return {
        key: Line(make_run(name, limits=scale.limits, **settings[key]), scale.more_orders)
        for key in (DRIFT_LINES if name == DRIFTING else settings)
    }


EXPERIMENTS = {  # sets and lines, cheap ones first
    "al-samples": (SETS, asked),
    "al-labels": (SETS, asked),
    "al-instability": (SETS, criteria),
    "ablation": ((*SETS, DRIFTING), ablation),
    "rule-counts": (RULE_COUNT_SETS, compared),
    "pa-trends": (SETS, compared),
    "ap-trends": (SETS, compared),
    "speed": ((*SETS, LARGE), timed),
    "al-mediamill": ((LARGE,), asked),
    "mediamill": ((LARGE,), large),
}
IDS = tuple(EXPERIMENTS)
LARGE_IDS = ("mediamill", "al-mediamill")  # left out of `all --quick`


def choose_ids(wanted, scale):
    """Return the experiments that a word stands for, cheap ones first.

    Examples
    --------
    >>> from efcml_paper.scale import QUICK
    >>> "mediamill" in choose_ids("all", QUICK), choose_ids("speed", QUICK)
    (False, ('speed',))
    """
    if wanted == "all":
        return tuple(name for name in IDS if scale is FULL or name not in LARGE_IDS)
    if wanted not in IDS:
        raise ValueError(
            f"there is no experiment {wanted!r}: choose all or one of {', '.join(IDS)}."
        )
    return (wanted,)
