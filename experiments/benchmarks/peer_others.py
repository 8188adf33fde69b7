"""Models of libraries that are not installed with efcml, for experiments/benchmarks/peers.py.

evolvingfuzzysystems needs numpy 1, scikit-multiflow an even older one; capymoa brings Java classes.
"""

import time
from contextlib import suppress

import numpy as np
from peer_libraries import Peer

from efcml.support.imports import extra_for

WARM_SECONDS = 8.0  # Java compiles on the way; this much is spent before the clock runs


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
        make, self.parts = {
            "tree": (lambda: classifier.HoeffdingTree(schema), "trees"),
            "forest": (
                lambda: classifier.AdaptiveRandomForestClassifier(schema, ensemble_size=10),
                "trees",
            ),
            "neighbours": (lambda: classifier.KNN(schema, k=10, window_size=1000), "memories"),
        }[kind]
        self.header = schema.get_moa_header()
        self.models = [make().moa_learner for _ in range(K)]
        self.count = 10 * K if kind == "forest" else K

    @classmethod
    def warm(cls, make, X, Y):
        model, begin = make(), time.perf_counter()
        while time.perf_counter() - begin < WARM_SECONDS:
            for t in range(0, len(X), 10):
                model.run(X[t : t + 10], Y[t : t + 10])
                if time.perf_counter() - begin > WARM_SECONDS:
                    break

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

    def made_of(self):
        return {self.parts: self.count}


class FuzzyPerLabel(Peer):
    """One evolving fuzzy regression per label; features are scaled to 0..1 in the initial part.

    On emotions, ePL is no better with raw or standardised features; with raw ones it has 186 rules
    in place of 6.
    """

    library = "evolvingfuzzysystems"

    def __init__(self, p, K, n_initial, kind):
        super().__init__(p, K, n_initial)
        from evolvingfuzzysystems import eFS

        self.models = [getattr(eFS, kind)() for _ in range(K)]

    def fit(self, X, Y):
        self.low, self.range = X.min(axis=0), np.maximum(np.ptp(X, axis=0), 1e-9)
        for model, y in zip(self.models, Y.T, strict=True):
            model.fit(self.scale(X), y)

    def scale(self, X):
        return np.clip((X - self.low) / self.range, 0.0, 1.0)

    def convert(self, X, Y):
        # A model may keep a row and change it later, so each one gets its own.
        rows = [[row[None].copy() for _ in self.models] for row in self.scale(X)]
        return list(zip(rows, Y, strict=True))

    def score(self, x):
        return [model.predict(own) for model, own in zip(self.models, x, strict=True)]

    def learn(self, x, y):
        for model, own, value in zip(self.models, x, y, strict=True):
            model.evolve(own, value.reshape(1))

    def read(self, answer):
        return [float(np.ravel(part)[0]) for part in answer]

    def made_of(self):
        return {"rules": sum(int(model.n_rules()) for model in self.models)}


class Multiflow(Peer):
    """A multi-target tree, or a tree per label, of scikit-multiflow."""

    library = "scikit-multiflow"

    def __init__(self, p, K, n_initial, kind):
        super().__init__(p, K, n_initial)
        for name, kind_of in (("float", float), ("int", int), ("bool", bool)):
            with suppress(Exception):
                setattr(np, name, getattr(np, name, kind_of))  # names that numpy has dropped
        from skmultiflow.meta import MultiOutputLearner
        from skmultiflow.trees import HoeffdingTreeClassifier, iSOUPTreeRegressor

        self.soup = kind == "soup"
        self.model = (
            iSOUPTreeRegressor() if self.soup else MultiOutputLearner(HoeffdingTreeClassifier())
        )

    def convert(self, X, Y):
        Y = Y if self.soup else Y.astype(int)
        return [(X[t : t + 1], Y[t : t + 1]) for t in range(len(X))]

    def score(self, x):
        return self.model.predict(x) if self.soup else self.model.predict_proba(x)

    def learn(self, x, y):
        if self.soup:
            self.model.partial_fit(x, y)
        else:
            self.model.partial_fit(x, y, classes=np.array([0, 1]))

    def read(self, answer):
        table = np.asarray(answer, dtype=float)
        return table.ravel() if self.soup else table.reshape(self.K, -1)[:, -1]

    def made_of(self):
        return {"trees": 1 if self.soup else self.K}
