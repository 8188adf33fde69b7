"""Models that efcml is compared with, as `prequential` takes them.

A model has ``fit``, ``partial_fit`` and ``predict_proba``. What is not installed is not imported.
"""

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import RidgeCV, SGDClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

RIDGES = 10.0 ** np.arange(-1, 5)


class NoChange(BaseEstimator):
    """Answers with the labels of the row before."""

    def fit(self, X, Y):
        self.last_ = np.asarray(Y, dtype=float)[-1]
        return self

    partial_fit = fit

    def predict_proba(self, X):
        return np.tile(self.last_, (len(X), 1))


class Frequencies(BaseEstimator):
    """Answers with the share of the rows so far that had a label."""

    def fit(self, X, Y):
        self.sum_, self.n_ = 0.0, 0
        return self.partial_fit(X, Y)

    def partial_fit(self, X, Y):
        self.sum_, self.n_ = self.sum_ + np.asarray(Y, dtype=float).sum(axis=0), self.n_ + len(Y)
        return self

    def predict_proba(self, X):
        return np.tile(self.sum_ / self.n_, (len(X), 1))


class Plane(BaseEstimator):
    """One plane per label by recursive least squares, on the features and random Fourier features.

    Features are scaled by the initial part, where the ridge is chosen, too.
    """

    def __init__(self, fourier=0, random_state=0):
        self.fourier, self.random_state = fourier, random_state

    def fit(self, X, Y):
        rng, p = np.random.default_rng(self.random_state), X.shape[1]
        self.scaler_ = StandardScaler().fit(X)
        Z = np.clip(self.scaler_.transform(X), -6.0, 6.0)
        pairs = rng.choice(len(Z), (2, 1000))
        width = np.median(np.linalg.norm(Z[pairs[0]] - Z[pairs[1]], axis=1))
        self.waves_ = rng.normal(size=(p, self.fourier)) / max(width, 1e-9)
        self.phases_ = rng.uniform(0.0, 2.0 * np.pi, self.fourier)
        R = self._extend(X)
        ridge = RidgeCV(RIDGES).fit(R[:, :-1], Y).alpha_
        self.P_ = np.linalg.inv(R.T @ R + ridge * np.diag(np.append(np.ones(R.shape[1] - 1), 1e-6)))
        self.W_ = self.P_ @ (R.T @ Y)
        return self

    def _extend(self, X):
        Z = np.clip(self.scaler_.transform(X), -6.0, 6.0)
        return np.c_[Z, np.sqrt(2.0) * np.cos(Z @ self.waves_ + self.phases_), np.ones(len(Z))]

    def partial_fit(self, X, Y):
        for r, y in zip(self._extend(X), np.asarray(Y, dtype=float), strict=True):
            q = self.P_ @ r
            gain = q / (1.0 + r @ q)
            self.W_ = self.W_ + np.outer(gain, y - r @ self.W_)
            self.P_ = self.P_ - np.outer(gain, q)
        return self

    def predict_proba(self, X):
        return self._extend(X) @ self.W_


def sklearn_models():
    """Return models of scikit-learn, behind a scaler that is fitted to the initial part."""
    per_label = MultiOutputClassifier(SGDClassifier(loss="log_loss", random_state=0))
    return {
        "scikit-learn, SGD per label": make_pipeline(StandardScaler(), per_label),
        "scikit-learn, MLP": make_pipeline(StandardScaler(), MLPClassifier(random_state=0)),
    }


class River(BaseEstimator):
    """A model of river: rows go to it one by one, as dictionaries; of sparse rows what is there."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, Y):
        return self.partial_fit(X, Y)

    def _rows(self, X):
        if not issparse(X):
            yield from (dict(enumerate(row)) for row in np.asarray(X).tolist())
            return
        for row in X.tocsr():
            row = row.tocoo()
            yield dict(zip(row.coords[-1].tolist(), row.data.tolist(), strict=True))

    def partial_fit(self, X, Y):
        self.n_labels_ = np.shape(Y)[1]
        for x, y in zip(self._rows(X), np.asarray(Y).tolist(), strict=True):
            self.model.learn_one(x, {k: bool(label) for k, label in enumerate(y)})
        return self

    def predict_proba(self, X):
        said = [self.model.predict_proba_one(x) for x in self._rows(X)]
        labels = range(self.n_labels_)
        return np.array([[y.get(k, {}).get(True, 0.0) for k in labels] for y in said])


def river_models():
    """Return models of river."""
    from river import forest, linear_model, multioutput, neighbors, preprocessing, tree

    def per_label(model, scaled=True):
        several = multioutput.PerOutputClassifier(model)
        return preprocessing.StandardScaler() | several if scaled else several

    logistic, forest_ = linear_model.LogisticRegression, forest.ARFClassifier(n_models=10, seed=1)
    nearest = neighbors.KNNClassifier(10, engine=neighbors.LazySearch(window_size=1000))
    chain = multioutput.ClassifierChain(logistic())
    models = {
        "river, logistic regression per label": per_label(logistic()),
        "river, chain of logistic regressions": preprocessing.StandardScaler() | chain,
        "river, Hoeffding tree per label": per_label(tree.HoeffdingTreeClassifier(), scaled=False),
        "river, forest per label": per_label(forest_, scaled=False),
        "river, 10 neighbours per label": per_label(nearest),
    }
    return {name: River(model) for name, model in models.items()}


class Moa(BaseEstimator):
    """One classifier of MOA per label, from the jar inside of capymoa; it needs Java."""

    def __init__(self, kind="neighbours"):
        self.kind = kind

    def fit(self, X, Y):
        from capymoa.stream import Schema

        names = [f"x{j}" for j in range(X.shape[1])]
        schema = Schema.from_custom([*names, "y"], "y", {"y": ["0", "1"]})
        self.header_ = schema.get_moa_header()
        self.models_ = [self._learner(schema) for _ in range(Y.shape[1])]
        return self.partial_fit(X, Y)

    def _learner(self, schema):
        from capymoa import classifier
        from moa.classifiers.bayes import NaiveBayesMultinomial
        from moa.classifiers.functions import SGD

        if self.kind == "forest":
            return classifier.AdaptiveRandomForestClassifier(schema, ensemble_size=10).moa_learner
        if self.kind == "neighbours":
            return classifier.KNN(schema, k=10, window_size=1000).moa_learner
        model = NaiveBayesMultinomial() if self.kind == "bayes" else SGD()
        if self.kind == "logistic":
            model.getOptions().setViaCLIString("-o LOGLOSS -r 0.1")
        model.setModelContext(self.header_)
        model.prepareForUse()
        return model

    def __deepcopy__(self, memo):
        other = type(self)(self.kind)
        vars(other).update(vars(self))
        if hasattr(self, "models_"):  # Python cannot copy them
            other.models_ = [model.copy() for model in self.models_]
        return other

    def _instances(self, X):
        """Yield two instances of every row: without the label and with it."""
        import jpype
        from com.yahoo.labs.samoa.instances import DenseInstance, SparseInstance

        doubles, ints, p = jpype.JArray(jpype.JDouble), jpype.JArray(jpype.JInt), X.shape[1]
        for x in X.tocsr() if issparse(X) else X:
            if issparse(X):
                row = x.tocoo()
                at, there = ints([*row.coords[-1].tolist(), p]), row.data.tolist()
                both = [SparseInstance(1.0, doubles([*there, y]), at, p + 1) for y in (0.0, 1.0)]
            else:
                both = [DenseInstance(1.0, doubles([*x.tolist(), y])) for y in (0.0, 1.0)]
            for one in both:
                one.setDataset(self.header_)
            yield both

    def partial_fit(self, X, Y):
        for both, labels in zip(self._instances(X), Y, strict=True):
            for model, y in zip(self.models_, labels, strict=True):
                model.trainOnInstance(both[int(y)])
        return self

    def predict_proba(self, X):
        scores = np.zeros((X.shape[0], len(self.models_)))
        for t, (one, _) in enumerate(self._instances(X)):
            for k, model in enumerate(self.models_):
                no, yes = [*map(float, model.getVotesForInstance(one)), 0.0, 0.0][:2]
                scores[t, k] = yes / (no + yes) if no + yes > 0.0 else 0.0
        return scores


def moa_models():
    """Return models of MOA."""
    return {
        "MOA, forest per label": Moa("forest"),
        "MOA, 10 neighbours per label": Moa("neighbours"),
    }
