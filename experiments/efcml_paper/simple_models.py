"""Simple lines that EFC-ML is compared with, beside the models of the command line.

Label frequencies, one global plane by recursive least squares, and the same on random Fourier
features of a Gaussian kernel (Rahimi and Recht 2007).
"""

from functools import partial

import numpy as np
from scipy.linalg import blas
from sklearn.utils.validation import check_random_state

from efcml import rivals
from efcml.estimators.classifier import MultiLabelFace
from efcml.model.labels import plain_answer
from efcml.model.params import Params
from efcml.model.reshape import precision
from efcml.model.scaler import Scaler
from efcml.rivals import CLASSIFIER, Rival
from efcml.support.checks import check_number, check_whole
from efcml.support.guard import Guarded, interrupts_held, one_at_a_time
from efcml.support.statistics import label_means
from efcml.tuning.search import contiguous_folds

RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0, 30000.0)
FOLDS = 5
NEWEST_ROWS = 3000  # are enough to tell orders of magnitude of ridges apart
MOST_ROWS = 500  # for the median distance

MODELS = rivals.MODELS | {
    "rules": Rival("EFC-ML, rules alone", CLASSIFIER, {"cases": 0}),
    "frequencies": Rival("label frequencies", f"{__name__}:LabelFrequencies"),
    "rls": Rival("one global plane", f"{__name__}:GlobalRLS"),
    "rff": Rival("one global plane, Fourier features", f"{__name__}:FourierRLS"),
}
make_model = partial(rivals.make_model, models=MODELS)


class SimpleLearner(Guarded):
    """A learner without decisions of its own."""

    def answer(self, X, known=None):
        """Return scores, and what follows from them alone."""
        return plain_answer(self.score(X), known)


class FrequencyLearner(SimpleLearner):
    """Answers with the share of ones of each label so far; 0 before a label is known."""

    n_rules = 0
    fitted = True

    def __init__(self, n_features, n_labels):
        self.n_features, self.n_labels, self.rows_seen = n_features, n_labels, 0
        self.ones, self.known = np.zeros((2, n_labels))

    @one_at_a_time
    def fit(self, X, Y, weights=None):
        """Count an initial batch from nothing."""
        self.__init__(self.n_features, self.n_labels)
        return self.learn(X, Y, None, weights)

    @one_at_a_time
    @interrupts_held()
    def learn(self, X, Y, trace=None, weights=None):
        """Count rows in order."""
        refuse_weights(weights)
        known = ~np.isnan(Y)
        ones = np.vstack([self.ones, np.where(known, Y, 0.0)]).cumsum(axis=0)
        count = np.vstack([self.known, known]).cumsum(axis=0)
        if trace is not None:
            trace.scores[:] = ones[:-1] / np.maximum(count[:-1], 1.0)
            trace.rules[:] = 0
        self.ones, self.known = ones[-1], count[-1]
        self.rows_seen += int(known.any(axis=1).sum())
        return self

    @one_at_a_time
    def score(self, X):
        """Return the frequencies, once per row."""
        return np.tile(self.ones / np.maximum(self.known, 1.0), (len(X), 1))

    @one_at_a_time
    def add_labels(self, count):
        """Take in labels that appear late; every row so far counts as not having them."""
        self.n_labels += count
        self.ones = np.append(self.ones, np.zeros(count))
        self.known = np.append(self.known, np.full(count, float(self.rows_seen)))

    @one_at_a_time
    def copy(self):
        """Return an independent learner in the same state."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))  # arrays are replaced, never written to
        return other


class LabelFrequencies(MultiLabelFace):
    """Predict every label by its running frequency, whatever the features are.

    Examples
    --------
    >>> clf = LabelFrequencies().fit([[0.0], [1.0]], [[1, 0], [0, 0]])
    >>> clf.predict([[5.0]])
    array([[1, 0]])
    """

    takes_gaps = False

    def _new_learner(self, n_features, n_labels):
        return FrequencyLearner(n_features, n_labels)


class LeastSquaresLearner(SimpleLearner):
    """Recursive least squares with a ridge, on scaled features and perhaps Fourier features.

    ``P = (R'R + Delta)^-1`` is shared by all labels until a row is known in part; from then on
    every label has its own. Rows go one by one, so that the split into calls changes no bit.
    """

    n_rules = 0

    def __init__(self, n_features, n_labels, *, ridge, clip, warmup_rows, n_fourier=0, seed=0):
        self.n_features, self.n_labels = n_features, n_labels
        self.ridge, self.clip, self.warmup_rows = ridge, clip, warmup_rows
        self.n_fourier, self.seed, self.rows_seen = n_fourier, seed, 0
        self.scaler = self.fourier = self.ridge_chosen = self.W = None  # until there are planes
        self.P = []  # one matrix, or one per label; lower triangles
        self.held = []  # warm-up rows

    @property
    def fitted(self):
        """Whether planes exist; before, label frequencies answer."""
        return self.W is not None

    @one_at_a_time
    def fit(self, X, Y, weights=None):
        """Learn an initial batch from nothing."""
        refuse_weights(weights)
        labelled = ~np.isnan(Y).all(axis=1)
        X, Y, self.held = X[labelled], Y[labelled], []
        self.scaler = Scaler.from_rows(X, self.clip)
        X = np.nan_to_num(self.scaler.transform(X))
        if self.n_fourier:
            self.fourier = draw_features(X, self.n_fourier, np.random.default_rng(self.seed))
        R = np.array([self._extend(x) for x in X])
        self.ridge_chosen = choose_ridge(R[:, :-1], Y) if self.ridge == "auto" else self.ridge
        self._solve(R, Y)
        self.rows_seen = len(X)
        return self

    def _solve(self, R, Y):
        delta, known = precision(self.ridge_chosen, R.shape[1] - 1), ~np.isnan(Y)
        target = R.T @ np.where(known, Y, 0.0)
        target[-1] += delta[-1] * label_means(Y)  # held to flat planes
        masks = known.T if not known.all() else [slice(None)]
        self.P = [invert(R[mask].T @ R[mask] + np.diag(delta)) for mask in masks]
        if len(self.P) == 1:
            self.W = np.ascontiguousarray((self.P[0] @ target).T)
        else:
            self.W = np.array([P @ b for P, b in zip(self.P, target.T, strict=True)])

    @one_at_a_time
    def learn(self, X, Y, trace=None, weights=None):
        """Learn rows in order; any split into calls gives the same state."""
        refuse_weights(weights)
        for t in range(len(X)):
            if trace is not None:
                rows = X if trace.rows is None else trace.rows
                trace.scores[t] = self.score(rows[t : t + 1])[0]
            (self._learn_row if self.fitted else self._hold)(X[t], Y[t])
        if trace is not None:
            trace.rules[:] = 0
        return self

    @interrupts_held()
    def _hold(self, x, y):
        """Keep a warm-up row; fit when there are enough."""
        if not np.isnan(y).all():
            self.held.append((x.copy(), y.copy()))
        if len(self.held) == self.warmup_rows:
            self.fit(*(np.array(part) for part in zip(*self.held, strict=True)))

    @interrupts_held()
    def _learn_row(self, x, y):
        r, known = self._read(x), ~np.isnan(y)
        self.rows_seen += int(known.any())
        if known.any() and not known.all() and len(self.P) == 1:
            self.P = [self.P[0].copy(order="F") for _ in range(self.n_labels)]
        if known.all() and len(self.P) == 1:
            gain, self.P[0] = gain_and_update(self.P[0], r)
            self.W += np.outer(y - self.W @ r, gain)
            return
        for c in np.flatnonzero(known):
            gain, self.P[c] = gain_and_update(self.P[c], r)
            self.W[c] += (y[c] - self.W[c] @ r) * gain

    def _read(self, x):
        return self._extend(np.nan_to_num(self.scaler.transform(x[None])[0]))

    def _extend(self, x):
        """Return the regressors of one scaled row: features, Fourier features, 1."""
        if self.fourier is not None:
            frequencies, phases = self.fourier
            x = np.concatenate([x, np.sqrt(2.0) * np.cos(frequencies @ x + phases)])
        return np.append(x, 1.0)

    @one_at_a_time
    def score(self, X):
        """Return the (n, K) continuous outputs, row by row as in a stream."""
        if self.fitted:
            scores = [self.W @ self._read(x) for x in X]
            return np.array(scores).reshape(len(X), self.n_labels)
        held = np.array([y for _, y in self.held]).reshape(-1, self.n_labels)
        return np.tile(label_means(held), (len(X), 1))

    @one_at_a_time
    def copy(self):
        """Return an independent learner in the same state."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), held=list(self.held))
        if self.fitted:
            other.W, other.P = self.W.copy(), [P.copy(order="F") for P in self.P]
        return other


class GlobalRLS(MultiLabelFace):
    """One global plane per label, learned by recursive least squares.

    Features are standardised by the initial rows and clipped. The ridge ("auto" picks it by
    cross-validation over contiguous folds of the initial rows) is kept; the intercept is held 100
    times more weakly, near the label means.

    Examples
    --------
    >>> from efcml import datasets, prequential
    >>> ds = datasets.load("drifting-clusters", n=400, n_initial=200)
    >>> clf = GlobalRLS().fit(*ds.initial)
    >>> prequential(clf, *ds.stream).scores.shape
    (200, 5)
    """

    takes_gaps = False

    def __init__(self, *, ridge="auto", clip=Params.clip, warmup_rows=Params.warmup_rows):
        self.ridge, self.clip, self.warmup_rows = ridge, clip, warmup_rows

    def _new_learner(self, n_features, n_labels):
        return LeastSquaresLearner(n_features, n_labels, **self._options())

    def _options(self):
        check_number("ridge", self.ridge, above=0.0, words=("auto",))
        check_number("clip", self.clip, above=0.0)
        check_whole("warmup_rows", self.warmup_rows, least=1)
        return {"ridge": self.ridge, "clip": self.clip, "warmup_rows": self.warmup_rows}


class FourierRLS(GlobalRLS):
    """Recursive least squares on the features and random Fourier features: a kernel machine.

    The kernel is a Gaussian as wide as the median distance between the initial rows.
    """

    def __init__(
        self,
        *,
        n_fourier=500,
        ridge="auto",
        clip=Params.clip,
        warmup_rows=Params.warmup_rows,
        random_state=0,
    ):
        super().__init__(ridge=ridge, clip=clip, warmup_rows=warmup_rows)
        self.n_fourier, self.random_state = n_fourier, random_state

    def _options(self):
        check_whole("n_fourier", self.n_fourier, least=1)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return super()._options() | {"n_fourier": self.n_fourier, "seed": seed}


def refuse_weights(weights):
    """Refuse weights of rows."""
    if weights is not None:
        raise TypeError("sample_weight is not supported: every row counts alike.")


def invert(H):
    """Return the inverse of a definite matrix, symmetric to the last bit, in Fortran order."""
    P = np.linalg.inv(H)
    return np.asfortranarray(0.5 * (P + P.T))


def gain_and_update(P, r):
    """Return ``P r / (1 + r'P r)`` and the updated P; only the lower triangle counts."""
    v = blas.dsymv(1.0, P, r, lower=1)
    scale = 1.0 + r @ v
    return v / scale, blas.dsyr(-1.0 / scale, v, lower=1, a=P, overwrite_a=1)


def draw_features(X, count, random):
    """Draw frequencies (count, p) and phases for a kernel as wide as the median distance."""
    frequencies = random.normal(size=(count, X.shape[1])) / median_distance(X)
    return frequencies, random.uniform(0.0, 2.0 * np.pi, size=count)


def median_distance(X):
    """Return the median distance between evenly spaced rows; 1 if there is none."""
    X = X[np.linspace(0, len(X) - 1, min(len(X), MOST_ROWS)).astype(int)]
    squares = (X**2).sum(axis=1)
    distances = squares[:, None] + squares - 2.0 * X @ X.T
    pairs = distances[np.triu_indices(len(X), 1)]
    middle = np.sqrt(max(np.median(pairs), 0.0)) if len(pairs) else 0.0
    return middle if middle > 1e-6 else 1.0


def choose_ridge(X, Y):
    """Return the ridge with the least squared error over contiguous folds.

    The intercept is not penalised. An unknown label counts as the mean of its label when planes
    are fitted, and not at all in the error.
    """
    X, Y = X[-NEWEST_ROWS:], Y[-NEWEST_ROWS:]
    folds = min(FOLDS, len(X) // 2)
    if folds < 2:
        return 1.0
    known = ~np.isnan(Y)
    filled = np.where(known, Y, label_means(Y))
    losses = np.zeros(len(RIDGES))
    for fold in contiguous_folds(len(X), folds):
        rest = np.delete(np.arange(len(X)), fold)
        errors = fold_errors(X[rest], filled[rest], X[fold], filled[fold])
        losses += (errors**2 * known[fold]).sum(axis=(1, 2))
    return RIDGES[int(np.argmin(losses))]


def fold_errors(X, Y, X_new, Y_new):
    """Return the errors on new rows for every ridge, from one decomposition."""
    x_mean, y_mean = X.mean(axis=0), Y.mean(axis=0)
    centered = X - x_mean
    values, vectors = np.linalg.eigh(centered.T @ centered)
    target = vectors.T @ (centered.T @ (Y - y_mean))
    inputs = (X_new - x_mean) @ vectors
    planes = [target / (np.maximum(values, 0.0) + ridge)[:, None] for ridge in RIDGES]
    return np.array([y_mean + inputs @ plane - Y_new for plane in planes])
