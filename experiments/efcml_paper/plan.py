"""Which lines every experiment has: runs by data set and name."""

from efcml_paper.ablation import ablation_lines
from efcml_paper.runs import Asking, Line, make_run
from efcml_paper.scale import DRIFTING, FULL, LARGE, RULE_COUNT_SETS, SETS
from efcml_paper.tuned import RIVALS, rival_searches, tuned_parameters

NAMES = {
    "efcml": "EFC-ML",
    "ovr": "one-versus-rest",
    "chain": "chain",
    "static": "static",
    "rules": "rules alone",
    "rfwls": "least squares only",
    "rls": "one global plane",
    "frequencies": "label frequencies",
}
COMPARED = ("efcml", "rules", "ovr", "chain", "static", "rfwls")
WITH_CASES = ("ovr", "chain", "static", "rfwls")  # by default, as EFC-ML has
BUDGETS = (0.1, 0.2, 0.3)
UNITS = ("labels", "samples")
TWO_CRITERIA = ("novelty", "ambiguity")
ALL_CRITERIA = (*TWO_CRITERIA, "instability")
SPEED_MODELS = ("efcml", "ovr", "chain")

DEFAULT, SMALL = ", default", ", small start"  # what follows a line's name
STARTS = {"published split": "", "small start": SMALL}  # in words


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

    def lines(self, experiment):
        """Return ``{data set: {name: Line}}`` of an experiment."""
        return getattr(self, "_" + experiment.replace("-", "_"))()

    def runs(self, experiment):
        """Return all runs of an experiment."""
        lines = self.lines(experiment).values()
        return [run for named in lines for line in named.values() for run in line.runs]

    def searches(self, experiment):
        """Return the runs that choose parameters of rivals for an experiment."""
        if experiment not in TUNED_EXPERIMENTS:
            return []
        sets = SETS_OF[experiment]
        return [
            run
            for name in sets
            for model in RIVALS
            for run in rival_searches(name, model, self.scale)
        ]

    def _run(self, name, model="efcml", **options):
        """Return a run, of rules alone if this plan is."""
        if not self.cases and model == "efcml":
            model = "rules"
        elif not self.cases and model in WITH_CASES:
            options["cases"] = 0
        return make_run(name, model, **options)

    def _orders(self, orders):
        return orders if self.cases else self.scale.alone_orders

    # -- one method each --------------------------------------------------------------------

    def _pa_trends(self):
        return {name: self._compared(name) for name in SETS}

    _ap_trends = _pa_trends

    def _rule_counts(self):
        return {name: self._compared(name) for name in RULE_COUNT_SETS}

    def _compared(self, name):
        scale = self.scale
        lines = {}
        for model in COMPARED:
            own = scale.rival_parameters if model in RIVALS else {}
            orders = (0,) if model in RIVALS else self._orders(scale.orders)
            run = self._run(name, model, limits=scale.limits, **own)
            lines[NAMES[model] + DEFAULT] = Line(run, orders)
            tuned = tuned_parameters(name, model, scale, self.choices, self.records)
            if tuned is not None:
                run = self._run(name, model, limits=scale.limits, **tuned)
                lines[NAMES[model]] = Line(run, self._orders(scale.orders))
        return lines

    def _mediamill(self):
        scale, lines = self.scale, {}
        for model in ("efcml", "rules", "rfwls", "static"):
            lines[NAMES[model] + DEFAULT] = Line(self._run(LARGE, model, limits=scale.large_limits))
            tuned = tuned_parameters(LARGE, model, scale, self.choices, self.records)
            if tuned is not None:
                lines[NAMES[model]] = Line(
                    self._run(LARGE, model, limits=scale.large_limits, **tuned)
                )
        for model in ("rls", "frequencies"):
            lines[NAMES[model]] = Line(self._run(LARGE, model, limits=scale.large_limits))
        for model in RIVALS:
            run = self._run(
                LARGE, model, limits=scale.large_rival_limits, **scale.large_rival_parameters
            )
            lines[NAMES[model]] = Line(run)
        return {LARGE: lines}

    def _al_labels(self):
        return {name: self._active(name, "labels") for name in SETS}

    def _al_samples(self):
        return {name: self._active(name, "samples") for name in SETS}

    def _al_instability(self):
        return {name: self._criteria(name) for name in SETS}

    def _al_mediamill(self):
        return {LARGE: self._asked(LARGE, "samples", "published", self.scale.large_limits, (0,))}

    def _active(self, name, unit):
        lines, orders = {}, self._orders(self.scale.active_orders)
        for start, suffix in (("published", ""), ("small", SMALL)):
            some = self._asked(name, unit, start, self.scale.limits, orders)
            lines |= {key + suffix: line for key, line in some.items()}
        return lines

    def _asked(self, name, unit, start, limits, orders):
        """Return full update, static, and every budget, active and random, from one start."""

        def line(model="efcml", asking=None):
            return Line(self._run(name, model, limits=limits, start=start, asking=asking), orders)

        lines = {"full update": line(), "static": line("static")}
        for budget in BUDGETS:
            lines[f"active {budget:.0%}"] = line(asking=Asking(budget, unit, ALL_CRITERIA))
            lines[f"random {budget:.0%}"] = line(asking=Asking(budget, unit, ("random",)))
        return lines

    def _criteria(self, name):
        lines = {}
        for unit in UNITS:
            for start, suffix in (("published", ""), ("small", SMALL)):
                for words, criteria in (("without", TWO_CRITERIA), ("with", ALL_CRITERIA)):
                    asking = Asking(BUDGETS[0], unit, criteria)
                    run = self._run(name, limits=self.scale.limits, start=start, asking=asking)
                    line = Line(run, self._orders(self.scale.active_orders))
                    lines[f"{words} instability, {unit}{suffix}"] = line
        return lines

    def _speed(self):
        lines = {}
        for name in self.scale.speed_sets:
            large = name == LARGE
            limits = self.scale.large_speed_limits if large else self.scale.speed_limits
            fixed = {"limits": limits, "alone": True} | self.scale.speed_parameters
            lines[name] = {
                NAMES[model]: Line(self._run(name, model, **fixed)) for model in SPEED_MODELS
            }
        return lines

    def _ablation(self):
        orders = self.scale.ablation_orders
        return {name: ablation_lines(name, self.scale.limits, orders) for name in (*SETS, DRIFTING)}


TUNED_EXPERIMENTS = ("pa-trends", "ap-trends", "rule-counts")
SETS_OF = {
    "al-samples": SETS,
    "al-labels": SETS,
    "al-instability": SETS,
    "ablation": SETS,
    "rule-counts": RULE_COUNT_SETS,
    "pa-trends": SETS,
    "ap-trends": SETS,
    "speed": (*SETS, LARGE),
    "al-mediamill": (LARGE,),
    "mediamill": (LARGE,),
}
IDS = tuple(SETS_OF)  # cheap ones first
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
        return IDS if scale is FULL else tuple(name for name in IDS if name not in LARGE_IDS)
    if wanted not in IDS:
        raise ValueError(
            f"there is no experiment {wanted!r}: choose all or one of {', '.join(IDS)}."
        )
    return (wanted,)
