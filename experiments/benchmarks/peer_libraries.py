"""Our models, those of river, scikit-learn and MOA, and baselines behind one interface.

Only numpy is needed here, and what a model needs. A score of 0.5 or more is a predicted label.
"""

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

    def fit(self, X, Y):
        """Learn the initial part, row by row unless the library has a way of its own."""
        for x, y in self.convert(X, Y):
            self.learn(x, y)

    def run(self, X, Y):
        """Score and learn rows; return the scores."""
        answers = []
        for x, y in self.convert(X, Y):
            answers.append(self.score(x))
            self.learn(x, y)
        return np.array([self.read(answer) for answer in answers], dtype=float)

    def read(self, answer):
        """Return the K scores of an answer."""
        return answer


class Efcml(Peer):
    """An estimator of efcml; `prequential` runs the rows inside the kernels."""

    library = "efcml"

    def __init__(self, p, K, n_initial, model="efcml", **parameters):
        super().__init__(p, K, n_initial)
        from efcml.rivals import make_model

        self.model = make_model(model, **parameters)

    def fit(self, X, Y):
        self.model.fit(X, Y)

    def run(self, X, Y):
        from efcml import prequential

        result = prequential(self.model, X, Y, progress=False)
        self.decided = result.decisions
        return result.scores


class River(Peer):
    """A multi-label classifier of river: dictionaries in and out."""

    library = "river"

    def __init__(self, p, K, n_initial, kind):
        super().__init__(p, K, n_initial)
        with extra_for("river's models"):
            from river import forest, linear_model, multioutput, neighbors, preprocessing, tree

        per_label, scaled = multioutput.PerOutputClassifier, preprocessing.StandardScaler()
        search = neighbors.LazySearch(window_size=1000)
        self.model = {
            "logistic": lambda: scaled | per_label(linear_model.LogisticRegression()),
            "chain": lambda: (
                scaled | multioutput.ClassifierChain(linear_model.LogisticRegression())
            ),
            "tree": lambda: per_label(tree.HoeffdingTreeClassifier()),
            "forest": lambda: per_label(forest.ARFClassifier(n_models=10, seed=1)),
            "neighbours": lambda: scaled | per_label(neighbors.KNNClassifier(10, engine=search)),
        }[kind]()

    def convert(self, X, Y):
        """Return rows as dictionaries; the names of features sort as their columns do."""
        names = [f"x{j:04d}" for j in range(X.shape[1])]
        return [
            (dict(zip(names, x, strict=True)), dict(enumerate(y)))
            for x, y in zip(X.tolist(), (Y == 1.0).tolist(), strict=True)
        ]

    def score(self, x):
        return self.model.predict_proba_one(x)

    def learn(self, x, y):
        self.model.learn_one(x, y)

    def read(self, answer):
        return [answer.get(c, {}).get(True, 0.0) for c in range(self.K)]


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


class Moa(Peer):
    """One MOA classifier per label, from the jar inside capymoa."""

    library = "capymoa"

    def __init__(self, p, K, n_initial, kind):
        super().__init__(p, K, n_initial)
        with extra_for("MOA"):
            from capymoa import classifier
            from capymoa.stream import Schema

        names = [f"x{j}" for j in range(p)]
        schema = Schema.from_custom([*names, "y"], "y", {"y": ["0", "1"]})
        make = {
            "forest": lambda: classifier.AdaptiveRandomForestClassifier(schema, ensemble_size=10),
            "neighbours": lambda: classifier.KNN(schema, k=10, window_size=1000),
        }[kind]
        self.header = schema.get_moa_header()
        self.models = [make().moa_learner for _ in range(K)]

    def convert(self, X, Y):
        import jpype
        from com.yahoo.labs.samoa.instances import DenseInstance

        def instance(values):
            one = DenseInstance(1.0, jpype.JArray(jpype.JDouble)(values))
            one.setDataset(self.header)
            return one

        rows = [
            [instance([*x, value]) for value in y]
            for x, y in zip(X.tolist(), Y.tolist(), strict=True)
        ]
        return [(row, row) for row in rows]

    def score(self, x):
        pairs = zip(self.models, x, strict=True)
        return [model.getVotesForInstance(one) for model, one in pairs]

    def learn(self, x, y):
        for model, one in zip(self.models, y, strict=True):
            model.trainOnInstance(one)

    def read(self, answer):
        votes = [[*map(float, part), 0.0, 0.0][:2] for part in answer]
        return [yes / (no + yes) if no + yes > 0.0 else 0.0 for no, yes in votes]


class NoChange(Peer):
    """Answers with the labels of the row before; with none at the very first."""

    def __init__(self, p, K, n_initial):
        super().__init__(p, K, n_initial)
        self.last = np.zeros(K)

    def score(self, x):
        return self.last

    def learn(self, x, y):
        self.last = y


class Frequencies(Peer):
    """Answers with the share of rows so far that had a label."""

    def __init__(self, p, K, n_initial):
        super().__init__(p, K, n_initial)
        self.ones, self.rows = np.zeros(K), 0

    def score(self, x):
        return self.ones / max(self.rows, 1)

    def learn(self, x, y):
        self.ones, self.rows = self.ones + y, self.rows + 1
