"""Data sets: the published ones and where they are searched, ARFF files, arrays."""

from pathlib import Path

import numpy as np
import pytest
from helpers.mixed_tables import refused
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from efcml import datasets
from efcml.datasets import DatasetNotFound
from efcml.datasets import published as catalog
from efcml.datasets.published import CATALOG
from efcml.datasets.streams import GENERATORS
from efcml.tables import arff
from efcml.tables.reading import read_chunks

DATA = Path(__file__).parent / "data"
TINY_ARFF, TINY_XML = DATA / "tiny.arff", DATA / "tiny.xml"

# name: p, N, K, initial and stream rows, cardinality, majority-label PA, rows without any label
TABLE = {
    "emotions": (72, 593, 6, 391, 202, 1.868, 0.689, 0),
    "yeast": (103, 2417, 14, 1500, 917, 4.237, 0.768, 0),
    "birds": (260, 645, 19, 322, 323, 1.014, 0.947, 294),
    "water-quality": (16, 1060, 14, 530, 530, 5.073, 0.658, 6),
    "mediamill": (120, 43907, 101, 30993, 12914, 4.376, 0.965, 1730),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_published_set_has_the_published_properties(name, need):
    need(name)
    p, n, K, n_initial, n_stream, cardinality, majority, empty = TABLE[name]
    record, ds = CATALOG[name], datasets.load(name)
    assert (record.p, record.n, record.K, record.n_initial) == (p, n, K, n_initial)
    assert (ds.X.shape, ds.Y.shape, len(ds.stream[0])) == ((n, p), (n, K), n_stream)
    assert set(np.unique(ds.Y)) == {0.0, 1.0}
    assert round(ds.Y.sum(axis=1).mean(), 3) == cardinality
    frequency = ds.Y.mean(axis=0)
    assert round(np.maximum(frequency, 1 - frequency).mean(), 3) == majority
    assert (ds.Y.sum(axis=1) == 0).sum() == empty
    assert ds.description == f"{record.title}; {record.source}"


def test_rows_labels_and_names_are_those_of_the_published_files(need):
    need("emotions", "water-quality")
    ds = datasets.load("emotions")
    folder = catalog.find_folder(CATALOG["emotions"])
    for file, row in (("emotions-train.arff", 0), ("emotions-test.arff", ds.n_initial)):
        lines = (folder / file).read_text().lower().splitlines()
        expected = lines[lines.index("@data") + 1].split(",")
        assert_array_equal(np.r_[ds.X[row], ds.Y[row]], [float(token) for token in expected])
    assert datasets.load("Emotions ", n_initial=59).n_initial == 59
    with pytest.raises(TypeError, match="emotions has no option seed: only n_initial"):
        datasets.load("emotions", seed=1)
    water = datasets.load("water-quality")
    folder = catalog.find_folder(CATALOG["water-quality"])
    amounts = arff.read_arff(folder / "water-quality.arff")[1]
    assert_array_equal(np.c_[water.X, water.Y], np.c_[amounts[:, :16], amounts[:, 16:] > 0])


def test_a_test_sees_no_published_set_that_it_has_not_asked_for():
    for name in CATALOG:
        with pytest.raises((AssertionError, DatasetNotFound), match=name):
            datasets.load(name)


def test_names_are_found_or_guessed():
    assert datasets.available() == (*CATALOG, *GENERATORS) == (*TABLE, *GENERATORS)
    assert datasets.load("Drifting_Clusters", n=20).name == "drifting-clusters"
    assert "no data set 'emotion': did you mean 'emotions'?" in refused(datasets.load, "emotion")
    assert "choose one of emotions, yeast" in refused(datasets.load, "zzz")


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No data anywhere but in the user's cache folder, which is empty."""
    monkeypatch.delenv("EFCML_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(catalog, "__file__", str(tmp_path / "alone/checkout/efcml/datasets/a.py"))
    return tmp_path


def test_folders_are_searched_in_order(nowhere, monkeypatch):
    own, cache, beside = (nowhere / part for part in ("own", "cache/efcml", "alone/shared/data"))
    assert catalog.searched_folders() == [cache]
    beside.mkdir(parents=True)
    monkeypatch.setenv("EFCML_DATA", str(own))
    assert catalog.searched_folders() == [own, cache, beside]
    record = CATALOG["emotions"]
    for folder in (beside, cache, own):
        folder.mkdir(parents=True, exist_ok=True)
        for file in record.files:
            (folder / file).touch()
        assert catalog.find_folder(record) == folder
    (own / "emotions.xml").unlink()
    assert catalog.find_folder(record) == cache
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert catalog.searched_folders()[1] == Path("~/.cache/efcml").expanduser()
    with monkeypatch.context() as patch:  # as on a Mac, with a folder of earlier versions
        patch.setattr(catalog, "user_cache_path", lambda name: nowhere / "Caches" / name)
        patch.setenv("HOME", str(nowhere))
        (nowhere / ".cache/efcml").mkdir(parents=True)
        found = catalog.searched_folders()[1:3]
        assert found == [nowhere / "Caches/efcml", nowhere / ".cache/efcml"]
    monkeypatch.setenv("XDG_CACHE_HOME", str(nowhere / "cache"))
    with pytest.raises(DatasetNotFound, match="own.*cache.*efcml datasets fetch yeast"):
        datasets.load("yeast")
    message = refused(datasets.load, "mediamill")
    assert "scikit-multilearn 0.0.1" in message and "efcml datasets fetch" not in message


def test_files_of_another_size_are_refused(nowhere, monkeypatch):
    monkeypatch.setenv("EFCML_DATA", str(nowhere))
    good = {"X": np.zeros((3, 120)), "Y": np.zeros((3, 101))}
    for lie, words in (
        ({}, "has another mediamill: delete its files; it is not in the MULAN"),
        ({"X": np.array([None])}, "cannot be read: it is not in the MULAN"),
    ):
        np.savez(nowhere / "mediamill.npz", **good | lie)
        assert words in refused(datasets.load, "mediamill")
    for part in ("train", "test"):
        (nowhere / f"emotions-{part}.arff").write_bytes(TINY_ARFF.read_bytes())
    (nowhere / "emotions.xml").write_bytes(TINY_XML.read_bytes())
    assert "has another emotions: delete its files; get it" in refused(datasets.load, "emotions")


def test_an_arff_file_is_read_with_its_oddities(tmp_path):
    ds = datasets.from_arff(TINY_ARFF, TINY_XML, n_initial=1)
    assert (ds.name, ds.n_initial) == ("tiny", 1)
    assert ds.feature_names == ("width", "height, in cm", "place")
    assert ds.label_names == ("Steller's Jay", "rare")  # in the order of the ARFF file
    assert_array_equal(ds.X, [[1.5, -2e-3, 10], [0, 3, 2], [-1, 4.25, 1]])
    assert_array_equal(ds.Y, [[1, 0], [0, np.nan], [1, 1]])
    content, path = TINY_ARFF.read_bytes(), tmp_path / "other.arff"
    latin = content.replace(b"% A tiny", b"% \xe9 \x85 A tiny")
    crlf, cr = latin.replace(b"\n", b"\r\n"), latin.replace(b"\n", b"\r")
    for other in (crlf, cr, b"\xef\xbb\xbf" + content):
        path.write_bytes(other)
        assert_array_equal(datasets.from_arff(path, TINY_XML).X, ds.X)
    path.write_bytes(content.replace(b"-1,4.25,1", b"?,4.25,?"))
    assert_array_equal(datasets.from_arff(path, TINY_XML).X[2], [np.nan, 4.25, np.nan])
    two = datasets.from_arff(TINY_ARFF, TINY_XML, test=path, name="two")
    assert (two.name, len(two), two.n_initial) == ("two", 6, 3)
    assert_array_equal(two.X[:, 0], [1.5, 0, -1, 1.5, 0, np.nan])
    path.write_bytes(content.replace(b"width", b"breadth"))
    assert "other attributes" in refused(datasets.from_arff, TINY_ARFF, TINY_XML, test=path)
    table = next(read_chunks(TINY_ARFF, None))
    assert_array_equal(table.frame[["place", "width"]], ds.X[:, [2, 0]])
    path.write_text(HEADER + "@data\n{0 1.5}\n{1 1}\n{ }\n")  # sparse rows
    assert_array_equal(arff.read_arff(path)[1], [[1.5, 0], [0, 1], [0, 0]])


HEADER = "@relation a\n@attribute x numeric\n@attribute b {0,1}\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("@relation a\n@attribute x numeric", 2, "ends before @data"),
        ("@relation a\n@data\n1,1\n", 2, "'@data' is no @attribute"),
        ("width,height\n1,2\n", 1, "give an ARFF file"),
        ("@relation a\n@attribute 'x numeric\n", 2, "is no @attribute NAME TYPE"),
        (HEADER.replace("numeric", "string") + "@data\nblue,1\n", 5, "'blue' as value of 'x'"),
        (HEADER + "@data\n1,1\n2\n", 6, "1 values for 2 attributes"),
        (HEADER + "@data\n1,1\n\n1.2.3,0\n", 7, "'1.2.3' as value of 'x' is no number"),
        (HEADER + "@data\n{0 1}\n{2 1}\n", 6, "'2' is no attribute from 0 to 1"),
        (HEADER + "@data\n% nothing\n", None, "no rows after @data"),
    ],
)
def test_a_malformed_arff_file_is_refused_with_its_line(tmp_path, text, line, words):
    path, xml = tmp_path / "bad.arff", tmp_path / "b.xml"
    path.write_text(text)
    xml.write_text('<labels><label name="b"/></labels>')
    message = refused(datasets.from_arff, path, xml)
    assert words in message
    assert message.startswith(f"{path}, line {line}: " if line else f"{path}: ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<labels>\n<label name='rare'>", "no well-formed XML"),
        ("<labels></labels>", "for each label, once"),
        ("<labels><label/></labels>", "for each label, once"),
        ("<labels><label name='rare'/><label name='rare'/></labels>", "for each label, once"),
        ("<l><!ENTITY a SYSTEM 'other.xml'>&a;</l>", "no well-formed XML"),
        (
            "<labels><label name='nowhere'/></labels>",
            "must list some of its attributes, and no others",
        ),
    ],
)
def test_a_malformed_list_of_labels_is_refused(tmp_path, text, words):
    path = tmp_path / "bad.xml"
    path.write_text(text)
    message = refused(datasets.from_arff, TINY_ARFF, path)
    assert words in message and str(path) in message
    path.write_bytes(text.encode("utf-16"))  # also where it is hidden in another encoding
    assert str(path) in refused(datasets.from_arff, TINY_ARFF, path)


def test_files_that_cannot_be_used_are_refused(tmp_path):
    xml = tmp_path / "all.xml"
    labels = [f'<label name="{name}"/>' for name in arff.read_arff(TINY_ARFF)[0]]
    xml.write_text(f"<labels>{''.join(labels)}</labels>")
    assert "must list some of" in refused(datasets.from_arff, TINY_ARFF, xml)
    for paths in ((TINY_ARFF, tmp_path / "none.xml"), (tmp_path / "none.arff", TINY_XML)):
        with pytest.raises(FileNotFoundError):
            datasets.from_arff(*paths)


def test_arrays_become_a_data_set():
    X = np.asfortranarray(np.arange(20).reshape(10, 2))
    ds = datasets.from_arrays(X, np.ones((10, 1), dtype=bool))
    assert all(A.dtype == np.float64 and A.flags.c_contiguous for A in (ds.X, ds.Y))
    assert (ds.n_initial, ds.feature_names, ds.label_names) == (3, ("x0", "x1"), ("label0",))
    given = {"name": "mine", "n_initial": 10, "feature_names": "ab", "label_names": "cd"}
    named = datasets.from_arrays(X, csr_array(X % 2), description="why", **given)
    assert_array_equal(named.Y, X % 2)
    assert (named.feature_names, named.label_names) == (("a", "b"), ("c", "d"))
    assert repr(named) == "Dataset('mine': 10 rows (10 initial + 0 stream), 2 features, 2 labels)"
    hidden = np.ma.array([[1, 0], [1, 1]], mask=[[False, True], [False, False]])
    assert_array_equal(datasets.from_arrays(X[:2], hidden).Y, [[1, np.nan], [1, 1]])


def test_parts_are_views_and_frames_of_the_rows_with_names():
    ds = datasets.from_arrays(np.arange(8.0).reshape(4, 2), np.eye(4, 3), n_initial=1)
    for part, frames, rows in zip(
        (ds.initial, ds.stream), ds.frames(), ([0], [1, 2, 3]), strict=True
    ):
        for table, frame, whole in zip(part, frames, (ds.X, ds.Y), strict=True):
            assert_array_equal(table, whole[rows])
            assert_array_equal(frame, whole[rows])
            assert np.shares_memory(table, whole) and frame.index.tolist() == rows
        again = datasets.from_arrays(*frames)
        assert (again.feature_names, again.label_names) == (ds.feature_names, ds.label_names)


X_GOOD, Y_GOOD = np.zeros((3, 2)), np.zeros((3, 1))
X_INFINITE = np.where(np.arange(18) == 15, np.inf, 0.0).reshape(9, 2)


@pytest.mark.parametrize(
    ("X", "Y", "options", "words"),
    [
        (X_GOOD, np.zeros((2, 1)), {}, "X has 3 rows and Y has 2"),
        (X_INFINITE, np.zeros((9, 1)), {}, "X[7, 1] is inf: features are finite, or NaN"),
        (
            X_GOOD,
            np.array([[0], [1], [2]]),
            {},
            "data, row 2: label 'label0' is 2: labels are 0, 1",
        ),
        (X_GOOD, np.zeros(3), {}, "Y has shape (3,)"),
        (np.zeros((0, 2)), np.zeros((0, 1)), {}, "X has shape (0, 2)"),
        ([["a", "b"]], [[1]], {}, "X is no table of numbers"),
        (csr_array([[np.inf]]), [[1]], {}, "a value of X is inf"),
        (X_GOOD, Y_GOOD, {"n_initial": 4}, "n_initial is 4: choose a whole number of rows, 0 to 3"),
        (X_GOOD, Y_GOOD, {"feature_names": ["a"]}, "2 features have the names ('a',)"),
        (X_GOOD, Y_GOOD, {"feature_names": ["a", "a"]}, "give every feature one of its own"),
    ],
)
def test_bad_arrays_are_refused(X, Y, options, words):
    assert words in refused(datasets.from_arrays, X, Y, **options)
