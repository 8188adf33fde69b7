"""EFCMLClassifier: the scikit-learn face of the learner, with its parameters and their meaning."""

from copy import copy

from efcml.estimators.base import EngineFace
from efcml.estimators.targets import one_row
from efcml.explain import explain_row, read_rules
from efcml.model.params import Params

RULES_SHOWN = 10  # below the parameters, in a notebook


class EFCMLClassifier(EngineFace):
    """Evolving multi-label fuzzy classifier: one compact rule base, learned in a single pass.

    Rules are Gaussian clusters in the space of features and labels. They are born, updated and
    merged as samples arrive. Every rule has a hyper-plane per label; a prediction blends the planes
    of the rules that fire.

    Parameters
    ----------
    vigilance : float
        Radius of a rule, in units that allow for the dimension. Lower it for more rules; raise it
        if births never end.
    alpha : float
        Weight of the L1 penalty on the slopes. Raise it for sparser rules, if many features say
        nothing.
    beta : float
        Weight of the correlation penalty. 0 switches it off, which saves time; try more if labels
        depend on each other.
    correlation : {"shift", "laplacian", "signed", "paper", "none"}
        What the label correlation of a rule does to its planes. "paper" is the printed form,
        which is not convex. "none" leaves recursive least squares alone (no L1 either): the
        quickest, and a good first comparison.
    bandwidth : "dimension" or float
        Width of the activation. "dimension" averages squared distances over the features, 1.0 sums
        them (the paper), which makes one rule win everything when there are many features. Take 1
        to 4 if there are few features, or clear groups.
    activation : {"density", "distance"}
        What a rule's activation goes by: its Gaussian density, or the distance to its center alone
        (the paper), by which a wide rule drowns a narrow one. Change it only to compare.
    lipschitz : {"exact", "paper"}
        Step length of the proximal steps. "paper" diverges on most data; it is there to compare.
    n_steps : int
        Proximal steps at a time. More follow `alpha` and `beta` more closely and cost time.
    step_interval : float
        Activation that a rule gathers before it takes proximal steps again, counted in whole rows.
        0 takes them with every row (the paper), which costs up to twice the time and changes next
        to nothing.
    forgetting : float in (0, 1]
        1 remembers everything. About .995 follows a drift; a rule forgets only as it learns. Leave
        it at 1 if nothing drifts.
    prior : "auto" or float
        Strength with which the planes of a rule are held to flat ones. "auto" picks it by
        cross-validation on the initial rows, and also whether rules are held to one plane for all
        rows instead. Give a number if these rows are few, or unlike the stream: larger for many
        features and few rows.
    birth_width : float
        Variance of a new rule, as a share of range times standard deviation of each feature. Lower
        it if groups are narrow compared with the range.
    variance_floor : float
        Share of the birth variance that a rule never falls below. Raise it if old rules reject
        everything and births do not end.
    merging : bool
        Whether rules that have grown together become one. Switch it off to compare, or if rules
        must keep their identity.
    merge_overlap : float in (0, 1]
        Least overlap of two rules that are merged. Lower it for fewer rules.
    merge_volume : float or "paper"
        How much larger than both together a merged rule may be, per dimension of the bandwidth.
        "paper" is the printed test. Raise it for more merges.
    merge_consequents : {"exact", "paper"}
        Planes of a merged rule: the least-squares solution on the data of both, or the printed
        average. Change it only to compare.
    product_space : bool
        Whether labels take part in forming rules. Switch it off if labels are many, or noisy.
    max_rules : int
        Cap on the number of rules. At the cap the most similar pair is merged or the least used
        rule dropped; a single rule takes every row. Time and memory grow with it; raise it if rules
        are dropped that you miss.
    activation_floor : float
        Rules that fire less than this do not learn from a sample. Raise it for speed, 0 lets all
        of them learn.
    clip : float
        Features are standardised by the initial rows and clipped at this many deviations. Raise it
        if far values carry meaning, or the stream moves far away from the initial rows.
    warmup_rows : int
        Rows that ``partial_fit`` holds before it fits, when ``fit`` was not called. Lower it to
        have rules sooner, raise it for a better scale and prior.
    birth_learning : bool
        Whether the other rules learn the sample that a rule was born from. False is the paper.
    birth_plane : {"nearest", "blend"}
        What a rule that is born in the stream starts with: the planes of the nearest rule, or those
        of all rules as they fire at its center. "blend" is better after a small initial part.
    cases : int
        Rows that are remembered besides the rules. They learn what the rules get wrong near them
        and correct the answer of similar rows. 0 leaves the rules alone, which is easier to read
        and less accurate; raise it if rows are many and errors go on.
    case_width : float
        How far a case reaches: variance of its similarity, per scaled feature. Lower it if what
        the rules get wrong changes over short distances.
    case_noise : float
        How much of an error is taken for chance: the larger, the more similar rows must agree
        before they correct. Raise it if labels are noisy.
    weight_limit : float
        A rule with a larger absolute weight stops its proximal steps, with a warning. Only printed
        formulas get there. Infinity takes the guard away.
    random_state : int, RandomState instance or None
        Accepted for the sake of tools that set it. The method draws no random numbers.

    Attributes
    ----------
    classes_ : ndarray
        Label indices 0..K-1; for 1-D targets the two class labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    label_names_ : ndarray of str
        Columns of a label DataFrame, only then.
    rules_ : RuleList
        The rules as a person reads them; see `docs/reading.md`.
    learner_ : Learner
        The learner behind the face, for streams that need no checks.

    Examples
    --------
    >>> from efcml import EFCMLClassifier, datasets
    >>> ds = datasets.load("drifting-clusters")
    >>> clf = EFCMLClassifier().fit(ds.X[:100], ds.Y[:100])
    >>> clf.predict(ds.X[100:102]).shape
    (2, 5)
    >>> clf = clf.partial_fit(ds.X[100:140], ds.Y[100:140])
    """

    def __init__(  # noqa: PLR0913
        self, *, vigilance=Params.vigilance, alpha=Params.alpha, beta=Params.beta,
        correlation=Params.correlation, bandwidth=Params.bandwidth,
        activation=Params.activation, lipschitz=Params.lipschitz, n_steps=Params.n_steps,
        step_interval=Params.step_interval, forgetting=Params.forgetting, prior=Params.prior,
        birth_width=Params.birth_width, variance_floor=Params.variance_floor,
        merging=Params.merging, merge_overlap=Params.merge_overlap,
        merge_volume=Params.merge_volume, merge_consequents=Params.merge_consequents,
        product_space=Params.product_space, max_rules=Params.max_rules,
        activation_floor=Params.activation_floor, clip=Params.clip,
        warmup_rows=Params.warmup_rows, birth_learning=Params.birth_learning,
        birth_plane=Params.birth_plane, cases=Params.cases, case_width=Params.case_width,
        case_noise=Params.case_noise, weight_limit=Params.weight_limit, random_state=None,
    ):  # fmt: skip
        self.vigilance, self.alpha, self.beta = vigilance, alpha, beta
        self.correlation, self.lipschitz, self.n_steps = correlation, lipschitz, n_steps
        self.step_interval = step_interval
        self.bandwidth, self.activation = bandwidth, activation
        self.forgetting, self.prior = forgetting, prior
        self.birth_width, self.variance_floor = birth_width, variance_floor
        self.merging, self.merge_overlap = merging, merge_overlap
        self.merge_volume, self.merge_consequents = merge_volume, merge_consequents
        self.product_space, self.max_rules = product_space, max_rules
        self.activation_floor, self.clip = activation_floor, clip
        self.warmup_rows, self.birth_learning = warmup_rows, birth_learning
        self.birth_plane, self.cases = birth_plane, cases
        self.case_width, self.case_noise = case_width, case_noise
        self.weight_limit, self.random_state = weight_limit, random_state

    @classmethod
    def paper(cls, **changes):
        """Return a classifier with every formula as printed; keywords override single parameters.

        A rule whose weights run away (the printed step length and penalty do that) stops its
        proximal steps, with one warning.
        """
        printed = dict(
            vigilance=0.5, alpha=0.1, beta=1.0, correlation="paper", bandwidth=1.0,
            activation="distance", lipschitz="paper", n_steps=1, step_interval=0.0,
            forgetting=1.0, prior=1.0, birth_width=0.1, variance_floor=0.0,
            merge_volume="paper", merge_consequents="paper", activation_floor=0.0,
            birth_learning=False, birth_plane="nearest", cases=0,
        )  # fmt: skip
        return cls(**(printed | changes))

    def _new_learner(self, n_features, n_labels):
        from efcml.model.learner import Learner  # not above: it loads numba

        return Learner(self._params(), n_features, n_labels)

    # -- reading ----------------------------------------------------------------------------

    @property
    def rules_(self):
        """The rules now, strongest first, to be read or printed: a `RuleList`."""
        names = self.column_names()
        return read_rules(self.learner_, *names)

    def explain(self, x):
        """Return why the model says what it says of one row: an `Explanation`.

        Parameters
        ----------
        x : array-like of shape (p,) or (1, p), Series, or DataFrame of one row
            The names of a Series or DataFrame must be those of the model; other rows need none.
        """
        x = one_row(x, "x")
        checker = self
        if not hasattr(x, "columns") and hasattr(self, "feature_names_in_"):
            checker = copy(self)  # without names: scikit-learn would warn that the row has none
            del checker.feature_names_in_
        x = checker.check_features(x)
        return explain_row(self.learner_, x, *self.column_names())

    def _rules_html(self):
        return self.rules_.to_html(RULES_SHOWN) if hasattr(self, "learner_") else ""

    # scikit-learn shows its estimators with one or the other, depending on the program.
    def _repr_html_inner(self):
        return super()._repr_html_inner() + self._rules_html()

    def _repr_mimebundle_(self, **options):
        bundle = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._rules_html()
        return bundle
