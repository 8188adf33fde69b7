"""Pictures: what is drawn is what was given, and bad input is refused."""

import xml.etree.ElementTree as ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest

from efcml import plots
from efcml.evaluation import PrequentialResult
from efcml.plots import style
from efcml.plots.cells import order_labels
from efcml.plots.stream import POINTS

EVENTS = [(0, "birth", 1), (2, "split", 3), (3, "birth", 2), (3, "merge", 1), (4, "drop", 2)]
SIDE = np.linspace(-4, 4, 41)
Y, EVERY = np.ones((4, 1)), np.ones(4, bool)
GONE = ((1, "birth", 1), (2, "drop", 1))
SCORES = np.linspace(0, 1, 4)[:, None]
RESULT = PrequentialResult(Y, SCORES, 1 + np.arange(4), EVERY, GONE, 0.1)


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


def marks_of(ax):
    """Return the places of the marks in cells."""
    parts = [part for part in ax.collections if hasattr(part, "get_sizes")]
    places = [np.round(part.get_offsets()).astype(int).tolist() for part in parts]
    return [{*map(tuple, some)} for some in places]


def test_functions_use_the_axes_given_or_make_some():
    ax = plots.new_figure(9.0, 4.0).subfigures(1, 2)[1].subplots()
    assert plots.draw_winners([3, 3, 7], ax=ax) is ax
    nothing = (plots.draw_trends({}), plots.draw_rule_counts([]), plots.draw_consequents([]))
    nothing += (plots.draw_spending([], budget=1), plots.draw_ellipses([], [], points=[]))
    nothing += (plots.draw_label_correlation([]), plots.draw_memberships([], []))
    nothing += (plots.draw_rule_card("", [], None, [], [], [], []), plots.draw_winners([]))
    for one in (*nothing, plots.draw_importance([]), plots.draw_reliability({})):
        assert one.figure is not ax.figure
        one.figure.draw_without_rendering()


def test_files_hold_words_and_are_the_same_every_time(tmp_path):
    contents, before = [], dict(matplotlib.rcParams)
    for _ in range(2):
        figure = plots.draw_trends({"a": [0.1, 0.2]}).figure
        files = plots.save_figure(figure, tmp_path / "one.of.many")
        assert [file.name for file in files] == ["one.of.many.png", "one.of.many.svg"]
        contents.append([file.read_bytes() for file in files])
        assert isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine)  # as it was
    assert contents[0] == contents[1] and dict(matplotlib.rcParams) == before
    texts = ElementTree.fromstring(contents[0][1]).iter("{http://www.w3.org/2000/svg}text")
    assert {"a", "row", "partial accuracy"} <= {element.text for element in texts}


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
    assert ax.get_xlabel().endswith("\nlines: mean of 4 orders, bands: lowest to highest")


def test_rule_counts_of_results_and_of_several_models():
    ax = plots.draw_rule_counts(RESULT, first_row=10)
    assert_array_equal(ax.lines[0].get_data(), [10 + np.arange(4), RESULT.rules])
    assert legend(ax) == ["births (1)", "drops (1)"]
    assert legend(plots.draw_rule_counts({"one": RESULT, "two": [1, 2]}, cap=9)) == ["one", "two"]
    models = {"few": [0, 2, 5], "many": [90, 200, 310], "none": [0, 0, 0]}
    ax = plots.draw_rule_counts(models, EVENTS[:1], log=True)
    assert tick_words(ax.yaxis) == ["1", "2", "5", "10", "20", "50", "100", "200"]
    assert_array_equal(ax.lines[0].get_ydata(), [np.nan, 2, 5])
    assert legend(ax) == [*models, "few births (1)"]
    steps = plots.draw_rule_counts(np.repeat([3, 4], 5000)).lines[0]  # what can be seen, no more
    assert_array_equal(steps.get_data(), [[0, 5000, 9999], [3, 4, 4]])


def test_a_stream_without_events_says_so():
    nothing = "no rule was born, split, merged or dropped"
    for log in (False, True):
        assert words(plots.draw_rule_counts([2, 2], [], log=log)) == [nothing]
    assert words(plots.draw_rule_counts([2, 2])) == []  # events are not known


@pytest.mark.parametrize("log", [False, True])
def test_rule_counts_show_every_event(log):
    ax = plots.draw_rule_counts([1, 1, 2, 2, 1], EVENTS, first_row=100, cap=2, log=log)
    assert words(ax) == ["cap: 2 rules"]
    assert legend(ax) == ["births (2)", "splits (1)", "merges (1)", "drops (1)"]
    ticks = [[path[0, 0] for path in lines.get_segments()] for lines in ax.collections]
    assert ticks == [[100, 103], [102], [103], [104]]
    start = 1.0 if log else 0.0
    below = ax.transAxes.inverted().transform(ax.transData.transform((100, start)))[1]
    heights = [path[:, 1] for lines in ax.collections for path in lines.get_segments()]
    assert 0.0 < min(map(min, heights)) and max(map(max, heights)) < below
    assert min(ax.get_yticks()) == start and ax.get_xlim() == (100, 104)
    many = plots.draw_rule_counts([1] * 300, [(i, "birth") for i in range(201)])
    assert many.collections[0].get_rasterized()


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
    bars, dots = ax.collections[:2]
    for path, k, n in zip(bars.get_paths(), (0, 20, 20), (10, 40, 20), strict=True):
        wilson = binomtest(k, n).proportion_ci(method="wilson")
        assert path.vertices[:, 1].tolist() == pytest.approx([wilson.low, wilson.high], abs=1e-4)
        assert wilson.high - wilson.low > 0.1  # no bar vanishes
    assert_allclose(dots.get_sizes(), [8 + 82 * 2 / 7, 90, 8 + 82 * 4 / 7])
    assert legend(ax) == ["one", "two"]


def test_strips_show_the_share_of_rows():
    winners = np.array([0] * 301 + [2] * 299)
    ax = plots.draw_winners(winners, ["a", "b", "c"], first_row=100, marks={"drift": 400})
    first, second, third = ax.images[0].get_array()
    assert_allclose(first, [1.0] * 150 + [0.5] + [0.0] * 149)
    assert_allclose([second, third], [np.zeros(300), 1.0 - first])
    assert ax.get_xlim() == (100.0, 699.0) and ax.images[0].get_extent()[:2] == [100, 700]
    assert (tick_words(ax.yaxis), words(ax)) == (["a", "b", "c"], ["drift"])
    assert ax.get_ylim() == (2.5, -0.5)  # the first on top


def ellipses(**changes):
    return plots.draw_ellipses(**{"centers": [[0, 0]], "covariances": [np.eye(2)]} | changes)


def test_ellipses_lie_one_deviation_from_their_centre(rng):
    A, center = rng.normal(size=(2, 2)) * [[1e-6], [1e6]], np.array([3.0, -1.0])
    (path,) = ellipses(centers=[center], covariances=[A @ A.T]).collections[0].get_paths()
    gaps = path.vertices[:-1] - center
    assert_allclose(np.sum(np.linalg.solve(A, gaps.T) ** 2, axis=0), 1.0, rtol=1e-6)
    x, y = np.meshgrid(SIDE, SIDE)
    values = np.array([np.exp(-((x - a) ** 2) - y**2) for a in (-1.5, 1.5)])
    rules = {"centers": [[-1.5, 0], [1.5, 0]], "covariances": [np.eye(2)] * 2}
    ax = ellipses(**rules, activation=(SIDE, SIDE, values))
    assert_allclose(ax.collections[0].get_array(), values.max(axis=0))
    borders = [part for part in ax.collections if part.get_zorder() == 0.5]
    corners = np.concatenate([path.vertices for part in borders for path in part.get_paths()])
    assert_allclose(corners[:, 0], 0.0, atol=1e-9)  # where both are equal
    assert 0.3 < np.abs(corners[:, 1]).max() < 2.0  # further out both are nearly 0
    samples = {"points": [[0, 0], [1, 1]], "present": [True, False], "used": [True, False]}
    rules = {"centers": [[0, 0], [2, 2]], "covariances": [np.eye(2)] * 2}
    ax = ellipses(**rules, **samples, feature_names=["size", "age"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("size", "age")
    names = ["label absent", "label present", "rule, one standard deviation"]
    assert ax.get_legend_handles_labels()[1] == [*names, "rule that decides none of these rows"]
    absent, present, black, grey = ax.collections[:4]
    assert (absent.get_offsets().tolist(), present.get_offsets().tolist()) == ([[1, 1]], [[0, 0]])
    assert black.get_paths()[0].vertices.max() < 1.1 < grey.get_paths()[0].vertices.max()


def test_membership_functions_are_gaussians_in_bands_and_flags_are_bars():
    centers, widths = [[0.0, 1.0], [-1.0, 2.0]], [[0.5, 1.0], [1.0, 0.25]]
    ax = plots.draw_memberships(centers, widths, ["a", "b"], ["r", "s"])
    curves = [line.get_data() for line in ax.lines if len(line.get_xdata()) > 2]
    places = [(0.0, 0.5, 1), (1.0, 1.0, 0), (-1.0, 1.0, 1), (2.0, 0.25, 0)]
    for (x, y), (position, width, band) in zip(curves, places, strict=True):
        assert_allclose(y, band + 0.85 * np.exp(-0.5 * ((x - position) / width) ** 2))
    assert (tick_words(ax.yaxis), legend(ax)) == (["b", "a"], ["r", "s"])
    assert words(ax) == ["very low", "low", "medium", "high", "very high"]
    assert [text.xy[0] for text in ax.texts] == [-2.25, -1.0, 0.0, 1.0, 2.25]
    shares = [[np.nan, 0.25], [np.nan, 1.0]]
    mixed = plots.draw_memberships(centers, widths, ["a", "b"], ["r", "s"], shares=shares)
    bars = [bar.patches[0] for bar in mixed.containers]  # of the column of 0 and 1
    assert_allclose([bar.get_height() for bar in bars], [0.15, 0.6])
    assert tick_words(mixed.yaxis) == ["b: yes", "a"]
    assert words(mixed)[:2] == ["25 %", "100 %"]
    assert sum(len(line.get_xdata()) > 2 for line in mixed.lines) == 2
    flags = plots.draw_memberships(centers, widths, shares=[[0.0, 1.0], [0.5, 0.5]])
    assert words(flags) == ["0 %", "100 %", "50 %", "50 %"] and not flags.get_xlabel()


def test_a_card_shows_every_label():
    shares = [0.9, 0.1], [0.8, 0.0], [1.0, 0.3], [0.5] * 2
    ax = plots.draw_rule_card("rule 7", ["x is $high$", "y is low"], ["u", "v"], *shares)
    title = [line.strip() for line in ax.get_title(loc="left").splitlines()]
    assert title == ["rule 7", r"IF x is \$high\$", "AND y is low"]
    dots, usual = ax.collections[1:3]
    assert_allclose(dots.get_offsets(), [[0.9, 0.0], [0.1, 1.0]])
    assert_allclose(usual.get_offsets(), [[0.5, 0.0], [0.5, 1.0]])
    ends = [path.vertices[:, 0].tolist() for path in ax.collections[0].get_paths()]
    assert ends == [[0.8, 1.0], [0.0, 0.3]]
    assert tick_words(ax.yaxis) == ["u", "v"]
    for condition, start in (("OTHERWISE", ""), ("x is low", "IF ")):
        one = plots.draw_rule_card("r", [condition], ["u"], [0.5], [0.4], [0.6], [0.5])
        assert one.get_title(loc="left").splitlines()[1].strip() == start + condition


def test_things_without_names_are_called_as_rules_call_them():
    assert tick_words(plots.draw_consequents([[0.1, 0.2]]).yaxis) == ["x1", "x0"]
    assert tick_words(plots.draw_importance([[0.1, 0.2]]).xaxis) == ["label0", "label1"]
    ax = ellipses()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "x1")
    assert legend(plots.draw_memberships([[0.0]], [[1.0]])) == ["rule 0"]
    names = style.names_for(["Mean_Acc1298_Mean_Mem40_Centroid_of_all", "a $b$"], 2, "x")
    assert names == ["Mean_Acc1298_Mea…Centroid_of_all", r"a \$b\$"]
    assert style.names_for(["a", "a"], 2, "x") == ["a (0)", "a (1)"]


def test_every_pair_of_labels_is_drawn_once():
    correlation = np.array([[1.0, 0.1, 0.8], [0.1, 1.0, -1.0000001], [0.8, -1.0000001, 1.0]])
    ax = plots.draw_label_correlation(correlation, ["a", "b", "c"])
    across, down = tick_words(ax.xaxis), tick_words(ax.yaxis)
    table = {down[i] + across[j]: v for (i, j), v in np.ndenumerate(cells_of(ax)[0])}
    drawn = {frozenset(pair): value for pair, value in table.items() if not np.isnan(value)}
    assert drawn == {frozenset("ab"): 0.1, frozenset("ac"): 0.8, frozenset("bc"): -1.0}
    gap = np.array([[np.nan] * 3, [np.nan, 1.0, -0.5], [np.nan, -0.5, 1.0]])
    ax = plots.draw_label_correlation(gap, ["never", "a", "b"])
    assert tick_words(ax.yaxis) == ["b", "never"]  # unknown ones are last
    assert (marks_of(ax), cells_of(ax)[1]) == ([{(0, 1), (1, 1)}], "correlation (cross: unknown)")
    angles = np.radians([0, 170, 10, 180, 350, 190])
    order = order_labels(np.cos(angles[:, None] - angles))  # starts after the widest gap
    assert {*order[:3].tolist()} in ({0, 2, 4}, {1, 3, 5}) and order[0] < order[-1]


def test_tables_show_the_strongest_features_first():
    slopes = np.array([[0.1, -0.9, 0.0, 0.3], [0.1, 0.2, 0.05, -0.7]])
    ax = plots.draw_consequents(slopes, list("abcd"), ["up", "down"], most=3)
    assert (tick_words(ax.yaxis), tick_words(ax.xaxis)) == (["b", "d", "a"], ["up", "down"])
    values, bar = cells_of(ax)
    assert_allclose(values, slopes[:, [1, 3, 0]].T)
    assert words(ax) == ["−0.90", "0.20", "0.30", "−0.70", "0.10", "0.10"]
    assert ax.get_ylim() == (2.5, -0.5)  # the first row on top
    assert (ax.get_ylabel(), bar) == ("strongest 3 of 4 features", "slope")
    assert ax.images[0].get_clim() == (-0.9, 0.9)
    assert plots.draw_consequents(slopes).get_ylabel() == "features, strongest first"
    importance = np.array([[0.1, 0.2], [0.6, 0.8], [0.3, 0.0]])
    ax = plots.draw_importance(importance, ["a", "b", "c"], ["x", "y"], most=2)
    assert tick_words(ax.yaxis) == ["b", "a"]
    assert_allclose(cells_of(ax)[0], importance[[1, 0]])
    assert (cells_of(ax)[1], ax.images[0].get_clim()) == ("importance", (0, 0.8))


def test_numbers_give_way_to_signs(rng):
    slopes = rng.choice([-1.0, 0.5, -0.01], size=(14, 20))
    ax = plots.draw_consequents(slopes, most=20)
    values, bar = cells_of(ax)
    assert (words(ax), bar) == ([], "slope (line in a cell: negative)")
    assert marks_of(ax) == [{(column, row) for row, column in np.argwhere(values < -0.5).tolist()}]
    for scale in (1e-5, 1e6):  # unwieldy numbers are not written
        ax = plots.draw_consequents(scale * np.array([[1.0, -1.0]]))
        assert (words(ax), marks_of(ax)) == ([], [{(0, 1)}])
    many = plots.draw_importance(rng.random((15, 101)))
    assert not words(many) and not marks_of(many)
    assert len(tick_words(many.xaxis)) == 34  # every third
    assert words(plots.draw_importance([[0.04], [0.0]])) == ["0.040", "0.000"]
    assert words(plots.draw_consequents([[400, -1e-9]])) == ["400", "0"]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.draw_consequents([1.0]), r"^slopes must be an array of shape \(any, any\)"),
        (lambda: plots.draw_consequents([[1.0]], ["a", "b"]), "2 feature names for 1 features"),
        (lambda: plots.draw_consequents([[1.0]], most=0), "most must be at least 1, not 0"),
        (lambda: plots.draw_importance([[-0.1]]), "must not be negative"),
        (lambda: plots.draw_label_correlation([[1.0, 0.0]]), r"of shape \(1, 1\), not \(1, 2\)"),
        (lambda: plots.draw_memberships([[0.0]], [[1.0, 2.0]]), "widths must be an array of shape"),
        (lambda: plots.draw_winners([0, 2], ["a", "b"]), "winners must be numbers below 2"),
        (lambda: plots.draw_rule_counts([1], [(0, "death")]), "'death' is no kind of event"),
        (lambda: plots.draw_spending([], budget=0), "budget must be above 0, not 0"),
        (lambda: plots.draw_differences({"a": {}}), "give at least two models"),
        (lambda: ellipses(covariances=[np.eye(2)] * 2), "^covariances must be an array"),
        (lambda: ellipses(points=[[0, 0]], present=[1, 0]), "^present must be an array"),
        (lambda: ellipses(activation=(SIDE, SIDE[1:], np.zeros((1, 41, 41)))), "^activations must"),
        (lambda: ellipses(region=(), activation=()), "one background"),
        (lambda: plots.draw_reliability([1, 2]), "^Give curves with their names"),
        (lambda: plots.draw_reliability({"a": ([0.1], [0.2])}), "^'a' must be three arrays"),
        (lambda: plots.draw_trends([0.5, 0.6]), '^Give curves with their names, as in {"mine": '),
        (lambda: plots.draw_trends({"a": "words"}), r"^'a', if no result .* not a str\.$"),
        (lambda: plots.draw_trends({"a": ([1, 2], [0.1])}), "'a' must have shape .* n = 2 rows"),
        (lambda: plots.draw_trends({"a": ([1, 2], np.zeros((0, 2)))}), "'a' must have shape"),
        (lambda: ellipses(centers=[[1.0], [1.0, 2.0]]), "not a list"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
