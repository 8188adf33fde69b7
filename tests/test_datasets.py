import errno
import hashlib
import inspect
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_equal
from sklearn.cluster import KMeans

from efcml import EFCMLClassifier, datasets
from efcml.datasets import DatasetNotFound, arff, catalog, drift_streams, synthetic
from efcml.datasets import csv_tables as tables
from efcml.datasets.built_in import GENERATORS
from efcml.datasets.catalog import CATALOG, Dataset

DATA = Path(__file__).parent / "data"
TINY_ARFF = DATA / "tiny.arff"
TINY_XML = DATA / "tiny.xml"

# name: p, N, K, initial and stream rows, cardinality, majority-label PA, rows without any label
TABLE = {
    "emotions": (72, 593, 6, 391, 202, 1.868, 0.689, 0),
    "yeast": (103, 2417, 14, 1500, 917, 4.237, 0.768, 0),
    "birds": (260, 645, 19, 322, 323, 1.014, 0.947, 294),
    "water-quality": (16, 1060, 14, 530, 530, 5.073, 0.658, 6),
    "mediamill": (120, 43907, 101, 30993, 12914, 4.376, 0.965, 1730),
}


def load_or_skip(name):
    try:
        return datasets.load(name)
    except DatasetNotFound as error:
        pytest.skip(str(error))


def one_line(excinfo):
    message = str(excinfo.value)
    assert "\n" not in message
    return message


# --- published data


@pytest.mark.parametrize("name", TABLE)
def test_published_set_has_the_published_properties(name):
    p, n, K, n_initial, n_stream, cardinality, majority, empty = TABLE[name]
    ds = load_or_skip(name)
    assert ds.X.shape == (n, p)
    assert ds.Y.shape == (n, K)
    assert (len(ds.initial[0]), len(ds.stream[0])) == (n_initial, n_stream)
    assert set(np.unique(ds.Y)) == {0.0, 1.0}
    assert round(ds.Y.sum(axis=1).mean(), 3) == cardinality
    frequency = ds.Y.mean(axis=0)
    assert round(np.maximum(frequency, 1 - frequency).mean(), 3) == majority
    assert (ds.Y.sum(axis=1) == 0).sum() == empty
    record = CATALOG[name]
    assert (record.p, record.n, record.K, record.n_initial) == (p, n, K, n_initial)


@pytest.mark.parametrize("name", TABLE)
def test_files_have_the_recorded_checksums(name):
    record = CATALOG[name]
    try:
        paths = catalog.find_files(record)
    except DatasetNotFound as error:
        pytest.skip(str(error))
    for file, expected in record.files.items():
        assert hashlib.sha256(paths[file].read_bytes()).hexdigest() == expected
        assert paths[file].stat().st_size == record.sizes.get(file, 18804535)


def test_birds_names_and_nominal_features():
    ds = load_or_skip("birds")
    assert "Swainson's Thrush" in ds.label_names
    assert ds.feature_names[-2:] == ("hasSegments", "location")
    assert set(np.unique(ds.X[:, -2])) == {0, 1}
    assert {2, 17} <= set(np.unique(ds.X[:, -1])) <= {2, 10, 1, 7, 5, 4, 17, 15, 16, 8, 13, 11}


def test_rows_and_values_are_those_of_the_files():
    ds = load_or_skip("emotions")
    folder = catalog.find_files(CATALOG["emotions"])
    for file, row in (("emotions-train.arff", 0), ("emotions-test.arff", ds.n_initial)):
        lines = folder[file].read_text().lower().splitlines()
        first = lines[lines.index("@data") + 1]
        expected = [float(token) for token in first.split(",")]
        np.testing.assert_array_equal(np.r_[ds.X[row], ds.Y[row]], expected)


def test_labels_keep_the_order_of_the_arff_file_not_of_the_xml():
    ds = load_or_skip("yeast")
    assert ds.label_names == tuple(f"Class{i}" for i in range(1, 15))


def test_water_quality_labels_are_presence():
    ds = load_or_skip("water-quality")
    _, values, _ = arff.read_arff(
        catalog.find_files(CATALOG["water-quality"])["water-quality.arff"]
    )
    assert set(np.unique(values[:, 16:])) == {0, 1, 3, 5}
    np.testing.assert_array_equal(ds.Y, values[:, 16:] > 0)


def test_n_initial_of_a_published_set_can_be_chosen_and_nothing_else():
    load_or_skip("emotions")
    assert datasets.load("emotions", n_initial=59).n_initial == 59
    with pytest.raises(TypeError, match="emotions has no option seed: only n_initial"):
        datasets.load("emotions", seed=1)


# --- the search for files


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No data anywhere but in the user's cache folder, which is empty."""
    monkeypatch.delenv("EFCML_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    package = tmp_path / "alone" / "checkout" / "efcml" / "datasets" / "catalog.py"
    monkeypatch.setattr(catalog, "__file__", str(package))
    return tmp_path


def test_missing_set_says_where_it_was_searched_and_how_to_get_it(nowhere, monkeypatch):
    monkeypatch.setenv("EFCML_DATA", str(nowhere / "own"))
    with pytest.raises(DatasetNotFound) as excinfo:
        datasets.load("yeast")
    message = one_line(excinfo)
    assert isinstance(excinfo.value, ValueError)
    assert str(nowhere / "own") in message
    assert str(nowhere / "cache" / "efcml") in message
    assert "efcml datasets fetch yeast" in message


def test_missing_mediamill_says_where_a_person_gets_it(nowhere):
    with pytest.raises(DatasetNotFound) as excinfo:
        datasets.load("mediamill")
    message = one_line(excinfo)
    assert "scikit-multilearn 0.0.1" in message
    assert "efcml datasets fetch" not in message


def test_folders_are_searched_in_order(nowhere, monkeypatch):
    own = nowhere / "own"
    cache = nowhere / "cache" / "efcml"
    beside = nowhere / "alone" / "shared" / "data"
    assert catalog.searched_folders() == [cache]
    beside.mkdir(parents=True)
    monkeypatch.setenv("EFCML_DATA", str(own))
    assert catalog.searched_folders() == [own, cache, beside]
    record = CATALOG["emotions"]
    for folder in (beside, cache, own):
        folder.mkdir(parents=True, exist_ok=True)
        for file in record.files:
            (folder / file).touch()
        assert {path.parent for path in catalog.find_files(record).values()} == {folder}
    (own / "emotions.xml").unlink()
    assert {path.parent for path in catalog.find_files(record).values()} == {cache}


def test_cache_folder_without_xdg(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert catalog.cache_folder() == Path("~/.cache/efcml").expanduser()


def test_changed_file_is_refused(nowhere, monkeypatch):
    monkeypatch.setenv("EFCML_DATA", str(nowhere))
    for file in CATALOG["emotions"].files:
        (nowhere / file).write_text("something else")
    with pytest.raises(
        ValueError, match="emotions-train.arff is not the published file"
    ) as excinfo:
        datasets.load("emotions")
    one_line(excinfo)


@pytest.mark.parametrize(
    "arrays",
    [
        None,
        {"X": np.zeros((3, 120))},
        {"X": np.zeros((3, 120)), "Y": np.zeros((3, 101)), "n_train": 2},
        {"X": np.array([None]), "Y": np.zeros((3, 101)), "n_train": 2},
        {"X": np.zeros((3, 120)), "Y": np.zeros((3, 101)), "n_train": 2.5},
    ],
    ids=["no archive", "array missing", "shape", "objects", "fractional n_train"],
)
def test_foreign_mediamill_file_is_refused(nowhere, monkeypatch, arrays):
    monkeypatch.setenv("EFCML_DATA", str(nowhere))
    path = nowhere / "mediamill.npz"
    path.write_text("no archive") if arrays is None else np.savez(path, **arrays)
    with pytest.raises(ValueError, match="mediamill.npz") as excinfo:
        datasets.load("mediamill")
    assert "scikit-multilearn" in one_line(excinfo)


def test_unknown_name_gets_a_hint():
    with pytest.raises(ValueError, match="no data set 'emotion': did you mean 'emotions'"):
        datasets.load("emotion")
    with pytest.raises(ValueError, match="choose one of emotions, yeast"):
        datasets.load("zzz")


def test_available_names():
    assert datasets.available() == (*CATALOG, *GENERATORS)
    assert set(TABLE) == set(CATALOG)
    assert datasets.load("Drifting_Clusters", n=20).name == "drifting-clusters"


# --- ARFF and XML


def test_tiny_file_is_read_with_its_oddities():
    ds = datasets.from_arff(TINY_ARFF, TINY_XML, n_initial=1)
    assert ds.name == "tiny"
    assert ds.feature_names == ("width", "height, in cm", "place")
    assert ds.label_names == ("Steller's Jay", "rare")
    np.testing.assert_array_equal(ds.X, [[1.5, -2e-3, 10], [0, 3, 2], [-1, 4.25, 1]])
    np.testing.assert_array_equal(ds.Y, [[1, 0], [0, np.nan], [1, 1]])


@pytest.mark.parametrize("ending", [b"\r\n", b"\r"])
def test_other_line_endings_a_byte_order_mark_and_latin_1(tmp_path, ending):
    content = TINY_ARFF.read_bytes().replace(b"% A tiny", b"% \xe9 \x85 A tiny")
    path = tmp_path / "other.arff"
    path.write_bytes(content.replace(b"\n", ending))
    expected = datasets.from_arff(TINY_ARFF, TINY_XML)
    np.testing.assert_array_equal(datasets.from_arff(path, TINY_XML).X, expected.X)
    path.write_bytes(b"\xef\xbb\xbf" + TINY_ARFF.read_bytes())
    np.testing.assert_array_equal(datasets.from_arff(path, TINY_XML).X, expected.X)


def test_second_file_follows_the_first(tmp_path):
    ds = datasets.from_arff(TINY_ARFF, TINY_XML, test=TINY_ARFF)
    assert (len(ds), ds.n_initial) == (6, 3)
    np.testing.assert_array_equal(ds.initial[0], ds.stream[0])
    other = tmp_path / "other.arff"
    other.write_text(TINY_ARFF.read_text().replace("width", "breadth"))
    with pytest.raises(ValueError, match="other attributes"):
        datasets.from_arff(TINY_ARFF, TINY_XML, test=other)


HEADER = "@relation a\n@attribute x numeric\n@attribute b {0,1}\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "ends before @data"),
        ("@relation a\n@attribute x numeric", 2, "ends before @data"),
        ("@relation a\n@data\n1,1\n", 2, "@data before any @attribute"),
        ("width,height\n1,2\n", 1, "give an ARFF file"),
        ("@relation a\n@attribute x\n", 2, "write @attribute NAME TYPE"),
        ("@relation a\n@attribute 'x numeric\n", 2, "write @attribute NAME TYPE"),
        ("@relation a\n@attribute x string\n", 2, "'x' is of type 'string'"),
        ("@relation a\n@attribute x {red,blue}\n", 2, "values that are no numbers"),
        ("@relation a\n@attribute x {}\n", 2, "values that are no numbers"),
        (HEADER + "@attribute x numeric\n@data\n", 4, "'x' is declared twice"),
        (HEADER + "@data\n1,1\n2\n", 6, "1 values for 2 attributes"),
        (HEADER + "@data\n1,1,1\n", 5, "3 values for 2 attributes"),
        (HEADER + "@data\n1,1\n\n1.2.3,0\n", 7, "'1.2.3' as value of 'x' is no number"),
        (HEADER + "@data\nnan,0\n", 5, "'nan' as value of 'x' is no number"),
        (HEADER + "@data\n1_0,0\n", 5, "'1_0' as value of 'x' is no number"),
        (HEADER + "@data\n1,2\n", 5, "2 is not a declared value of 'b'"),
        (HEADER + "@data\n{0 1}\n", 5, "sparse rows"),
        (HEADER.replace("{0,1}", "numeric") + "@data\n1,3\n", 5, "label 'b' is 3"),
        (HEADER + "@data\n% nothing\n", None, "no rows after @data"),
    ],
)
def test_malformed_arff_is_refused_with_file_line_and_advice(tmp_path, text, line, words):
    path, xml = tmp_path / "bad.arff", tmp_path / "b.xml"
    path.write_text(text)
    xml.write_text('<labels><label name="b"/></labels>')
    with pytest.raises(ValueError) as excinfo:
        datasets.from_arff(path, xml)
    message = one_line(excinfo)
    assert words in message
    assert message.startswith(f"{path}, line {line}: " if line else f"{path}: ")


def test_question_marks_are_missing_features_and_unknown_labels(tmp_path):
    path, xml = tmp_path / "gaps.arff", tmp_path / "b.xml"
    path.write_text(HEADER + "@data\n1,0\n?,1\n3,?\n")
    xml.write_text('<labels><label name="b"/></labels>')
    ds = datasets.from_arff(path, xml)
    assert_equal(ds.X, [[1.0], [np.nan], [3.0]])
    assert_equal(ds.Y, [[0.0], [1.0], [np.nan]])


def test_every_cut_of_a_file_is_read_or_refused_with_one_line(tmp_path):
    content = TINY_ARFF.read_bytes()
    path = tmp_path / "cut.arff"
    complete = 0
    for length in range(len(content)):
        path.write_bytes(content[:length])
        try:
            complete += len(datasets.from_arff(path, TINY_XML)) > 0
        except ValueError as error:
            assert "\n" not in str(error) and str(path) in str(error)
    assert 0 < complete < len(content) / 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: no well-formed XML"),
        ("<labels>\n<label name='rare'>", "line 2: no well-formed XML"),
        ("<labels></labels>", "no <label name="),
        ("<labels><label/></labels>", "without name"),
        ("<labels><label name='rare'/><label name='rare'/></labels>", "listed twice"),
        ("<!DOCTYPE labels>\n<labels><label name='rare'/></labels>", "DOCTYPE and ENTITY"),
        (
            "<!DOCTYPE l [<!ENTITY a 'rare'>]>\n<labels><label name='&a;'/></labels>",
            "DOCTYPE and ENTITY",
        ),
        ("<labels><label name='&undeclared;'/></labels>", "no well-formed XML"),
        (
            "<!DOCTYPE l [<!ENTITY a0 'rare'>"
            + "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 12))
            + "]><labels><label name='&a11;'/></labels>",
            "DOCTYPE and ENTITY",
        ),
        (
            "<!DOCTYPE l [<!ENTITY a SYSTEM 'other.xml'>]><labels>&a;</labels>",
            "DOCTYPE and ENTITY",
        ),
    ],
)
def test_malformed_xml_is_refused(tmp_path, text, words):
    path = tmp_path / "bad.xml"
    path.write_text(text)
    with pytest.raises(ValueError) as excinfo:
        datasets.from_arff(TINY_ARFF, path)
    message = one_line(excinfo)
    assert words in message
    assert message.startswith(str(path))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_declarations_hidden_in_another_encoding_are_refused(tmp_path, encoding):
    path = tmp_path / "bad.xml"
    text = "<?xml version='1.0' encoding='utf-16'?><!DOCTYPE l [<!ENTITY a 'rare'>]><l>&a;</l>"
    path.write_bytes(text.encode(encoding))
    with pytest.raises(ValueError, match="bad.xml"):
        arff.read_label_names(path)


def test_labels_and_files_that_do_not_fit_are_refused(tmp_path):
    xml = tmp_path / "other.xml"
    xml.write_text("<labels><label name='nowhere'/></labels>")
    with pytest.raises(ValueError, match="label 'nowhere' of .*other.xml is no attribute"):
        datasets.from_arff(TINY_ARFF, xml)
    names = ["width", "height, in cm", "place", "Steller's Jay", "rare"]
    xml.write_text("<labels>" + "".join(f'<label name="{n}"/>' for n in names) + "</labels>")
    with pytest.raises(ValueError, match="no features are left"):
        datasets.from_arff(TINY_ARFF, xml)
    for paths in ((TINY_ARFF, tmp_path / "none.xml"), (tmp_path / "none.arff", TINY_XML)):
        with pytest.raises(ValueError, match="no such file"):
            datasets.from_arff(*paths)


def test_unreadable_file_is_refused(tmp_path, monkeypatch):
    def refuse(path, *arguments):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ValueError, match="tiny.xml: Permission denied: make the file readable"):
        datasets.from_arff(TINY_ARFF, TINY_XML)


# --- Dataset and from_arrays


class Frame:
    """As much of a DataFrame as is used."""

    def __init__(self, values, columns):
        self.values, self.columns = np.asarray(values), columns

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype)


def test_from_arrays_converts_and_names():
    X = np.asfortranarray(np.arange(20).reshape(10, 2))
    ds = datasets.from_arrays(X, np.ones((10, 1), dtype=bool))
    for table in (ds.X, ds.Y):
        assert table.dtype == np.float64 and table.flags.c_contiguous
    assert ds.n_initial == 3
    assert (ds.feature_names, ds.label_names) == (("x0", "x1"), ("label0",))
    frame = Frame(X, ["a", "b"])
    named = datasets.from_arrays(frame, Frame(X % 2, ["c", "d"]), name="mine", n_initial=10)
    assert (named.feature_names, named.label_names) == (("a", "b"), ("c", "d"))
    assert repr(named) == "Dataset('mine': 10 rows (10 initial + 0 stream), 2 features, 2 labels)"


def test_parts_are_views_and_the_record_is_frozen():
    ds = datasets.from_arrays(np.zeros((4, 2)), np.zeros((4, 3)), n_initial=1)
    for part, rows in ((ds.initial, 1), (ds.stream, 3)):
        assert [len(table) for table in part] == [rows, rows]
        assert np.shares_memory(part[0], ds.X) and np.shares_memory(part[1], ds.Y)
    with pytest.raises(AttributeError):
        ds.n_initial = 2


class Sparse:
    def toarray(self):
        raise AssertionError("must not be called")


X_GOOD, Y_GOOD = np.zeros((3, 2)), np.zeros((3, 1))


@pytest.mark.parametrize(
    ("X", "Y", "options", "words"),
    [
        (X_GOOD, np.zeros((2, 1)), {}, "X has 3 rows and Y has 2"),
        (np.full((3, 2), np.inf), Y_GOOD, {}, r"X\[0, 0\] is inf: features are finite, or NaN"),
        (X_GOOD, np.full((3, 1), 2), {}, r"Y\[0, 0\] is 2: labels are 0, 1"),
        (X_GOOD, np.zeros(3), {}, r"Y has shape \(3,\)"),
        (np.zeros((0, 2)), np.zeros((0, 1)), {}, r"X has shape \(0, 2\)"),
        ([["a", "b"]], [[1]], {}, "X is no table of numbers"),
        (Sparse(), Y_GOOD, {}, r"X is a sparse matrix.*X.toarray\(\)"),
        (X_GOOD, Y_GOOD, {"n_initial": 4}, "n_initial is 4: choose a whole number of rows, 0 to 3"),
        (X_GOOD, Y_GOOD, {"n_initial": -1}, "n_initial is -1"),
        (X_GOOD, Y_GOOD, {"n_initial": 0.5}, "n_initial is 0.5"),
        (X_GOOD, Y_GOOD, {"feature_names": ["a"]}, "1 feature names for 2 features"),
        (X_GOOD, Y_GOOD, {"feature_names": ["a", "a"]}, "feature name 'a' occurs twice"),
        (X_GOOD, Y_GOOD, {"label_names": []}, "0 label names for 1 labels"),
    ],
)
def test_bad_arrays_are_refused(X, Y, options, words):
    with pytest.raises(ValueError, match=words) as excinfo:
        datasets.from_arrays(X, Y, **options)
    one_line(excinfo)


# --- built-in streams


@pytest.mark.parametrize("name", GENERATORS)
def test_stream_is_deterministic_and_seeded(name):
    first, again, other = (datasets.load(name, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.Y, again.Y)
    assert not np.array_equal(first.Y, other.Y)
    assert (len(first), first.n_initial) == (6000, 600)
    assert first.X.shape[1] == (2 if name.endswith("2d") else 10)


@pytest.mark.parametrize("name", GENERATORS)
def test_stream_labels_are_correlated_and_neither_rare_nor_certain(name):
    Y = datasets.load(name).Y
    correlation = np.corrcoef(Y.T)
    neighbours = np.diagonal(correlation, offset=1)
    assert neighbours.min() > (0.2 if name.endswith("2d") else 0.45)
    assert correlation[0, -1] < -0.3
    assert ((Y.mean(axis=0) > 0.2) & (Y.mean(axis=0) < 0.7)).all()


def test_options_of_a_stream():
    ds = datasets.load("drifting-clusters", n=1000, p=3, K=1, seed=4, n_initial=7, noise=0.0)
    assert (ds.X.shape, ds.Y.shape, ds.n_initial) == ((1000, 3), (1000, 1), 7)
    assert ds.marks == {"gradual_start": 400, "gradual_end": 550, "abrupt": 700}
    assert datasets.load("stationary-clusters", n=10).marks == {}
    assert len(datasets.load("drifting-clusters", n=1)) == 1


def test_drifts_happen_where_they_are_marked():
    draw = {"n": 6000, "p": 10, "K": 5, "seed": 0, "noise": 0.4}
    X, Y, cluster = synthetic.draw_clusters(**draw, drifting=True)
    X_still, Y_still, cluster_still = synthetic.draw_clusters(**draw, drifting=False)
    marks = datasets.load("drifting-clusters").marks
    rows = np.arange(6000)
    before, after = rows < marks["abrupt"], rows >= marks["abrupt"]
    assert not (cluster[before] == synthetic.NEW_CLUSTER).any()
    assert not (cluster[after] == synthetic.ENDING_CLUSTER).any()
    assert (cluster[after] == synthetic.NEW_CLUSTER).sum() > 200
    np.testing.assert_array_equal(cluster[before], cluster_still[before])
    changed = (Y != Y_still).any(axis=1)
    assert not changed[: marks["gradual_start"]].any()
    turning = np.isin(cluster, synthetic.GRADUAL_CLUSTERS)
    assert not changed[before & ~turning].any()
    late = turning & (rows >= marks["gradual_end"])
    assert changed[late].mean() > changed[turning & ~late].mean() > 0
    # The picture turns: the same point ends up elsewhere, further away with every row.
    moved = np.linalg.norm(X - X_still, axis=1)[before]
    assert moved[:100].max() < 0.2 < 2 < moved[-100:].min()


def test_own_directions_are_opposite_in_pairs(monkeypatch):
    monkeypatch.setattr(synthetic, "COMMON_SHARE", 0.0)
    X, Y, cluster = synthetic.draw_clusters(20000, 10, 5, 0, 0.0, drifting=False)
    slopes = []
    for c in range(synthetic.N_CLUSTERS):
        rows = X[cluster == c] - X[cluster == c].mean(axis=0)
        slope = np.linalg.lstsq(rows, Y[cluster == c])[0]
        slopes.append(slope / np.linalg.norm(slope, axis=0))
    for c in range(3):
        cosine = (slopes[c] * slopes[c + 3]).sum(axis=0)
        assert (cosine < -0.95).all()


def mixture_accuracy(ds, activation, ridge, forgetting):
    """Partial accuracy on the stream of one recursive least squares per column of activation."""
    X_initial, Y_initial = ds.initial
    rows = np.column_stack([(ds.X - X_initial.mean(0)) / X_initial.std(0), np.ones(len(ds))])
    d, count = rows.shape[1], activation.shape[1]
    prior = np.full(d, float(ridge))
    prior[-1] = 1e-3
    P = np.tile(np.diag(1 / prior), (count, 1, 1))
    W = np.zeros((count, d, ds.Y.shape[1]))
    W[:, -1] = Y_initial.mean(0)
    right = np.zeros(ds.Y.shape, dtype=bool)
    for t, (r, psi, y) in enumerate(zip(rows, activation, ds.Y, strict=True)):
        output = r @ W
        right[t] = (psi @ output >= 0.5) == y
        lam = forgetting**psi
        Pr = P @ r
        gain = (psi / (lam + psi * (Pr @ r)))[:, None] * Pr
        W += gain[:, :, None] * (y - output)[:, None, :]
        P = (P - gain[:, :, None] * Pr[:, None, :]) / lam[:, None, None]
        # Without this, rounding errors grow as forgetting**-t and ruin the plane for long streams.
        P = (P + P.transpose(0, 2, 1)) / 2
    return right[ds.n_initial :].mean()


def soft_nearest_centers(ds, count, bandwidth):
    X_initial, _ = ds.initial
    X = (ds.X - X_initial.mean(0)) / X_initial.std(0)
    centers = KMeans(count, n_init=3, random_state=0).fit(X[: ds.n_initial]).cluster_centers_
    distance = ((X[:, None] - centers) ** 2).sum(axis=2)
    variance = distance[: ds.n_initial].min(axis=1).mean() / X.shape[1]
    exponent = -distance / (2 * bandwidth * variance)
    weight = np.exp(exponent - exponent.max(axis=1, keepdims=True))
    return weight / weight.sum(axis=1, keepdims=True)


@pytest.mark.slow
def test_one_plane_is_worse_than_local_planes():
    ds = datasets.load("drifting-clusters")
    one = np.ones((len(ds), 1))
    plane = max(mixture_accuracy(ds, one, 10, forgetting) for forgetting in (1, 0.998, 0.995, 0.99))
    for bandwidth in (1, 10):
        local = soft_nearest_centers(ds, 8, bandwidth)
        assert mixture_accuracy(ds, local, 0.3, 1.0) > plane + 0.03
        assert mixture_accuracy(ds, local, 0.3, 0.995) > plane + 0.05


# --- guards


def test_no_file_names_a_folder_of_one_machine():
    for module in (datasets, arff, catalog, drift_streams, synthetic, tables):
        source = inspect.getsource(module)
        assert os.path.expanduser("~") + "/" not in source
        assert '"/' not in source and "'/" not in source


def test_record_is_complete():
    for name, record in CATALOG.items():
        assert record.name == name
        assert all(len(digest) == 64 for digest in record.files.values())
        assert record.title and record.source and record.licence and record.how_to_get
        assert set(record.sizes) == (set(record.files) if record.remote else set())
        assert set(record.renamed) <= set(record.files)
    remote = CATALOG["water-quality"].remote_path("water-quality.arff")
    assert remote == "data/multi-target/wq.arff"
    assert CATALOG["birds"].remote_path("birds.xml") == "data/multi-label/birds/birds.xml"
    assert isinstance(datasets.load("stationary-clusters", n=50), Dataset)


def test_frames_give_named_rules():
    pytest.importorskip("pandas")
    ds = datasets.load("drifting-clusters", n=60, n_initial=40, p=3, K=2)
    initial, stream = ds.frames()
    for part, (X, Y) in ((initial, ds.initial), (stream, ds.stream)):
        np.testing.assert_array_equal(part[0].to_numpy(), X)
        np.testing.assert_array_equal(part[1].to_numpy(), Y)
        assert (tuple(part[0]), tuple(part[1])) == (ds.feature_names, ds.label_names)
    assert stream[0].index[0] == 40
    named = datasets.from_arrays(ds.X, ds.Y, feature_names=list("abc"), label_names=list("uv"))
    clf = EFCMLClassifier(prior=1.0).fit(*named.frames()[0])
    assert (clf.rules_.feature_names, clf.rules_.label_names) == (tuple("abc"), tuple("uv"))


def test_columns_without_names_are_called_alike_everywhere():
    ds = datasets.load("stationary-clusters", n=40, p=3, K=2)
    own = datasets.from_arrays(ds.X, ds.Y)
    rules = EFCMLClassifier(prior=1.0).fit(ds.X, ds.Y).rules_
    for names in (ds, own, rules):
        assert tuple(names.feature_names) == ("x0", "x1", "x2")
        assert tuple(names.label_names) == ("label0", "label1")
