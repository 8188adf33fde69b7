"""Pictures for reading: membership functions, cards, and which rule decided where."""

import numpy as np
import pytest
from helpers.models import fit_blocks
from numpy.testing import assert_allclose

from efcml import EFCMLClassifier, datasets, plots, prequential
from efcml.report import draw_run


def test_membership_functions_are_gaussians_in_bands():
    ax = plots.draw_memberships(
        [[0.0, 1.0], [-1.0, 2.0]], [[0.5, 1.0], [1.0, 0.25]], ["a", "b"], ["r", "s"]
    )
    curves = [line for line in ax.lines if len(line.get_xdata()) > 2]
    assert len(curves) == 4
    for line, (position, width, band) in zip(
        curves, [(0.0, 0.5, 1), (1.0, 1.0, 0), (-1.0, 1.0, 1), (2.0, 0.25, 0)], strict=True
    ):
        x, y = line.get_data()
        assert_allclose(y, band + 0.85 * np.exp(-0.5 * ((x - position) / width) ** 2))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["b", "a"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["r", "s"]
    with pytest.raises(ValueError, match="widths must be an array of shape"):
        plots.draw_memberships([[0.0]], [[1.0, 2.0]])


def test_a_card_shows_every_label():
    ax = plots.draw_rule_card(
        "rule 7",
        ["x is $high$", "y is low"],
        ["u", "v"],
        [0.9, 0.1],
        [0.8, 0.0],
        [1.0, 0.3],
        [0.5] * 2,
    )
    title = ax.get_title(loc="left").splitlines()
    assert title[0] == "rule 7"
    assert title[1].strip() == r"IF x is \$high\$"
    assert title[2].strip() == "AND y is low"
    said, usual = ax.collections[1:3]
    assert_allclose(said.get_offsets(), [[0.9, 1.0], [0.1, 0.0]])
    assert_allclose(usual.get_offsets(), [[0.5, 1.0], [0.5, 0.0]])
    ends = [path.vertices[:, 0].tolist() for path in ax.collections[0].get_paths()]
    assert ends == [[0.8, 1.0], [0.0, 0.3]]
    single = plots.draw_rule_card("r", ["OTHERWISE"], ["u"], [0.5], [0.4], [0.6], [0.5])
    assert single.get_title(loc="left").splitlines()[1].strip() == "OTHERWISE"
    one = plots.draw_rule_card("r", ["x is low"], ["u"], [0.5], [0.4], [0.6], [0.5])
    assert one.get_title(loc="left").splitlines()[1].strip() == "IF x is low"


def test_strips_show_the_share_of_rows():
    winners = np.array([0] * 300 + [2] * 300)
    ax = plots.draw_winners(winners, ["a", "b", "c"], first_row=100)
    (mesh,) = (part for part in ax.collections if hasattr(part, "get_coordinates"))
    shares = np.asarray(mesh.get_array()).reshape(3, 300)[::-1]
    assert_allclose(shares[0], np.arange(300) < 150)
    assert_allclose(shares[1], 0.0)
    assert_allclose(shares[2], np.arange(300) >= 150)
    assert ax.get_xlim() == (100.0, 699.0)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["c", "b", "a"]
    with pytest.raises(ValueError, match="winners must be numbers below 2"):
        plots.draw_winners([0, 2], ["a", "b"])


def test_rules_bring_what_is_drawn():
    rules = fit_blocks().rules_
    drawn = rules.memberships()
    assert drawn["feature_names"] == ["x0"]
    assert drawn["rule_names"] == [f"rule {rule.uid}" for rule in rules]
    usual = rules.background
    for i, rule in enumerate(rules):
        z = (rule.scaled_center[0] - usual.feature_means[0]) / usual.feature_spreads[0]
        assert drawn["positions"][i, 0] == pytest.approx(z)
        width = rule.scaled_sigma[0] / usual.feature_spreads[0]
        assert drawn["widths"][i, 0] == pytest.approx(width)
        card = rule.card()
        assert card["title"] == rule.title
        assert card["conditions"] == [str(term) for term in rule.terms]
        for tendency in rule.label_tendencies:
            k = rule.label_names.index(tendency.label)
            assert (card["low"][k], card["high"][k]) == (tendency.low, tendency.high)
    plots.draw_memberships(**drawn)
    plots.draw_rule_card(**rules[0].card())
    lone = fit_blocks(vigilance=1e9, splitting="off").rules_
    assert lone[0].card()["conditions"] == ["ALWAYS"]
    plots.draw_memberships(**lone.memberships())


def test_a_report_shows_who_decides():
    """The strips below the number of rules are those of the rules at the end."""
    ds = datasets.load("drifting-clusters", n=120, n_initial=60)
    clf = EFCMLClassifier(prior=1.0, bandwidth=1.0).fit(*ds.initial)
    result = prequential(clf, *ds.stream)
    clf.name_columns(ds.feature_names)
    X = ds.stream[0]
    figure = draw_run(result, clf, dataset=ds, first_row=60, X=X)["rules"]
    above, below = figure.axes
    assert above.get_ylabel() == "rules"
    names = [f"rule {rule.uid}" for rule in clf.rules_]
    assert [tick.get_text() for tick in below.get_yticklabels()] == names[::-1]
    (mesh,) = (part for part in below.collections if hasattr(part, "get_coordinates"))
    shares = np.asarray(mesh.get_array()).reshape(len(names), 60)[::-1]
    expected = np.zeros(shares.shape)
    expected[clf.activations(X).argmax(axis=1), np.arange(60)] = 1.0
    assert_allclose(shares, expected)
    assert len(draw_run(result, clf, dataset=ds, first_row=60)["rules"].axes) == 1
