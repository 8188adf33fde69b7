"""Flags and categories: how they are found, kept, and read in sentences a person can check."""

import json

import numpy as np
import pytest
from helpers.models import TWO_RULES, freeze
from numpy.testing import assert_allclose, assert_array_equal

from efcml import ChainEFC, EFCMLClassifier, OneVsRestEFC, load, prequential, save
from efcml.cli import main
from efcml.explain.columns import ColumnKinds, common_beginnings, find_flags
from efcml.explain.phrases import flag_term, group_term
from efcml.saving.models import expected, pack, unpack
from efcml.saving.older_files import up_to_date

pd = pytest.importorskip("pandas")

NAMES = ["age", "maintained", "machine_A", "machine_B", "machine_C", "shift_early", "shift_new"]
SMALL = TWO_RULES | {"warmup_rows": 30}


def workshop(n=120, seed=3):
    """First new machines A and B, maintained; then as many rows of old machine C, not maintained.

    Old machines fail. `shift_early` and `shift_new` share a beginning but are no group.
    """
    rng = np.random.default_rng(seed)
    old = np.arange(n) >= n // 2
    age = np.where(old, 20.0, 5.0) + rng.normal(size=n)
    machine = np.where(old, "C", rng.choice(["A", "B"], n))
    shifts = rng.integers(0, 2, (n, 2))
    X = pd.DataFrame({"age": age, "maintained": (~old).astype(int)})
    X["machine"] = pd.Categorical(machine)
    X["shift_early"], X["shift_new"] = shifts.T
    return X, pd.DataFrame({"fails": old.astype(int), "early": shifts[:, 0]})


def dummies(X):
    """The same table with a column for every machine."""
    return pd.get_dummies(X, columns=["machine"], dtype=float)[NAMES]


# -- sentences --------------------------------------------------------------------------------


def test_sentences_about_a_workshop():
    """Three groups of rows: the old machine, and the new ones in the early shift or not."""
    X, Y = workshop()
    rules = EFCMLClassifier(**TWO_RULES).fit(X, Y).rules_
    assert [rule.antecedent for rule in rules] == [
        "machine is C (100 %)",
        "machine is A or B (100 %) AND shift_early is no (100 %)",
        "shift_early is yes (100 %) AND machine is A or B (100 %) AND maintained is yes (100 %)",
    ]
    assert [rule.consequent for rule in rules] == [
        "fails 1.00 (.94 to 1.00, usual .50)",
        "fails .00 (.00 to .09, usual .50), early .00 (.00 to .09, usual .43)",
        "early 1.00 (.85 to 1.00, usual .43), fails .00 (.00 to .15, usual .50)",
    ]
    assert rules[0].trends[0].startswith("early rises with shift_early +.9")
    assert "=" not in str(rules) and "-0.0" not in str(rules) and "medium" not in str(rules)


def test_every_row_is_where_its_sentence_says():
    """The conditions of a rule hold for the rows that it wins, and for no others."""
    X, Y = workshop()
    clf = EFCMLClassifier(**TWO_RULES).fit(X, Y)
    early, old = X["shift_early"] == 1, X["machine"] == "C"
    expected = np.select([old, ~early], [0, 1], 2)
    assert_array_equal(clf.activations(X).argmax(axis=1), expected)


def test_dummy_columns_are_read_as_the_category_is():
    X, Y = workshop()
    table = dummies(X)
    ours = EFCMLClassifier(**TWO_RULES).fit(X, Y)
    frame = EFCMLClassifier(**TWO_RULES).fit(table, Y)
    array = EFCMLClassifier(**TWO_RULES).fit(table.to_numpy(), Y.to_numpy())
    array.name_columns(NAMES, ["fails", "early"])
    for clf in (frame, array):
        assert str(clf.rules_) == str(ours.rules_)


def test_only_columns_of_which_one_is_1_are_a_group():
    X, Y = workshop()
    variables = EFCMLClassifier(**TWO_RULES).fit(dummies(X), Y).rules_.background.columns.variables
    assert [(thing.name, thing.kind) for thing in variables] == [
        ("age", "number"),
        ("maintained", "flag"),
        ("machine", "group"),
        ("shift_early", "flag"),
        ("shift_new", "flag"),
    ]
    assert variables[2].values == ("A", "B", "C")


@pytest.mark.parametrize("cases", [0, 20])
def test_groups_are_found_with_and_without_remembered_rows(cases):
    X, Y = workshop()
    clf = EFCMLClassifier(**TWO_RULES, cases=cases).fit(dummies(X), Y)
    assert [group.name for group in clf.rules_.background.columns.groups] == ["machine"]


def test_groups_can_be_given():
    X, Y = workshop()
    table = dummies(X).rename(columns={"machine_A": "a", "machine_B": "b", "machine_C": "c"})
    clf = EFCMLClassifier(**TWO_RULES).fit(table, Y)
    assert clf.rules_.background.columns.groups == ()
    clf.name_columns(groups={"machine": ["a", "b", "c"]})
    assert clf.rules_[0].antecedent == "machine is c (100 %)"
    for groups, reason in (
        ({"m": ["a", "age"]}, "group 'm': 'age' is no column of 0 and 1"),
        ({"m": ["a", "z"]}, "group 'm': 'z' is no column of 0 and 1"),
        ({"m": ["a"]}, "two columns or more"),
        ({"m": ["a", "b"], "n": ["b", "c"]}, "none in two groups"),
    ):
        with pytest.raises(ValueError, match=reason):
            EFCMLClassifier(**TWO_RULES).fit(table, Y).name_columns(groups=groups)


def test_an_explanation_names_the_value():
    X, Y = workshop()
    why = EFCMLClassifier(**TWO_RULES).fit(X, Y).explain(X.iloc[0])
    text = str(why)
    moved = " ".join(line for line in text.splitlines() if line.startswith(("fails", "early")))
    assert "machine=" not in moved
    assert "(yes)" in moved or "(no)" in moved
    total = why.by_variable.sum(axis=0) + why.base + why.by_cases
    assert_allclose(total, why.score, atol=1e-9)
    assert len(why.by_variable) == 5


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([0.95, 0.05, 0.0, 0.0], "machine is A (95 %)"),
        ([0.5, 0.0, 0.45, 0.05], "machine is A or C (95 %)"),
        ([0.0, 0.35, 0.35, 0.3], "machine is not A (100 %)"),
        ([0.3, 0.25, 0.23, 0.22], "machine is often A (30 %)"),
        ([-0.001, 1.001, 0.0, 0.0], "machine is B (100 %)"),
    ],
)
def test_words_of_groups(shares, words):
    usual = np.full(4, 0.25)
    assert str(group_term("machine", "ABCD", np.array(shares), usual)) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [(1.0, "yes (100 %)"), (0.6, "mostly yes (60 %)"), (0.3, "mostly no (70 %)"), (-0.01, "no")],
)
def test_words_of_flags(share, words):
    assert str(flag_term("wet", share)).startswith(f"wet is {words}")


# -- how they are found and kept --------------------------------------------------------------


def test_categories_become_columns_of_0_and_1():
    X, Y = workshop()
    ours = EFCMLClassifier(**TWO_RULES).fit(X, Y)
    table = pd.concat(
        [X[["age", "maintained"]], pd.get_dummies(X["machine"], dtype=float), X.iloc[:, 3:]], axis=1
    )
    plain = EFCMLClassifier(**TWO_RULES).fit(table.to_numpy(), Y.to_numpy())
    assert ours.n_features_in_ == 5
    assert ours.feature_names_in_.tolist() == list(X.columns)
    assert freeze(ours.learner_) == freeze(plain.learner_)
    assert_array_equal(ours.decision_function(X), plain.decision_function(table.to_numpy()))
    rows = X.astype(object)
    assert_array_equal(ours.decision_function(rows), ours.decision_function(X))
    assert_array_equal(ours.explain(X.iloc[7]).x, table.to_numpy()[7])
    assert_array_equal(ours.explain(rows.to_numpy()[7]).x, table.to_numpy()[7])


def test_unknown_values_are_none_of_the_known():
    X, Y = workshop()
    clf = EFCMLClassifier(**TWO_RULES).fit(X, Y)
    for value, code, said in (("Z", 0.0, "another"), (None, np.nan, "not given")):
        strange = X[:1].assign(machine=pd.Categorical([value], categories=["Z", "C"]))
        for rows in (strange, strange.astype(object)):
            assert_array_equal(clf.check_features(rows)[0, 2:5], [code] * 3)
        assert clf.explain(strange.iloc[0])._value(clf._column_kinds().variables[2]) == (
            f"machine ({said})"
        )
    other = X[:2].assign(machine=pd.Categorical(["C", "A"], categories=["C", "A"]))
    assert clf.check_features(other)[:, 2:5].tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]


def test_a_stream_of_categories():
    X, Y = workshop()
    whole = EFCMLClassifier(**SMALL).partial_fit(X, Y)
    rows = EFCMLClassifier(**SMALL)
    for t in range(len(X)):
        rows.partial_fit(X[t : t + 1], Y[t : t + 1])
    assert freeze(rows) == freeze(whole)
    result = prequential(EFCMLClassifier(**SMALL).fit(X[:60], Y[:60]), X[60:], Y[60:])
    assert len(result.scores) == 60


def test_a_new_fit_forgets_categories():
    X, Y = workshop()
    clf = EFCMLClassifier(**TWO_RULES).fit(X, Y).fit(dummies(X), Y)
    assert clf.n_features_in_ == 7
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(X)


def test_text_is_still_refused():
    X, Y = workshop()
    with pytest.raises(ValueError, match="make it a category"):
        EFCMLClassifier().fit(X.assign(machine=X["machine"].astype(object)), Y)
    with pytest.raises(ValueError, match="category without any value"):
        EFCMLClassifier().fit(X.assign(machine=pd.Categorical([None] * len(X))), Y)


@pytest.mark.parametrize("kind", [EFCMLClassifier, OneVsRestEFC, ChainEFC])
@pytest.mark.parametrize("split", [1, 7, 1000])
def test_flags_are_those_of_the_rows_that_were_fitted(kind, split):
    X = np.tile([[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]], (30, 1)).astype(float)
    X += np.random.default_rng(0).normal(size=(60, 1)) * [1.0, 0.0, 0.0]
    Y = np.tile([[0.0, 1.0], [1.0, 0.0]], (30, 1))
    Y[4] = np.nan
    X[4, 1] = 0.3  # not learned
    X[41:, 1] = 0.5  # after the warm-up
    X[39, 2] = 7.0
    for warmup, flags in ((30, [False, True, True]), (40, [False, True, False])):
        clf = kind(**TWO_RULES, warmup_rows=warmup)
        for t in range(0, 60, split):
            clf.partial_fit(X[t : t + split], Y[t : t + split])
        assert clf._flags.tolist() == flags
        used = ~np.isnan(Y).all(axis=1)
        rows = np.flatnonzero(used)[:warmup]
        assert kind(**TWO_RULES).fit(X[rows], Y[rows])._flags.tolist() == flags


def test_files_keep_kinds_of_columns(tmp_path):
    X, Y = workshop()
    given = EFCMLClassifier(**TWO_RULES).fit(dummies(X).to_numpy(), Y.to_numpy())
    given.name_columns(list("abcdefg"), groups={"machine": ["c", "d", "e"]})
    whole = X.assign(machine=pd.Categorical(X["machine"].cat.codes))
    for clf, table in (
        (EFCMLClassifier(**TWO_RULES).fit(X, Y), X),
        (EFCMLClassifier(**TWO_RULES).fit(whole, Y), whole),
        (OneVsRestEFC(**TWO_RULES).fit(X, Y), X),
        (given, pd.DataFrame(dummies(X).to_numpy(), columns=list("abcdefg"))),
    ):
        save(clf, tmp_path / "model.npz")
        copy = load(tmp_path / "model.npz")
        assert freeze(copy) == freeze(clf)
        assert str(copy.rules_) == str(clf.rules_)
        assert_array_equal(copy.predict(table), clf.predict(table))
    dates = X.assign(machine=pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"] * 60)))
    with pytest.raises(ValueError, match="cannot be saved: use words or numbers"):
        save(EFCMLClassifier(**TWO_RULES).fit(dates, Y), tmp_path / "model.npz")


def test_files_that_say_nothing_of_columns_are_read():
    """Those of 0.1.0 are: all columns count as numbers."""
    X, Y = workshop()
    facts, arrays = pack(EFCMLClassifier(**TWO_RULES).fit(dummies(X), Y))
    del facts["fitted"]["columns"]
    facts = up_to_date({"format_version": 1, "content": facts})["content"]
    expected(facts)
    clf = unpack(facts, arrays)
    assert {thing.kind for thing in clf.rules_.background.columns.variables} == {"number"}
    assert clf.predict(dummies(X)).shape == (120, 2)


def test_labels_of_a_chain_are_flags():
    X, Y = workshop()
    rules = ChainEFC(**TWO_RULES, order=[0, 1]).fit(X, Y).rules_["early"]
    assert rules.background.columns.variables[-1][:3] == ("fails", (7,), "flag")


def test_flags_and_names():
    X = np.array([[0.0, 1.0, 0.5, 2.0], [1.0, 1.0, 1.0, 0.0]])
    assert find_flags(X).tolist() == [True, True, False, False]
    assert find_flags(X[:0]).tolist() == [True] * 4
    names = ["a_x", "a_y", "b=1", "b=2", "c", "_d"]
    assert common_beginnings(names) == {"a": {0: "x", 1: "y"}, "b": {2: "1", 3: "2"}}
    assert ColumnKinds.of_numbers(["a", "b"]).variables == (
        ("a", (0,), "number", ()),
        ("b", (1,), "number", ()),
    )


def test_the_command_line_takes_categories(tmp_path, capsys):
    X, Y = workshop()
    clf = EFCMLClassifier(**TWO_RULES).fit(X, Y)
    save(clf, tmp_path / "model.npz")
    rows = X[58:62].assign(machine=["A", "Z", "C", "C"], note="text")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    assert main(["predict", str(tmp_path / "model.npz"), str(tmp_path / "rows.csv"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert_allclose(answer["scores"], clf.decision_function(rows[X.columns]) + 0.5, atol=1e-12)
    assert (
        main(["explain", str(tmp_path / "model.npz"), "--sample", str(tmp_path / "rows.csv")]) == 0
    )
    text = capsys.readouterr().out
    assert str(clf.explain(rows[X.columns].iloc[2])) in text
    whole = X.assign(machine=pd.Categorical(X["machine"].cat.codes))
    save(EFCMLClassifier(**TWO_RULES).fit(whole, Y), tmp_path / "model.npz")
    whole[58:62].to_csv(tmp_path / "rows.csv", index=False)
    assert main(["predict", str(tmp_path / "model.npz"), str(tmp_path / "rows.csv"), "--json"]) == 0
    again = np.array(json.loads(capsys.readouterr().out)["scores"])
    assert_array_equal(again[2:], np.array(answer["scores"])[2:])
    (tmp_path / "rows.csv").write_text("age,maintained,machine,shift_early,shift_new\n1,1\n")
    assert main(["predict", str(tmp_path / "model.npz"), str(tmp_path / "rows.csv")]) == 2
    assert "2 fields for 5 columns" in capsys.readouterr().err
