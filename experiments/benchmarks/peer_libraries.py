"""Our models, those of river and of scikit-learn behind one interface, for peers.py.

Only numpy is needed here, and what a model needs. Rows are converted to what a library wants
outside the clock. A score of 0.5 or more is a predicted label.
"""

import time

import numpy as np

from efcml.support.imports import extra_for


class Peer:
    """A model: ``score`` and ``learn`` one converted row."""

    library = None  # whose version is told
    decided = None  # what a model with decisions of its own has decided for the last rows run

    def __init__(self, p, K, n_initial):
        self.p, self.K, self.n_initial = p, K, n_initial

    def convert(self, X, Y):
        """Return the rows as the library wants them."""
        return list(zip(X, Y, strict=True))

    @classmethod
    def warm(cls, make, X, Y):
        """Let compilers do their work before; nothing is compiled unless a class says so."""

    def fit(self, X, Y):
        """Learn the initial part, row by row unless the library has a way of its own."""
        for x, y in self.convert(X, Y):
            self.learn(x, y)

    def run(self, X, Y):
        """Score and learn rows; return (scores, seconds)."""
        rows = self.convert(X, Y)
        answers = []
        begin = time.perf_counter()
        for x, y in rows:
            answers.append(self.score(x))
            self.learn(x, y)
        seconds = time.perf_counter() - begin
        return np.array([self.read(answer) for answer in answers], dtype=float), seconds

    def read(self, answer):
        """Return the K scores of an answer."""
        return answer

    def made_of(self):
        """Return how many parts the model has, by their name."""
        return {}


# -- efcml ------------------------------------------------------------------------------------


class Efcml(Peer):
    """An estimator of efcml; `prequential` runs the rows inside the kernels."""

    library = "efcml"

    def __init__(self, p, K, n_initial, model="efcml", **parameters):
        super().__init__(p, K, n_initial)
        from efcml_paper.simple_models import make_model

        self.model = make_model(model, **parameters)

    @classmethod
    def warm(cls, make, X, Y):
        import efcml

        efcml.warmup()

    def fit(self, X, Y):
        self.model.fit(X, Y)

    def run(self, X, Y):
        from efcml import prequential

        result = prequential(self.model, X, Y, progress=False)
        self.rules = int(result.rules[-1])
        self.decided = result.decisions
        return result.scores, result.seconds

    def made_of(self):
        return {"rules": self.rules} if self.rules else {"planes": self.K}


class EfcmlRows(Peer):
    """RiverEFCML: dictionaries in and out, one call per row."""

    library = "efcml"
    warm = Efcml.warm

    def __init__(self, p, K, n_initial):
        super().__init__(p, K, n_initial)
        from efcml.compat.river import RiverEFCML

        self.model = RiverEFCML(warmup_rows=n_initial)

    def convert(self, X, Y):
        return to_dictionaries(X, Y)

    def score(self, x):
        return self.model.predict_proba_one(x)

    def learn(self, x, y):
        self.model.learn_one(x, y)

    def read(self, answer):
        return [answer.get(c, {}).get(True, 0.0) for c in range(self.K)]

    def made_of(self):
        return {"rules": self.model.n_rules}


# -- river ------------------------------------------------------------------------------------


def to_dictionaries(X, Y):
    """Return rows as pairs of dictionaries; a chain puts labels among the features.

    The names of features sort as their columns do.
    """
    names = [f"x{j:04d}" for j in range(X.shape[1])]
    return [
        (dict(zip(names, x, strict=True)), dict(enumerate(y)))
        for x, y in zip(X.tolist(), (Y == 1.0).tolist(), strict=True)
    ]


class River(EfcmlRows):
    """A multi-label classifier of river."""

    library = "river"
    warm = Peer.warm

    def __init__(self, p, K, n_initial, kind):
        Peer.__init__(self, p, K, n_initial)
        with extra_for("river's models"):
            from river import (
                forest,
                linear_model,
                multioutput,
                naive_bayes,
                neighbors,
                preprocessing,
                tree,
            )

        per_label = multioutput.PerOutputClassifier
        scaled = preprocessing.StandardScaler()
        self.model, self.parts = {
            "logistic": lambda: (scaled | per_label(linear_model.LogisticRegression()), "planes"),
            "chain": lambda: (
                scaled | multioutput.ClassifierChain(linear_model.LogisticRegression()),
                "planes",
            ),
            "bayes": lambda: (per_label(naive_bayes.GaussianNB()), "models"),
            "tree": lambda: (per_label(tree.HoeffdingTreeClassifier()), "trees"),
            "forest": lambda: (per_label(forest.ARFClassifier(n_models=10, seed=1)), "trees"),
            "neighbours": lambda: (
                scaled
                | per_label(
                    neighbors.KNNClassifier(10, engine=neighbors.LazySearch(window_size=1000))
                ),
                "memories",
            ),
        }[kind]()

    def made_of(self):
        if self.parts != "trees":
            return {self.parts: self.K}
        trees = self.model.values()
        if not hasattr(self.model.classifier, "n_leaves"):
            return {"trees": sum(len(forest) for forest in trees)}
        return {"trees": self.K, "leaves": sum(tree.n_leaves for tree in trees)}


class RiverISoup(River):
    """The multi-target tree of river; its answers are numbers."""

    def __init__(self, p, K, n_initial):
        Peer.__init__(self, p, K, n_initial)
        with extra_for("iSOUP"):
            from river import tree

        self.model = tree.ISOUPTreeRegressor()

    def score(self, x):
        return self.model.predict_one(x)

    def read(self, answer):
        return [answer.get(c, 0.0) for c in range(self.K)]

    def made_of(self):
        return {"trees": 1, "leaves": self.model.n_leaves}


# -- scikit-learn -------------------------------------------------------------------------------


class PartialFit(Peer):
    """Models of scikit-learn behind a scaler that goes on learning."""

    library = "scikit-learn"

    def __init__(self, p, K, n_initial):
        super().__init__(p, K, n_initial)
        from sklearn.preprocessing import StandardScaler

        self.scaler = StandardScaler()
        self.start()

    def convert(self, X, Y):
        Y = Y.astype(int)
        return [(X[t : t + 1], Y[t : t + 1]) for t in range(len(X))]

    def score(self, x):
        return self.answer(self.scaler.transform(x))

    def learn(self, x, y):
        self.scaler.partial_fit(x)
        self.update(self.scaler.transform(x), y)


class SgdLoop(PartialFit):
    """One logistic regression per label, in a plain loop over them."""

    def start(self):
        from sklearn.linear_model import SGDClassifier

        self.models = [SGDClassifier(loss="log_loss", random_state=0) for _ in range(self.K)]

    def answer(self, x):
        return [model.decision_function(x) for model in self.models]

    def update(self, x, y):
        for model, column in zip(self.models, y.T, strict=True):
            model.partial_fit(x, column, classes=[0, 1])

    def read(self, answer):
        return [part[0] + 0.5 for part in answer]

    def made_of(self):
        return {"planes": self.K}


class SgdMultiOutput(SgdLoop):
    """The same, held together by MultiOutputClassifier."""

    def start(self):
        from sklearn.linear_model import SGDClassifier
        from sklearn.multioutput import MultiOutputClassifier

        self.model = MultiOutputClassifier(SGDClassifier(loss="log_loss", random_state=0))

    def answer(self, x):
        return self.model.predict_proba(x)

    def update(self, x, y):
        self.model.partial_fit(x, y, classes=[np.array([0, 1])] * self.K)

    def read(self, answer):
        return [part[0, 1] for part in answer]


class Mlp(PartialFit):
    """One network for all labels."""

    def start(self):
        from sklearn.neural_network import MLPClassifier

        self.model = MLPClassifier(random_state=0)

    def answer(self, x):
        return self.model.predict_proba(x)

    def update(self, x, y):
        self.model.partial_fit(x, y, classes=np.arange(self.K))

    def read(self, answer):
        return answer[0]

    def made_of(self):
        return {"hidden units": 100}
