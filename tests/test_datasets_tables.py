"""Data sets from CSV files and data frames."""

import sys

import numpy as np
import pytest

from efcml import datasets
from efcml.datasets.file_rows import read_rows

pandas = pytest.importorskip("pandas")

SONGS = "tempo,loud,happy,calm\n120,0.5,1,0\n80,-2.5e-1,,1\n"


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="songs.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_file


def refused(function, *arguments, **options):
    with pytest.raises(ValueError) as excinfo:
        function(*arguments, **options)
    message = str(excinfo.value)
    assert "\n" not in message
    return message


# --- CSV


def test_csv_is_read(write):
    ds = datasets.from_csv(write(SONGS), ["happy", "calm"])
    assert (ds.name, ds.n_initial, ds.description) == ("songs", 0, "")
    assert (ds.feature_names, ds.label_names) == (("tempo", "loud"), ("happy", "calm"))
    np.testing.assert_array_equal(ds.X, [[120, 0.5], [80, -0.25]])
    np.testing.assert_array_equal(ds.Y, [[1, 0], [np.nan, 1]])
    named = datasets.from_csv(str(write(SONGS)), 2, name="mine", n_initial=1, description="why")
    assert (named.name, named.n_initial, named.description) == ("mine", 1, "why")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (["calm", "tempo"], ("calm", "tempo")),
        (("calm",), ("calm",)),
        (np.array(["happy"]), ("happy",)),
        ("happy,calm", ("happy", "calm")),
        (" calm , happy ", ("calm", "happy")),
        ("calm", ("calm",)),
        (1, ("calm",)),
        (np.int64(3), ("loud", "happy", "calm")),
    ],
)
def test_label_columns_can_be_given_in_several_ways(write, wanted, expected):
    rows = "tempo,loud,happy,calm\n1,0,1,0\n0,1,1,1\n"
    ds = datasets.from_csv(write(rows), wanted)
    table = dict(
        zip(("tempo", "loud", "happy", "calm"), ([1, 0], [0, 1], [1, 1], [0, 1]), strict=True)
    )
    assert ds.label_names == expected
    for names, values in ((ds.label_names, ds.Y), (ds.feature_names, ds.X)):
        np.testing.assert_array_equal(values, np.transpose([table[name] for name in names]))
    frame = pandas.DataFrame(table)
    same = datasets.from_frame(frame, wanted)
    assert (same.feature_names, same.label_names) == (ds.feature_names, ds.label_names)
    np.testing.assert_array_equal(same.X, ds.X)
    np.testing.assert_array_equal(same.Y, ds.Y)


def test_csv_with_quotes_blank_lines_and_spaces(write):
    text = '"a ""b"", c", x ,y\n\n"1.5", 2 ,"0"\n   \n-1,"3",TRUE\n4,false,""\n\n'
    ds = datasets.from_csv(write(text), "y", n_initial=0)
    assert ds.feature_names == ('a "b", c', "x")
    np.testing.assert_array_equal(ds.X, [[1.5, 2], [-1, 3], [4, 0]])
    np.testing.assert_array_equal(ds.Y, [[0], [1], [np.nan]])
    assert datasets.from_csv(write('x,"a,b"\n1,0\n'), "a,b").label_names == ("a,b",)


@pytest.mark.parametrize("delimiter", [";", "\t", "|", " "])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_csv_with_other_delimiters_and_line_endings(write, delimiter, ending):
    text = SONGS.replace(",", delimiter).replace("\n", ending)
    ds = datasets.from_csv(write(text), 2, delimiter=delimiter)
    np.testing.assert_array_equal(ds.Y, [[1, 0], [np.nan, 1]])


def test_csv_in_other_encodings(write):
    for content in (b"\xef\xbb\xbfh\xc3\xb6he,b\n1,0\n", b"h\xf6he,b\n1,0\n"):
        assert datasets.from_csv(write(content), "b").feature_names == ("höhe",)


def test_csv_needs_no_pandas(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert len(datasets.from_csv(write(SONGS), 2)) == 2


def test_csv_written_by_pandas_comes_back(tmp_path, rng):
    frame = pandas.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b c", 'd,"e"'])
    frame["yes"] = rng.random(20) < 0.5
    frame["maybe"] = np.where(rng.random(20) < 0.3, np.nan, 1.0)
    frame.to_csv(tmp_path / "t.csv", index=False)
    ds = datasets.from_csv(tmp_path / "t.csv", "yes,maybe")
    same = datasets.from_frame(frame, "yes,maybe")
    np.testing.assert_array_equal(ds.X, same.X)
    np.testing.assert_array_equal(ds.Y, same.Y)
    assert (ds.feature_names, ds.n_initial) == (same.feature_names, 6)


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("", "", "the file is empty: give one with a header row"),
        ("\n \n", "", "the file is empty"),
        ("x\n1\n", ", line 1", "only one column: no ',' in it; separate columns by commas, semi"),
        ("1,0\n2,1\n", ", line 1", "numbers instead of names: put a header row"),
        ("x,y\n", "", "no rows after the header"),
        ("\nx,x,y\n1,2,0\n", ", line 2", "two columns are called 'x': rename one"),
        ("x,,y\n1,2,0\n", ", line 1", "column 2 has no name: give it one"),
        ("x,y\n1,0\n2\n", ", line 3", "1 fields for 2 columns: the row is cut"),
        ("x,y\n1,0,\n", ", line 2", "3 fields for 2 columns"),
        ("x,y\nred,0\n", "", "no features are left (x: left out, it is always 'red'): give other"),
        ("x,y\n1,0\n2,maybe\n", ", line 3", "label 'y' is 'maybe': labels are 0 or 1, yes or no"),
        ("x,y\ninf,1\n", ", line 2", "'inf' in column 'x' is no number"),
        ("x,y\n1_0,1\n", ", line 2", "'1_0' in column 'x' is no number"),
        ("x,y\n1,1\n1,2\n", ", line 3", "label 'y' is '2': labels are 0 or 1, yes or no, e"),
        ('x,y\n"1,0\n2,1\n', ", line 3", "no well-formed CSV (unexpected end of data)"),
        ('x,y\n"1"2,0\n', ", line 2", "no well-formed CSV"),
        ("x,y\n" + "1" * 200_000 + ",0\n", ", line 2", "no well-formed CSV (field larger"),
        ("x,y\n1," + "z" * 1000 + "\n", ", line 2", "zzz...': labels are 0"),
        (b"\x00\x01\x02,\xff\n\x00,1\n", "", "has no column 'y'"),
    ],
)
def test_malformed_csv_is_refused_with_file_line_and_advice(write, text, where, words):
    path = write(text)
    message = refused(datasets.from_csv, path, "y" if b"\x00" in path.read_bytes() else 1)
    assert words in message
    assert message.startswith(f"{path}{where}")
    assert len(message) < len(str(path)) + 200


def test_missing_csv_and_bad_delimiter(write, tmp_path):
    assert "none.csv: no such file" in refused(datasets.from_csv, tmp_path / "none.csv", 1)
    for delimiter in ("", ";;", '"', "\n", 3):
        message = refused(datasets.from_csv, write(SONGS), 2, delimiter=delimiter)
        assert message.startswith(f"delimiter is {delimiter!r}: give one character")


def test_every_cut_of_a_csv_is_read_or_refused_with_one_line(write):
    complete = 0
    for length in range(len(SONGS)):
        path = write(SONGS[:length])
        try:
            complete += len(datasets.from_csv(path, "happy,calm")) > 0
        except ValueError as error:
            assert "\n" not in str(error) and str(path) in str(error)
    assert 0 < complete < 10


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (["happy", "sad", "mad"], "has no column 'sad', 'mad': choose the labels among 'tempo, "),
        ("", "has no column ''"),
        ([], "no label column is named: name at least one"),
        (["calm", "calm"], "a label column is named twice"),
        ("tempo,loud,happy,calm", "every column is a label: no features are left"),
        (0, "has 4 columns, of which the last 0 cannot be labels: choose a number from 1 to 3"),
        (4, "of which the last 4 cannot be labels"),
        (-1, "of which the last -1 cannot be labels"),
    ],
)
def test_bad_label_columns_are_refused(write, wanted, words):
    path = write(SONGS)
    message = refused(datasets.from_csv, path, wanted)
    assert message.startswith(str(path)) and words in message
    message = refused(datasets.from_frame, pandas.read_csv(path), wanted)
    assert message.startswith("the frame") and words in message


# --- DataFrame


def test_frame_of_all_kinds_of_numbers():
    frame = pandas.DataFrame(
        {
            "bool": [True, False, True],
            "int": np.array([1, 2, 3], dtype=np.int8),
            "float": np.array([0.5, 1.5, 2.5], dtype=np.float32),
            "object": np.array([1, 2.5, 1], dtype=object),
            "nullable": pandas.array([1, 2, 3], dtype="Int64"),
            7: [0, 1, 0],
            "plain": [0.0, np.nan, 1.0],
            "boolean": pandas.array([True, None, False], dtype="boolean"),
            "none": [None, 1, 0],
            "words": np.array([None, True, False], dtype=object),
            "unknown": [None, None, None],
        },
        index=[5, 5, 5],
    )
    before = frame.copy(deep=True)
    labels = ["plain", "boolean", "none", "words", "unknown"]
    ds = datasets.from_frame(frame, labels, name="kinds", n_initial=2, description="why")
    assert (ds.name, ds.n_initial, ds.description) == ("kinds", 2, "why")
    assert ds.feature_names == ("bool", "int", "float", "object", "nullable", "7")
    np.testing.assert_array_equal(
        ds.X, [[1, 1, 0.5, 1, 1, 0], [0, 2, 1.5, 2.5, 2, 1], [1, 3, 2.5, 1, 3, 0]]
    )
    nan = np.nan
    expected = [[0, 1, nan, nan, nan], [nan, nan, 1, 1, nan], [1, 0, 0, 0, nan]]
    np.testing.assert_array_equal(ds.Y, expected)
    assert ds.label_names == tuple(labels)
    pandas.testing.assert_frame_equal(frame, before)
    numbered = datasets.from_frame(frame.iloc[:, :6], [7])
    assert numbered.label_names == ("7",)


def test_a_category_of_numbers_is_a_category():
    frame = pandas.DataFrame({"code": pandas.Categorical([10, 2, 10, 2.5]), "y": [0, 1, 0, 1]})
    ds = datasets.from_frame(frame, "y", n_initial=4)
    assert ds.feature_names == ("code=10", "code=2", "code=2.5")
    np.testing.assert_array_equal(ds.X, [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])
    assert "code: category: 10, 2, 2.5" in str(ds.table)
    frame["code"] = frame["code"].astype(float)  # then it is an amount
    assert datasets.from_frame(frame, "y").feature_names == ("code",)
    frame["y"] = frame["y"].astype("category")  # and labels are labels
    np.testing.assert_array_equal(datasets.from_frame(frame, "y").Y[:, 0], [0, 1, 0, 1])


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_are_found(delimiter, write, monkeypatch):
    path = write("\nplace x,tempo,day,y\na,1.5,2024-03-01,1\nb,2,2024-03-02,0\n")
    ds = datasets.from_csv(path, "y", n_initial=2)
    text = path.read_text().replace(",", delimiter)
    path.write_text(text)
    other = datasets.from_csv(path, "y", n_initial=2)
    assert (other.feature_names, str(other.table)) == (ds.feature_names, str(ds.table))
    np.testing.assert_array_equal(other.X, ds.X)
    np.testing.assert_array_equal(ds.table.encode(path), ds.X)
    np.testing.assert_array_equal(read_rows(path, ["tempo"])[0], [[1.5], [2.0]])
    monkeypatch.setattr("efcml.datasets.large_tables.MOST_AT_ONCE", 3)
    np.testing.assert_array_equal(datasets.from_csv(path, "y", n_initial=2).X, ds.X)


def test_frame_is_copied():
    frame = pandas.DataFrame({"x": [1.0, 2.0], "y": [0.0, 1.0]})
    ds = datasets.from_frame(frame, "y")
    ds.X[0, 0] = 99
    assert frame.loc[0, "x"] == 1


ODD = "holds other things than numbers, words and dates: encode it or drop it"


@pytest.mark.parametrize(
    ("values", "of_a_label", "of_a_feature"),
    [
        (["red", "blue"], "label 'odd' is 'red' and 1 other things elsewhere", None),
        (["1", "2"], "label 'odd' is '2': labels are 0 or 1", None),
        ([1, "two"], "label 'odd' is 'two'", None),
        (pandas.Categorical(["a", "b"]), "label 'odd' is 'a'", None),
        (pandas.to_datetime(["2020-01-01", "2020-01-02"]), "label 'odd' is '2020-01-01 ", None),
        (pandas.to_timedelta([1, 2]), "column 'odd' of type timedelta64", ODD),
        ([1j, 2], f"column 'odd' of type complex128 {ODD}", ODD),
        ([[1], [2]], f"column 'odd' of type object {ODD}", ODD),
    ],
)
def test_columns_without_numbers_are_named(values, of_a_label, of_a_feature):
    frame = pandas.DataFrame({"x": [1, 2], "y": [0, 1], "odd": values})
    message = refused(datasets.from_frame, frame, "odd")
    assert message.startswith("the frame, row ") and of_a_label in message
    if of_a_feature is not None:
        assert of_a_feature in refused(datasets.from_frame, frame, "y")
    assert datasets.from_frame(frame, "y", drop="odd").feature_names == ("x",)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ({"x": [np.inf, 1], "y": [0, 1]}, "row 0: 'inf' in column 'x' is no number: replace it"),
        ({"x": [None, None], "y": [0, 1]}, "no features are left (x: left out, it is empty)"),
        ({"x": [1, 2], "y": [0, 2]}, "row 1: label 'y' is '2': labels are 0 or 1, yes or no"),
        ({"x": [], "y": []}, "the frame has no rows: give at least one"),
        ({"": [1], "y": [0]}, "the frame: column 1 has no name"),
        ({1: [1], "1": [2], "y": [0]}, "the frame: two columns are called '1': rename one"),
    ],
)
def test_bad_values_and_names_in_a_frame(frame, words):
    assert words in refused(datasets.from_frame, pandas.DataFrame(frame), "y")


@pytest.mark.parametrize("loaded", [True, False])
def test_only_frames_are_taken(monkeypatch, loaded):
    if not loaded:
        monkeypatch.delitem(sys.modules, "pandas")
    message = refused(datasets.from_frame, np.zeros((2, 2)), 1)
    assert message == (
        "from_frame takes a pandas DataFrame, not ndarray: use from_arrays for other tables"
    )
