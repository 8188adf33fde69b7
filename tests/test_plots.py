"""Pictures: what is drawn is what was given, and bad input is refused."""

import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest

from efcml import plots
from efcml.evaluation import PrequentialResult
from efcml.plots import style
from efcml.plots.stream import POINTS

EVENTS = [(0, "birth", 1), (2, "split", 3), (3, "birth", 2), (3, "merge", 1), (4, "drop", 2)]
Y, EVERY = np.ones((4, 1)), np.ones(4, bool)
GONE = ((1, "birth", 1), (2, "drop", 1))
SCORES = np.linspace(0, 1, 4)[:, None]
RESULT = PrequentialResult(Y, SCORES, 1 + np.arange(4), EVERY, GONE, 0.1, SCORES >= 0.5, SCORES)


def words(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []


def tick_words(axis):
    axis.axes.figure.draw_without_rendering()
    return [text.get_text() for text in axis.get_ticklabels() if text.get_text()]


def cells_of(ax):
    """Return the table that was drawn, masked cells as NaN; and the words of the bar."""
    values = np.ma.filled(ax.images[0].get_array().astype(float), np.nan)
    return values, ax.figure.axes[-1].get_ylabel()


def test_files_hold_words_and_are_the_same_every_time(tmp_path):
    contents, before = [], dict(matplotlib.rcParams)
    for _ in range(2):
        figure = plots.draw_trends({"a": [0.1, 0.2]}).figure
        files = plots.save_figure(figure, tmp_path / "one.of.many")
        assert [file.name for file in files] == ["one.of.many.png", "one.of.many.svg"]
        contents.append([file.read_bytes() for file in files])
    assert contents[0] == contents[1] and dict(matplotlib.rcParams) == before
    texts = ElementTree.fromstring(contents[0][1]).iter("{http://www.w3.org/2000/svg}text")
    assert {"a", "row", "partial accuracy"} <= {element.text for element in texts}


def test_only_the_style_ends_with_a_picture(monkeypatch):
    """A backend, which is loaded with the first figure, turns on what shows figures."""
    monkeypatch.setitem(matplotlib.rcParams, "interactive", False)
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 20.0)

    @style.styled
    def draw():
        matplotlib.interactive(True)
        return matplotlib.rcParams["font.size"]

    assert draw() == style.STYLE["font.size"] and draw() != 20.0
    assert matplotlib.is_interactive() and matplotlib.rcParams["font.size"] == 20.0


def test_trends_draw_results_values_and_pairs():
    curves = {"run": RESULT, "list": [0.25, 0.5], "pair": ([1, 2], [0, 1])}
    ax = plots.draw_trends(curves, first_row=100, marks={"slow": (20, 40), "sudden": 60})
    drawn = {line.get_label(): line.get_data() for line in ax.lines}
    assert_allclose(drawn["run"], [[100, 101, 102, 103], RESULT.pa_trend])
    assert_allclose(drawn["list"], [[100, 101], [0.25, 0.5]])
    assert_allclose(drawn["pair"], [[1, 2], [0, 1]])
    assert (words(ax), legend(ax)) == (["slow", "sudden"], [*curves])
    assert [text.xy[0] for text in ax.texts] == [30, 60]
    assert ax.patches[0].get_x() == 20 and ax.patches[0].get_width() == 20
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("row", "partial accuracy")
    values = np.linspace(0, 1, 4 * POINTS)
    values[:10] = np.nan
    x, y = plots.draw_trends({"a": values}).lines[0].get_data()
    assert POINTS <= len(x) <= 1.5 * POINTS
    assert not np.isnan(y).any() and (x[-1], y[-1]) == (4 * POINTS - 1, 1.0)


def test_several_orders_give_their_mean_and_a_band(rng):
    values, rows = rng.normal(size=(4, 30)), 100 + np.arange(30)
    values[2, :5] = np.nan
    ax = plots.draw_trends({"a": (rows, values), "b": (rows, values[0])})
    known = values[:, 5:]
    drawn = [line.get_ydata() for line in ax.lines[:3]]
    assert_allclose(drawn, [known.mean(axis=0), known.min(axis=0), known.max(axis=0)])
    assert ax.lines[0].get_xdata().tolist() == rows[5:].tolist()
    assert ax.get_xlabel().endswith("\nlines: mean of all orders, bands: lowest to highest")


def counted(rules, events):
    return SimpleNamespace(rules=np.array(rules), events=events)


def test_rule_counts_show_every_event():
    ax = plots.draw_rule_counts(RESULT, first_row=10)
    assert_array_equal(ax.lines[0].get_data(), [10 + np.arange(4), RESULT.rules])
    assert legend(ax) == ["births (1)", "drops (1)"]
    ax = plots.draw_rule_counts(counted([1, 1, 2, 2, 1], EVENTS), first_row=100)
    assert legend(ax) == ["births (2)", "splits (1)", "merges (1)", "drops (1)"]
    ticks = [[path[0, 0] for path in lines.get_segments()] for lines in ax.collections]
    assert ticks == [[100, 103], [102], [103], [104]]
    heights = [path[:, 1] for lines in ax.collections for path in lines.get_segments()]
    assert ax.get_ylim()[0] < min(map(min, heights)) and max(map(max, heights)) < 0.0
    assert min(ax.get_yticks()) == 0 and ax.get_xlim() == (100, 104)
    many = plots.draw_rule_counts(counted([1] * 300, [(i, "birth", i) for i in range(201)]))
    assert many.collections[0].get_rasterized()
    steps = plots.draw_rule_counts(counted([3] * 5000 + [4] * 5000, [])).lines[0]
    assert_array_equal(steps.get_data(), [[0, 5000, 9999], [3, 4, 4]])


def test_a_stream_without_events_says_so():
    nothing = "no rule was born, split, merged or dropped"
    assert words(plots.draw_rule_counts(counted([2, 2], []))) == [nothing]


def test_differences_are_filled_where_they_are_sure():
    ax = plots.draw_differences({"a": {"x": (-0.2, -0.3, -0.1), "y": (0.1, -0.1, 0.3)}})
    drawn = [(*line.get_xdata(), line.get_ydata()[0]) for line in ax.lines[1:]]
    assert drawn == [(-0.3, -0.1, 1), (-0.2, 1), (-0.1, 0.3, 2), (0.1, 2)]
    assert [ax.lines[i].get_markerfacecolor() for i in (2, 4)] == [style.COLORS[0], "white"]
    same = plots.draw_differences({"a": {"x": (0.0, 0.0, 0.0)}})
    assert same.get_xlim() == (-1.0, 1.0)


def test_spending_shows_curve_budget_and_reasons():
    reasons = {"novelty": [1, 2], "ambiguity": [], "random": [3]}
    ax = plots.draw_spending([(1, 0.05), (9, 0.4)], budget=0.1, reasons=reasons, unit="labels")
    assert legend(ax) == ["budget: 0.1", "novelty (2)", "ambiguity (0)", "random (1)"]
    assert_array_equal(ax.lines[0].get_xydata(), [[1, 0.05], [9, 0.4]])
    assert list(ax.lines[1].get_ydata()) == [0.1, 0.1]
    assert [path[0, 0] for path in ax.collections[0].get_segments()] == [1, 2]
    assert ax.get_ylabel() == "share of labels asked"
    assert min(ax.get_yticks()) == 0 and ax.get_xlim() == (0, 9) and ax.get_ylim()[1] > 0.4


def test_reliability_draws_bins_with_intervals_also_at_0_and_1():
    said, seen, counts = [0.1, np.nan, 0.75, 0.9], [0.0, np.nan, 0.5, 1.0], [10, 0, 40, 20]
    ax = plots.draw_reliability({"one": (said, seen, counts), "two": ([0.2], [0.9], [5])})
    diagonal, first, second = (line.get_xydata().tolist() for line in ax.lines)
    assert (diagonal, second) == ([[0, 0], [1, 1]], [[0.2, 0.9]])
    assert first == [[0.1, 0.0], [0.75, 0.5], [0.9, 1.0]]
    bars = ax.collections[0]
    for path, k, n in zip(bars.get_paths(), (0, 20, 20), (10, 40, 20), strict=True):
        wilson = binomtest(k, n).proportion_ci(method="wilson")
        assert path.vertices[:, 1].tolist() == pytest.approx([wilson.low, wilson.high], abs=1e-4)
        assert wilson.high - wilson.low > 0.1  # no bar vanishes
    assert legend(ax) == ["one", "two"]


def test_strips_show_the_share_of_rows():
    winners = np.array([0] * 301 + [2] * 299)
    ax = plots.draw_winners(winners, ["a", "b", "c"], first_row=100, marks={"drift": 400})
    first, second, third = ax.images[0].get_array()
    assert_allclose(first, [1.0] * 150 + [0.5] + [0.0] * 149)
    assert_allclose([second, third], [np.zeros(300), 1.0 - first])
    assert ax.images[0].get_extent()[:2] == [100, 700]
    assert (tick_words(ax.yaxis), words(ax)) == (["a", "b", "c"], ["drift"])
    assert ax.get_ylim() == (2.5, -0.5)  # the first on top


def ellipses(**changes):
    return plots.draw_ellipses(**{"centers": [[0, 0]], "covariances": [np.eye(2)]} | changes)


def test_ellipses_lie_one_deviation_from_their_centre(rng):
    A, center = rng.normal(size=(2, 2)) * [[1e-6], [1e6]], np.array([3.0, -1.0])
    (path,) = ellipses(centers=[center], covariances=[A @ A.T]).collections[0].get_paths()
    gaps = path.vertices[:-1] - center
    assert_allclose(np.sum(np.linalg.solve(A, gaps.T) ** 2, axis=0), 1.0, rtol=1e-6)
    rules = {"centers": [[0, 0], [2, 2]], "covariances": [np.eye(2)] * 2, "used": [True, False]}
    ax = ellipses(**rules, feature_names=["size", "age"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("size", "age")
    names = ["rule, one standard deviation", "rule that decides none of these rows"]
    assert ax.get_legend_handles_labels()[1] == names
    black, grey = ax.collections[:2]
    assert black.get_paths()[0].vertices.max() < 1.1 < grey.get_paths()[0].vertices.max()


def test_tables_show_the_strongest_features_and_the_labels_that_differ(rng):
    importance = np.array([[0.1, 0.2], [0.6, 0.8], [0.3, 0.0]])
    ax = plots.draw_importance(importance, ["a", "b", "c"], ["x", "y"], most=2)
    assert (tick_words(ax.yaxis), tick_words(ax.xaxis)) == (["b", "a"], ["x", "y"])
    assert_allclose(cells_of(ax)[0], importance[[1, 0]])
    assert (ax.get_ylabel(), cells_of(ax)[1]) == ("strongest 2 of 3 features", "importance")
    assert words(ax) == ["0.60", "0.80", "0.10", "0.20"] and ax.images[0].get_clim() == (0, 0.8)
    assert ax.get_ylim() == (1.5, -0.5)  # the first row on top
    assert tick_words(plots.draw_importance(importance).yaxis) == ["x1", "x0", "x2"]
    many = plots.draw_importance(rng.random((15, 101)))
    assert not words(many) and len(tick_words(many.xaxis)) == 34  # every third
    shares = [[0.5, 0.9, np.nan], [0.5, 0.1, 1.0]]
    ax = plots.draw_label_shares(shares, ["rule 3", "usual"], ["u", "$v", "w"], most=2)
    assert (tick_words(ax.yaxis), tick_words(ax.xaxis)) == (["rule 3", "usual"], [r"\$v", "w"])
    assert_allclose(cells_of(ax)[0], [[0.9, np.nan], [0.1, 1.0]])
    assert words(ax) == ["0.90", "0.10", "1.00"]


def test_relevance_shows_the_most_telling_features():
    ax = plots.draw_relevance([4.0, 0.0, 9.0], ["age", "weekday", "size"], most=2)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["size", "age"]
    assert ax.get_ylabel() == "most telling 2 of 3 features"
    assert [bar.get_width() for bar in ax.patches] == [9.0, 4.0]
    assert ax.get_xlabel() == "what it tells of the labels (dashed: as much as chance)"
    assert plots.draw_relevance([4.0, 0.0]).get_xlabel().endswith(", grey: left out)")


def test_names_are_short_and_fit():
    names = style.names_for(["Mean_Acc1298_Mean_Mem40_Centroid_of_all", "a $b$"], 2, "x")
    assert names == ["Mean_Acc1298_Mea…Centroid_of_all", r"a \$b\$"]
    with pytest.raises(ValueError, match="2 feature names for 1 features"):
        plots.draw_importance([[1.0]], ["a", "b"])
    with pytest.raises(ValueError, match="winners must be numbers below 2"):
        plots.draw_winners([0, 2], ["a", "b"])
    with pytest.raises(ValueError, match="'a' has 1 values for 2 rows"):
        plots.draw_trends({"a": ([1, 2], [0.1])})
    with pytest.raises(ValueError, match="give at least two models"):
        plots.draw_differences({"a": {}})
