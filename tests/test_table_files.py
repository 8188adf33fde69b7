"""Tables from CSV files, data frames and Parquet files, at once and in blocks."""

import bz2
import gc
import gzip
import io
import lzma
from itertools import product

import numpy as np
import pandas
import pytest
from helpers.mixed_tables import LABELS, WRITTEN, features_of, messy_frame, mixed_text, refused
from numpy.testing import assert_array_equal

from efcml import datasets
from efcml.datasets import dataset
from efcml.tables import reading
from efcml.tables.encoder import TableEncoder

N, NAN = 230, np.nan
SONGS = "tempo,loud,happy,calm\n120,0.5,1,0\n80,-2.5e-1,,1\n"


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="songs.csv"):
        path = tmp_path / name
        if isinstance(text, pandas.DataFrame):
            text.to_parquet(path, row_group_size=100)
        else:
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_file


@pytest.fixture
def in_blocks(monkeypatch):
    """Return a function that calls another while files are large and chunks are small."""

    def call(function, *arguments, **options):
        sizes, encode = [], TableEncoder.encode_with_labels

        def noted(self, table, labels):
            sizes.append(len(table))
            return encode(self, table, labels)

        with monkeypatch.context() as patch:
            patch.setattr(dataset, "MOST_INITIAL", 110)
            patch.setattr(reading, "CHUNK", 110)
            patch.setattr(TableEncoder, "encode_with_labels", noted)
            found = function(*arguments, **options)
        assert max(sizes) <= 110 and len(sizes) > 2
        return found

    return call


def check_same(one, other):
    assert one.X.tobytes() == other.X.tobytes()
    assert_array_equal(one.Y, other.Y)
    assert (one.feature_names, one.label_names) == (other.feature_names, other.label_names)
    assert (one.name, one.n_initial) == (other.name, other.n_initial)


def test_a_csv_file_is_read(write):
    ds = datasets.from_csv(write(SONGS), ["happy", "calm"])
    assert (ds.name, ds.n_initial) == ("songs", 0)
    assert (ds.feature_names, ds.label_names) == (("tempo", "loud"), ("happy", "calm"))
    assert_array_equal(ds.X, [[120, 0.5], [80, -0.25]])
    assert_array_equal(ds.Y, [[1, 0], [NAN, 1]])
    named = datasets.from_csv(str(write(SONGS)), 2, name="mine", n_initial=1)
    assert (named.name, named.n_initial) == ("mine", 1)
    text = '"a ""b"", c", x ,k,y\n\n"1.5", 2 ,7,"0"\n   \n-1,"3",7,TRUE\n4,false,7,""\n\n'
    ds = datasets.from_csv(write(text), "y")
    assert ds.feature_names == ('a "b", c', "x", "k")
    assert_array_equal(ds.X, [[1.5, 2, 7], [-1, 3, 7], [4, 0, 7]])
    assert_array_equal(ds.Y, [[0], [1], [NAN]])
    assert ds.table.special == []
    assert datasets.from_csv(write('x,"a,b"\n1,0\n'), "a,b").label_names == ("a,b",)
    for wrong in ("", ";;", '"', "\n", 3):
        message = refused(datasets.from_csv, write(SONGS), 2, delimiter=wrong)
        assert message.startswith(f"delimiter is {wrong!r}: give one character")
    for content in (b"\xef\xbb\xbfh\xc3\xb6he,b\n1,0\n", b"h\xf6he,b\n1,0\n"):
        assert datasets.from_csv(write(content), "b").feature_names == ("höhe",)


@pytest.mark.parametrize("delimiter", [";", "\t", "|", " "])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_delimiters_are_given_or_found(write, delimiter, ending):
    path = write("\n" + SONGS.replace(",", delimiter).replace("\n", ending))
    ds = datasets.from_csv(path, 2, delimiter=delimiter)
    assert_array_equal(ds.Y, [[1, 0], [NAN, 1]])
    if delimiter != " ":
        check_same(datasets.from_csv(path, 2), ds)
        assert_array_equal(datasets.from_csv(path.rename(path.with_suffix(".tsv")), 2).X, ds.X)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (["calm", "tempo"], ["calm", "tempo"]),
        (" calm , happy ", ["calm", "happy"]),
        (np.int64(3), ["loud", "happy", "calm"]),
        (["happy", "sad", "mad"], "has no column 'sad', 'mad': choose the labels among 'tempo, "),
        ([], "name each label column once, at least one, but not all columns"),
        (["calm", "calm"], "name each label column once"),
        ("tempo,loud,happy,calm", "but not all columns"),
        (0, "the last 0 columns cannot be labels: choose a number from 1 to 3"),
        (4, "the last 4 columns cannot be labels"),
    ],
)
def test_labels_are_named_or_counted(write, wanted, expected):
    frame = pandas.DataFrame({"tempo": [1, 0], "loud": [0, 1], "happy": [1, 1], "calm": [0, 1]})
    path = write(frame.to_csv(index=False), "data.csv")
    if isinstance(expected, str):
        assert expected in refused(datasets.from_csv, path, wanted)
        assert expected in refused(datasets.from_frame, frame, wanted)
        return
    ds = datasets.from_csv(path, wanted)
    assert_array_equal(ds.Y, frame[expected])
    assert_array_equal(ds.X, frame[[name for name in frame if name not in expected]])
    check_same(datasets.from_frame(frame, wanted), ds)


def test_a_frame_of_all_kinds_of_numbers_is_read():
    features = {
        "bool": [True, False, True],
        "object": np.array([1, 2.5, 1], dtype=object),
        "nullable": pandas.array([1, 2, 3], dtype="Int64"),
        7: np.array([0, 1, 0], dtype=np.int8),
    }
    labels = {
        "plain": [0.0, NAN, 1.0],
        "boolean": pandas.array([True, None, False], dtype="boolean"),
        "words": np.array([None, True, False], dtype=object),
        "unknown": [None, None, None],
    }
    frame = pandas.DataFrame(features | labels, index=[5, 5, 5])
    ds = datasets.from_frame(frame, [*labels], name="kinds", n_initial=2)
    assert (ds.name, ds.n_initial) == ("kinds", 2)
    assert ds.table.lines == ["bool: yes or no", "object, nullable, 7: number"]
    assert ds.feature_names == ("bool", "object", "nullable", "7")
    assert_array_equal(ds.X, [[1, 1, 1, 0], [0, 2.5, 2, 1], [1, 1, 3, 0]])
    assert_array_equal(ds.Y, [[0, 1, NAN, NAN], [NAN, NAN, 1, NAN], [1, 0, 0, NAN]])
    gaps = datasets.from_frame(pandas.DataFrame({"x": [1, None, 2], "y": [0, 1, 0]}), "y")
    assert_array_equal(gaps.X, [[1], [NAN], [2]])
    frame = pandas.DataFrame({"code": pandas.Categorical([10, 2, 10, 2.5]), "y": [0, 1, 0, 1]})
    ds = datasets.from_frame(frame, "y", n_initial=4)  # no amounts
    assert features_of(ds) == ("code=10", "code=2", "code=2.5")
    assert_array_equal(ds.X[:, :3], np.eye(3)[[0, 1, 0, 2]])
    ds = datasets.from_frame(frame.astype({"code": float, "y": "category"}), "y")
    assert (ds.feature_names, ds.Y[:, 0].tolist()) == (("code",), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"x": [1, 2], "y": ["red", "blue"]}, "row 0: label 'y' is 'red': labels are 0 or 1"),
        ({"x": [1, 2], "y": [1j, 2]}, "row 0: label 'y' is '1j'"),
        ({"x": [np.inf, 1], "y": [0, 1]}, "row 0: 'inf' in column 'x' is no number: replace it"),
        ({"x": [], "y": []}, "the frame has no rows: give at least one"),
        ({1: [1], "1": [2], "y": [0]}, "the frame: two columns are called '1': rename one"),
    ],
)
def test_frames_that_cannot_be_taken_are_refused(columns, words):
    assert words in refused(datasets.from_frame, pandas.DataFrame(columns), "y")


def number_frame(n=N):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) * 10.0 ** rng.integers(-9, 9, size=(n, 4))
    frame = pandas.DataFrame(X, columns=["w", "x", "y", "z"])
    frame.insert(2, "liked", (X[:, 0] > 0).astype(int))  # a label among the features
    frame["skipped"] = (X[:, 1] > 0).astype(int)
    return frame


def with_field(text, line, column, value):
    rows = [row.split(",") for row in text.split("\n")]
    rows[line - 1][column] = value
    return "\n".join(map(",".join, rows))


NUMBERS, MIXED = number_frame().to_csv(index=False), mixed_text(N)
CHOICES = {"kinds": {"town": "drop", "tempo": "category", "played": "%Y-%m-%d %H:%M"}}


@pytest.mark.parametrize(
    ("text", "dtypes", "options"),
    [
        (NUMBERS, {"liked": bool, "skipped": float}, {}),
        (MIXED, {"genre": "category", "played": "datetime64[ns]"}, {}),
        (MIXED, {}, CHOICES),
    ],
)
def test_csv_frame_and_parquet_are_the_same_in_every_way(text, dtypes, options, write, in_blocks):
    frame = number_frame() if text is NUMBERS else pandas.read_csv(io.StringIO(MIXED))
    frame = frame.astype(dtypes)
    options = options | {"n_initial": 60, "name": "one"}
    known = datasets.from_csv(write(text), LABELS, **options)
    check_same(datasets.from_frame(frame, LABELS, **options), known)
    path = write(frame, "table.parquet")
    at_once = datasets.from_csv(path, LABELS, **options)
    check_same(at_once, known)
    assert at_once.table == known.table
    for read, file in ((datasets.from_csv, write(text)), (datasets.from_csv, path)):
        large = in_blocks(read, file, LABELS, **options)
        check_same(large, known)
        assert (large.table is None) == (known.table is None)
        if large.table is not None:
            assert_array_equal(large.table.encode(file), known.X)


@pytest.mark.parametrize(
    "text",
    [
        NUMBERS.replace("\n", "\r\n"),
        NUMBERS.replace("\n", "\n\n").replace("\n\n", "\n", 40),
        with_field(NUMBERS, 150, 0, '"1.5"'),
        with_field(with_field(NUMBERS, 9, 2, ""), 150, 5, ""),
        NUMBERS.replace(",", " , "),
        NUMBERS.replace(",", ";"),
        b"\xef\xbb\xbf" + NUMBERS.encode(),
        MIXED.replace("rock", '"hard\nrock, and\nroll"'),
        MIXED.replace("rock", "rök").encode("latin-1"),
        with_field(with_field(MIXED, 10, 2, "other"), 200, 2, "polka"),
        with_field(with_field(MIXED, 9, 5, "n/a"), 200, 5, "none"),
    ],
)
def test_a_csv_file_in_blocks_is_the_same_as_at_once(text, write, in_blocks):
    path = write(text)
    whole = datasets.from_csv(path, LABELS, n_initial=30)
    check_same(in_blocks(datasets.from_csv, path, LABELS, n_initial=30), whole)


def test_what_the_first_block_does_not_say_is_found_later(write, in_blocks):
    ds = in_blocks(datasets.from_csv, write(with_field(NUMBERS, 200, 3, "n/a")), LABELS)
    assert np.argwhere(np.isnan(ds.X)).tolist() == [[198, 2]]
    assert ds.table.lines == ["w, x, y, z: number"]  # by which later files may have gaps, too
    rows = [f"{'no' if i % 3 else 'yes'},{i % (2 if i < 100 else 3)},1" for i in range(N)]
    path = write("\n".join(["p,q,a", *rows]) + "\n")
    for ds in (datasets.from_csv(path, "a"), in_blocks(datasets.from_csv, path, "a")):
        assert ds.table.lines == ["p: yes or no", "q: number"]
        assert_array_equal(ds.X[:, 1], [i % (2 if i < 100 else 3) for i in range(N)])


@pytest.mark.parametrize(("n", "n_initial"), [(300, 90), (500, 110)])
def test_the_initial_part_is_30_percent_of_the_first_rows(n, n_initial, write, in_blocks):
    path = write(number_frame(n).to_csv(index=False))
    assert datasets.from_csv(path, LABELS).n_initial == n * 3 // 10
    assert in_blocks(datasets.from_csv, path, LABELS).n_initial == n_initial
    assert in_blocks(datasets.from_csv, path, LABELS, n_initial=0).n_initial == 0
    parquet = write(number_frame(n), "t.parquet")
    assert in_blocks(datasets.from_csv, parquet, LABELS).n_initial == n_initial
    for wrong, how in product((-1, 1.5, "3", n + 1), ([], [in_blocks])):
        message = refused(*how, datasets.from_csv, path, LABELS, n_initial=wrong)
        assert message == f"n_initial is {wrong!r}: choose a whole number of rows, 0 to {n}"


TALL = MIXED.replace("rock", '"hard\nrock, and\nroll"').replace("pop", '"pop\n\n"')
TALL += "\n" * 20 + TALL.split("\n")[-2] + ",7\n"


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("", "", "the file is empty: give one with a header row"),
        ("x\n1\n", "", "only one column: give more, or say what separates them"),
        ("1,0\n2,1\n", ", line 1", "numbers instead of names: put a header row"),
        ("x,y\n\n", "", "no rows after the header"),
        ("\nx,x,y\n1,2,0\n", ", line 2", "two columns are called 'x': rename one"),
        ("x,,y\n1,2,0\n", ", line 1", "column 2 has no name: give it one"),
        ("x,y\nred,0\n", "", "no features are left (x: left out, it is always 'red'"),
        ('x,y\n"1,0\n2,1\n', ", line 3", "no well-formed CSV (unexpected end of data)"),
        (f"x,{40 * 'y'}\n1,{41 * 'z'}\n", ", line 2", f"label '{40 * 'y'}' is '{40 * 'z'}...': "),
        (with_field(NUMBERS, 4, 0, "inf"), ", line 4", "'inf' in column 'w' is no number"),
        (with_field(NUMBERS, 200, 3, "1_0"), ", line 200", "'1_0' in column 'y' is no number"),
        (with_field(NUMBERS, 200, 5, "-1"), ", line 200", "label 'skipped' is '-1'"),
        (with_field(MIXED, 222, 5, "fast"), ", line 222", "'fast' in column 'tempo' is no"),
        (TALL, f", line {len(TALL.splitlines())}", "11 fields for 10 columns"),
        (NUMBERS[: NUMBERS.rindex(",")], f", line {N + 1}", "5 fields for 6 columns"),
    ],
)
def test_a_malformed_csv_file_is_refused_with_its_line(text, where, words, write, in_blocks):
    path = write(text)
    for how in ([], [in_blocks]):
        message = refused(*how, datasets.from_csv, path, 1)
        assert message.startswith(f"{path}{where}: ") and words in message
    gc.collect()  # a file that is left open would be told


def test_parquet_files_that_cannot_be_read_are_refused(write, tmp_path, in_blocks):
    frame = number_frame().astype({"x": str, "liked": float})
    frame.loc[200, "x"], frame.loc[201, "liked"] = "fast", 7
    read = datasets.from_csv
    said = refused(in_blocks, read, write(frame, "t.parquet"), LABELS)
    assert "row 201: label 'liked' is '7'" in said
    frame.loc[201, "liked"] = 0
    said = refused(in_blocks, read, write(frame, "t.parquet"), LABELS)
    assert "row 200: 'fast' in column 'x' is" in said
    path = write(number_frame()[::-1], "t.parquet")  # with an index
    assert read(path, LABELS).feature_names == ("w", "x", "y", "z")
    for how in ([], [in_blocks]):
        assert f"{path} has no column 'c'" in refused(*how, read, path, "c")
        assert f"0 to {N}" in refused(*how, read, path, LABELS, n_initial=N + 1)
    assert "has no rows" in refused(read, write(number_frame()[:0], "none.parquet"), LABELS)
    for name in ("absent.csv", "absent.parquet"):
        with pytest.raises(FileNotFoundError):
            datasets.from_csv(tmp_path / name, LABELS)
    path.write_bytes(path.read_bytes()[:-100])
    assert "cannot be read as Parquet" in refused(read, path, LABELS)


@pytest.mark.parametrize("source", [*WRITTEN, "objects"])
def test_a_messy_table_is_the_same_however_it_is_written(source, tmp_path):
    frame = messy_frame(60)
    known = datasets.from_frame(frame, 2, n_initial=30)
    assert known.feature_names[:5] == ("Preis, netto", "count", "code=1", "code=2", "code=3")
    if source == "objects":
        ds = datasets.from_frame(frame.astype(object), 2, n_initial=30)
    else:
        frame.to_csv(tmp_path / source, index=False, **WRITTEN[source])
        ds = datasets.from_csv(tmp_path / source, 2, n_initial=30, name="data")
        assert ("decimal commas in 'Preis" in str(ds.notes)) == ("decimal" in WRITTEN[source])
    check_same(ds, known)
    assert ds.table == known.table


def test_decimal_signs_are_found_column_by_column_or_given(write):
    text = "x, net;n;z;y\n1,5;1.000;0.5;1\n2,5;20;2;0\n"
    ds = datasets.from_csv(write(text), "y")
    assert_array_equal(ds.X, [[1.5, 1000, 0.5], [2.5, 20, 2]])
    quoted = 'x,y\n"1,5",1\n"2,75",0\n'
    for options in ({}, {"decimal": ","}):
        assert_array_equal(datasets.from_csv(write(quoted), "y", **options).X, [[1.5], [2.75]])
    thousands = 'x,y\n"1,234",1\n"2,500",0\n'
    ds = datasets.from_csv(write(thousands), "y")
    assert_array_equal(ds.X, [[1234], [2500]])
    assert "',' separates thousands: say decimal=',' if" in str(ds.table)
    assert_array_equal(datasets.from_csv(write(thousands), "y", decimal=",").X, [[1.234], [2.5]])
    message = refused(datasets.from_csv, write(text), 1, decimal=";")
    assert message == "decimal is ';': give '.' or ','"
    frame = pandas.DataFrame({"x": ["1,5", "2,5"], "y": [0, 1]})
    assert_array_equal(datasets.from_frame(frame, "y").X, [[1.5], [2.5]])


@pytest.mark.parametrize(
    ("words", "yes", "known"),
    [
        ("ja nein ja", None, [1, 0, 1]),
        ("oui non _", None, [1, 0, NAN]),
        ("sí no si", None, [1, 0, 1]),
        ("TRUE false 1.00", None, [1, 0, 1]),
        ("x _ X", None, [1, 0, 1]),
        ("good bad _", "GOOD", [1, 0, NAN]),
    ],
)
def test_labels_of_many_words(write, words, yes, known):
    rows = [f"{i},{word.strip('_')}" for i, word in enumerate(words.split())]
    path = write("\n".join(["a,y", *rows]) + "\n")
    ds = datasets.from_csv(path, "y", yes=yes)
    assert_array_equal(ds.Y[:, 0], known)
    if yes:
        assert "label 'y' is 'good': labels are 0 or 1" in refused(datasets.from_csv, path, "y")
        X, Y = ds.table.encode_with_labels(path)
        assert_array_equal(np.c_[X, Y], np.c_[ds.X, ds.Y])


def test_labels_from_which_little_can_be_learned_are_told(write):
    rows = [f"{i},0,1,,{i % 2 if i < 3 else ''}" for i in range(20)]
    ds = datasets.from_csv(write("\n".join(["x,a,b,c,d", *rows]) + "\n"), "a,b,c,d")
    assert ds.notes == (
        "label 'a' is never there, in 20 known rows",
        "label 'b' is always there, in 20 known rows",
        "label 'c' is not known in any of 20 rows",
        "label 'd' is known in only 3 of 20 rows",
        "46.2 % of the labels are unknown",
    )
    ds = datasets.from_csv(write("x,a\n1,0\n2,1\n3,1\n"), "a")
    assert ds.notes == ()


@pytest.mark.parametrize(
    ("words", "yes", "told"),
    [
        ("gut schlecht gut", "guht", "label 'y' is never 'guht', only 'gut, schlecht': say which"),
        ("gut gut gut", "guht", "label 'y' is never 'guht', only 'gut'"),
        ("ja nein ja", "jaa", "label 'y' is never 'jaa', only 'ja, nein'"),
        ("gut gut gut", "gut", [1, 1, 1]),
        ("1 0 1", "1.0", [1, 0, 1]),
        ("no no yes", "no", [1, 1, 0]),
    ],
)
def test_a_word_for_yes_that_is_not_there_is_refused(words, yes, told, write):
    rows = [f"{i},{word},ja" for i, word in enumerate(words.split())]
    for labels in ("y", "y,z") if yes == "guht" else ("y",):
        path = write("\n".join(["a,y,z", *rows]) + "\n")
        if isinstance(told, str):
            assert f"{path}: {told}" in refused(datasets.from_csv, path, labels, yes=yes)
        else:
            assert datasets.from_csv(path, labels, yes=yes).Y[:, 0].tolist() == told


def test_a_rare_word_for_yes_may_come_late(write, in_blocks):
    rows = [f"{i},{'gut' if i == 300 else 'mittel' if i % 2 else 'schlecht'}" for i in range(400)]
    path = write("\n".join(["a,y", *rows]) + "\n")
    assert in_blocks(datasets.from_csv, path, "y", yes="gut").Y.sum() == 1


def pack(path, ending):
    """Compress a file."""
    packed = path.with_name(path.name + ending)
    with {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}[ending](packed, "wb") as file:
        file.write(path.read_bytes())
    return packed


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_compressed_files_are_read(ending, write, in_blocks):
    known = datasets.from_csv(write(MIXED), LABELS, n_initial=60)
    packed = pack(write(MIXED), ending)
    for how in ([], [in_blocks]):
        found = [*how, datasets.from_csv]
        check_same(found[0](*found[1:], packed, LABELS, n_initial=60), known)
    packed.write_bytes(packed.read_bytes()[:-200])
    assert f"{packed}: it cannot be unpacked" in refused(datasets.from_csv, packed, LABELS)
    packed.write_bytes(b"no such thing")
    assert "it cannot be unpacked" in refused(datasets.from_csv, packed, LABELS)
    line = with_field(MIXED, 222, 5, "fast")
    assert ", line 222: 'fast'" in refused(datasets.from_csv, pack(write(line), ending), LABELS)


def test_numbers_of_rows_that_were_written_too_are_left_out(tmp_path):
    frame = number_frame()
    frame.to_csv(tmp_path / "t.csv")
    ds = datasets.from_csv(tmp_path / "t.csv", LABELS)
    assert ds.feature_names == ("w", "x", "y", "z")
    assert ds.table.lines[0] == "Unnamed: 0: left out, it has no name: numbers of rows"
    assert_array_equal(ds.X, datasets.from_frame(frame, LABELS).X)
    again = pandas.read_csv(tmp_path / "t.csv")  # which calls it so, too
    assert datasets.from_frame(again, LABELS).table == ds.table


def test_columns_may_be_called_by_numbers():
    frame = pandas.DataFrame(np.c_[np.arange(12.0).reshape(6, 2), [0, 1] * 3])
    ds = datasets.from_frame(frame, [2], kinds={1: "drop"})
    assert (ds.feature_names, ds.label_names) == (("0",), ("2",))
