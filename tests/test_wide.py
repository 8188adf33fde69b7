"""Thousands of sparse features: rows that are projected before anything else."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix, lil_array
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from efcml import EFCMLClassifier, OneVsRestEFC, Study, datasets, load, prequential, save
from efcml.model.projection import Projection, directions
from efcml.model.trace import Trace
from efcml.model.watch import DUE

P, K, N = 400, 6, 260


@pytest.fixture(scope="module")
def texts():
    """Rows of few words, among them a missing value and a row of zeros, and labels they tell."""
    rng = np.random.default_rng(0)
    X = (rng.random((N, P)) < 0.02) * rng.uniform(0.5, 2.0, (N, P))
    Y = np.zeros((N, K))
    for k in range(K):
        Y[:, k] = rng.random(N) < 0.3
        X[:, 10 * k : 10 * k + 5] += (rng.random((N, 5)) < 0.5) * Y[:, [k]]
    X[:, 390] = 3.0  # always
    X[:130, 391] = 0.0  # comes later
    X[130:, 391] = 5.0
    X[7], X[9, 3], X[200, 4] = 0.0, np.nan, np.nan
    return X, Y


def known(Y, share=0.2):
    hidden = np.random.default_rng(1).random(Y.shape) < share
    return np.where(hidden, np.nan, Y)


def states_of(clf):
    facts, arrays = clf.learner_.state()
    return facts, {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("fitted", [True, False])
def test_sparse_dense_any_split_copies_and_files_give_the_same_bits(texts, tmp_path, fitted):
    X, Y = texts[0], known(texts[1])
    weights = np.random.default_rng(2).uniform(0.5, 2.0, N) if fitted else None
    whole, parts = (EFCMLClassifier(warmup_rows=150) for _ in range(2))
    start = 0
    if fitted:
        whole.fit(csr_matrix(X[:120]), Y[:120], weights[:120])
        parts.fit(X[:120], Y[:120], weights[:120])
        start = 120
    rest = {} if weights is None else {"sample_weight": weights[start:]}
    whole.partial_fit(lil_array(X[start:]), Y[start:], **rest)
    for i, t in enumerate(range(start, N)):
        one = {} if weights is None else {"sample_weight": weights[t : t + 1]}
        rows = csr_array(X[t : t + 1]) if t % 3 else X[t : t + 1]
        parts.partial_fit(rows, Y[t : t + 1], **one)
        if i in (20, 80, 125):
            save(parts, tmp_path / "model.npz")
            parts = load(tmp_path / "model.npz")
    assert states_of(whole) == states_of(parts)
    assert states_of(whole) == states_of(type("Copy", (), {"learner_": whole.learner_.copy()}))
    answers = [clf.predict_proba(rows) for clf in (whole, parts) for rows in (X, csr_array(X))]
    for answer in answers[1:]:
        assert_array_equal(answer, answers[0])


def test_directions_are_renewed_if_that_is_better(texts, monkeypatch):
    """As many rows later a challenger has directions of all rows; what it was takes over."""
    X, Y, weights = csr_array(texts[0]), texts[1], np.linspace(0.5, 2.0, N)
    weights[::2] = 1.0  # the unit, by any of these rows
    weights[1::4] = 1.0
    learner = EFCMLClassifier().fit(X[:120], Y[:120], weights[:120]).learner_
    learner.learn(X[120:240], Y[120:240], weights=weights[120:240])
    alone = EFCMLClassifier().fit(X[:240], Y[:240], weights[:240]).learner_
    other = learner.other
    assert_array_equal(other.projection.basis, alone.projection.basis)
    assert 391 in other.projection.columns  # which was always 0 in the first rows
    assert_array_equal(other.rules.W, alone.rules.W)
    assert_array_equal(other.stages[1].arrays.rows, alone.stages[1].arrays.rows)
    assert learner.watch[DUE] == 120 + 3 * 120
    monkeypatch.setattr("efcml.model.challenger.SURE", -np.inf)
    more, trace = slice(180, 240), Trace.for_rows(60, K)
    learner.learn(X[more], Y[more], trace)
    assert trace.events[-1] == (59, "began anew", "directions are due")
    assert learner.projection is other.projection and learner.rules.uid.min() > 0


@pytest.mark.uncompiled
def test_projected_rows_in_small(tmp_path):
    """Sparse and dense rows give the same, from a batch and from nothing, through a file."""
    rng = np.random.default_rng(0)
    X = (rng.random((60, 6)) < 0.4) * rng.uniform(0.5, 2.0, (60, 6))
    Y = (X[:, :2] > 0.0).astype(float)
    X[3, 1], X[40, 5] = np.nan, 99.0
    options = {"projection": 2, "prior": 1.0, "cases": 5, "warmup_rows": 20, "max_rules": 3}
    for begin in (30, 0):
        sparse, dense = (EFCMLClassifier(**options) for _ in range(2))
        if begin:
            sparse.fit(csr_array(X[:begin]), Y[:begin])
            dense.fit(X[:begin], Y[:begin])
        sparse.partial_fit(csr_array(X[begin : begin + 12]), Y[begin : begin + 12])
        dense.partial_fit(X[begin : begin + 12], Y[begin : begin + 12])
        save(sparse, tmp_path / "model.npz")
        sparse = load(tmp_path / "model.npz")
        for one in (sparse, dense):
            one.partial_fit(X[begin + 12 : begin + 20], Y[begin + 12 : begin + 20])
        assert states_of(sparse) == states_of(dense)
        scores = dense.decision_function(X[50:])
        assert_array_equal(sparse.decision_function(csr_array(X[50:])), scores)
        assert dense.learner_.width == 2 and np.isfinite(scores).all()


def test_late_and_constant_features_and_wild_values(texts):
    X, Y = texts
    clf = EFCMLClassifier().fit(X[10:130], Y[10:130])
    assert not set(clf.learner_.projection.columns) & {390, 391}
    assert clf.feature_relevance_.shape == (P,) and not clf.feature_relevance_[[390, 391]].any()
    row, other, wild = X[[150]], X[[150]], X[[150]]
    other[0, [390, 391]] = 77.0
    assert_array_equal(clf.decision_function(row), clf.decision_function(other))
    wild[0, 3] = 1e300
    assert np.abs(clf.decision_function(wild)).max() < 5.0
    nothing = EFCMLClassifier().fit(np.ones((30, P)), Y[:30])  # no feature varies
    assert np.isfinite(nothing.predict_proba(X[:5])).all()
    flags = np.arange(P) < 60
    chosen = EFCMLClassifier(relevance=flags).fit(X[:120], Y[:120])
    assert not chosen.feature_relevance_[60:].any()


def test_directions_are_orthonormal_and_hold_the_covariance_with_labels(texts):
    X, Y = np.nan_to_num(texts[0]), texts[1]
    found = Projection.from_rows(csr_array(X), Y, np.ones(N), 40)
    A, columns = X - X.mean(axis=0), found.columns
    deviation, there = A.std(axis=0)[columns], (X != 0.0).sum(axis=0)[columns]
    scale = np.sqrt(there / (there + 10.0)) / deviation
    Q = found.basis / scale[:, None]
    assert_allclose(Q.T @ Q, np.eye(40), atol=1e-9)
    C = (A[:, columns] * scale).T @ (Y - Y.mean(axis=0))
    assert_allclose(Q[:, :K] @ (Q[:, :K].T @ C), C, atol=1e-9)
    assert_allclose(found.rows(X), X[:, columns] @ found.basis, atol=1e-9)


def test_when_rows_are_projected():
    assert [directions("auto", p, 60) for p in (300, 301, 3000)] == [0, 92, 92]
    assert [directions("auto", 3000, k) for k in (1, 45, 374)] == [64, 77, 160]
    assert [directions(given, 20, 5) for given in (None, 8, 64)] == [0, 8, 20]
    for wrong in (0, True, "all", 1.5):
        with pytest.raises(ValueError, match="projection must be"):
            EFCMLClassifier(projection=wrong).fit(np.eye(30), np.eye(30)[:, :2])
    X = np.random.default_rng(0).normal(size=(60, 20))
    Y = (X[:, :3] > 0.0) * 1.0
    plain, narrow = EFCMLClassifier().fit(X, Y), EFCMLClassifier().fit(csr_array(X), Y)
    assert states_of(plain) == states_of(narrow) and plain.learner_.projection is None
    few = EFCMLClassifier(projection=8).fit(X, Y)
    assert few.learner_.width == 8 and (few.predict(X) == Y).mean() > 0.8


def test_dense_tables_are_left_to_relevance(tmp_path):
    """Some hundred features of which few values are 0: the useless ones are in no condition."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 320))
    Y = (X[:, :3] @ rng.normal(size=(3, 2)) > 0.0) * 1.0
    dense, sparse = EFCMLClassifier().fit(X, Y), EFCMLClassifier().fit(csr_array(X), Y)
    assert dense.learner_.projection is None and states_of(dense) == states_of(sparse)
    assert 0 < (dense.feature_relevance_ > 0.0).sum() < 40
    save(sparse.partial_fit(csr_array(X[:20]), Y[:20]), tmp_path / "model.npz")
    dense.partial_fit(X[:20], Y[:20])
    assert states_of(load(tmp_path / "model.npz")) == states_of(dense)
    held = EFCMLClassifier(warmup_rows=250).partial_fit(csr_array(X), Y)
    assert held.learner_.projection is None and held.learner_.directions == 0
    assert EFCMLClassifier().fit(X * (rng.random(X.shape) < 0.1), Y).learner_.projection is not None


def test_what_is_read_are_the_features_of_the_user(texts):
    X, Y = texts
    clf = EFCMLClassifier().fit(X[:200], Y[:200]).partial_fit(csr_array(X[200:]), Y[200:])
    names = [f"word{j}" for j in range(P)]
    clf.name_columns(names, [f"tag{k}" for k in range(K)])
    rules, seen = clf.rules_, csr_array(X[[250]])
    assert "word" in str(rules) and "part" not in str(rules)
    told = clf.explain(seen)
    added = told.by_feature.sum(axis=0) + told.by_cases + sum(told.afterwards.values())
    assert_allclose(told.base + added, told.score, atol=1e-9)
    assert_allclose(told.score - 0.5, clf.decision_function(seen)[0], atol=1e-12)
    own = {names[j] for j in np.flatnonzero(X[250])} - {"word390", "word391"}
    assert own <= set(told.feature_names)
    assert_allclose(np.sort(told.activation), np.sort(clf.activations(seen)[0]), atol=1e-9)
    strongest = {rules.feature_names[j] for j in np.argsort(-rules.importance().max(axis=1))[:10]}
    assert len({name for name in strongest if int(name[4:]) % 10 < 5 and int(name[4:]) < 60}) >= 8
    assert clf.trust(csr_array(X[:50])).rows == 50


def test_pipelines_hashing_studies_and_streams(texts):
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(500)])
    Y = (rng.random((120, 3)) < 0.4).astype(float)
    lines = [" ".join(words[rng.integers(500, size=12)]) + " yes" * int(y[0]) for y in Y]
    for vectorizer in (HashingVectorizer(), TfidfVectorizer()):
        pipeline = make_pipeline(vectorizer, EFCMLClassifier()).fit(lines[:80], Y[:80])
        assert prequential(pipeline, lines[80:], Y[80:]).scores.shape == (40, 3)
        assert pipeline.score(lines, Y) > 0.6
    X, Y = texts
    ds = datasets.from_arrays(csr_array(X), Y, n_initial=150)
    assert ds.initial[0].shape == (150, P) and ds.frames()[0][0].shape == (150, P)
    late = prequential(EFCMLClassifier().fit(*ds.initial), *ds.stream, delay=5)
    still = prequential(EFCMLClassifier().fit(*ds.initial), *ds.stream, learn=False)
    study = Study({"a": EFCMLClassifier(cases=0), "b": EFCMLClassifier(projection=16)}, data=[ds])
    table = study.run(jobs=1).table(("pa",))
    assert len(table) == 2 and min(late.pa, still.pa, table["pa"].min()) > 0.7
    with pytest.raises(TypeError, match=r"[Ss]parse.*toarray"):
        OneVsRestEFC().fit(*ds.initial)


def test_river_takes_words_that_come_and_go(texts):
    pytest.importorskip("river")
    from efcml.compat.river import RiverEFCML

    X, Y = np.nan_to_num(texts[0]), texts[1]
    model, clf = RiverEFCML(warmup_rows=150), EFCMLClassifier(warmup_rows=150)
    with pytest.warns(UserWarning, match="first came after the warm-up"):
        for x, y in zip(X, Y, strict=True):
            words = {f"w{j}": x[j] for j in np.flatnonzero(x)[::-1]}
            model.learn_one(words, dict(enumerate(y == 1.0)))
    order = [int(name[1:]) for name in model.feature_names]
    clf.partial_fit(csr_array(X[:, order]), Y)
    assert_allclose(model.learner.score(X[:, order]), clf.decision_function(X[:, order]) + 0.5)
    assert model.predict_one({"w1": 1.0, "never": 2.0}).keys() == set(range(K))


def test_sparse_arff_stays_sparse(tmp_path, texts):
    X, Y = np.nan_to_num(texts[0])[:40], texts[1][:40]
    names = [f"@attribute w{j} numeric" for j in range(P)]
    names += [f"@attribute y{k} {{0,1}}" for k in range(K)]
    rows = [
        "{" + ", ".join(f"{j} {value:.17g}" for j, value in enumerate(row) if value) + "}"
        for row in np.hstack([X, Y])
    ]
    (tmp_path / "a.arff").write_text("\n".join(["@relation a", *names, "@data", *rows]))
    labels = "".join(f'<label name="y{k}"/>' for k in range(K))
    (tmp_path / "a.xml").write_text(f"<labels>{labels}</labels>")
    ds = datasets.from_arff(tmp_path / "a.arff", tmp_path / "a.xml")
    assert isinstance(ds.X, csr_array)
    assert_array_equal(ds.X.toarray(), X)
    assert_array_equal(ds.Y, Y)


def test_drifting_topics_are_told_better_than_by_chance():
    ds = datasets.load("drifting-topics", n=900, p=600, K=10, seed=1)
    assert isinstance(ds.X, csr_array) and ds.marks["words"] == 333
    again = datasets.load("drifting-topics", n=900, p=600, K=10, seed=1)
    assert_array_equal(ds.X.data, again.X.data)
    result = prequential(EFCMLClassifier().fit(*ds.initial), *ds.stream)
    usual = np.tile(ds.initial[1].mean(axis=0), (len(result.Y), 1))
    assert result.pa > ((usual >= 0.5) == result.Y).mean() + 0.02 and result.ap > 0.6


def test_files_that_lie_about_projected_rows_are_refused(texts, tmp_path):
    clf = EFCMLClassifier().fit(*(part[:100] for part in texts))
    facts, arrays = clf.learner_.state()
    kind = type(clf.learner_)
    kind.from_state(facts, arrays)
    for part in ("projection", "rows"):
        others = {name: array for name, array in arrays.items() if not name.startswith(part)}
        with pytest.raises((ValueError, KeyError)):
            kind.from_state(facts, others)
    for name, entry in (("rows/indices", P), ("rows/ends", 10**6), ("projection/columns", P)):
        wrong = arrays[name].copy()
        wrong[-1] = entry
        with pytest.raises(ValueError, match=r"sparse rows|directions"):
            kind.from_state(facts, arrays | {name: wrong})
