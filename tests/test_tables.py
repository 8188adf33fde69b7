"""Ordinary tables: what each column is found to be, which features it becomes, what is refused."""

import io
import math
import pickle

import numpy as np
import pandas
import pytest
from helpers.mixed_tables import LABELS, LEFT_OUT, mixed_text, write_mixed
from numpy.testing import assert_array_equal

from efcml import datasets
from efcml.cli import main
from efcml.saving.table_facts import check_table_facts, pack_table, unpack_table
from efcml.tables import TableProblems, encoder
from efcml.tables.dates import FORMATS, find_formats, read_date
from efcml.tables.raw_tables import read_raw


@pytest.fixture(scope="module")
def plays(tmp_path_factory):
    return datasets.from_csv(write_mixed(tmp_path_factory.mktemp("plays")), LABELS)


@pytest.fixture
def read(tmp_path):
    """Read a table with the label y, which is 0 and 1 in turns."""

    def read_columns(columns, n_initial=None, **options):
        n = len(next(iter(columns.values())))
        columns = {"y": [str(i % 2) for i in range(n)], **columns}
        rows = zip(*columns.values(), strict=True)
        path = tmp_path / "table.csv"
        path.write_text("\n".join([",".join(columns), *(",".join(row) for row in rows)]) + "\n")
        return datasets.from_csv(path, "y", n_initial=n_initial, **options)

    return read_columns


def problems(function, *arguments, **options):
    with pytest.raises(ValueError) as caught:
        function(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def kinds(ds):
    return {column.name: column.kind for column in ds.table.columns}


# -- what columns become ------------------------------------------------------------------------


def test_a_mixed_table_becomes_features(plays):
    assert kinds(plays) == {
        **dict.fromkeys(LEFT_OUT, "left out"),
        "played": "date",
        "genre": "category",
        "town": "category",
        "member": "yes or no",
        "tempo": "number",
    }
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    names = plays.feature_names
    assert names[:2] == ("days since 2024-03-01", "hour")
    assert names[2:9] == tuple(f"day of week={day}" for day in days)
    assert names[9:12] == ("genre=jazz", "genre=pop", "genre=rock")
    assert names[12:25:12] == ("town=town 1", "town=other")
    assert names[-2:] == ("member", "tempo")
    assert plays.table.groups["genre"] == names[9:12]
    assert (plays.X[:, 2:9].sum(axis=1) == 1).all() and (plays.X[:, 12:25].sum(axis=1) == 1).all()
    assert (plays.X[:, 0] >= 0).all() and (np.diff(plays.X[:, 0]) > 0).all()
    frame = pandas.read_csv(io.StringIO(mixed_text()), parse_dates=["played"])
    assert_array_equal(plays.X[:, names.index("tempo")], frame["tempo"])
    assert_array_equal(plays.X[:, names.index("member")], frame["member"] == "yes")
    assert_array_equal(plays.X[:, 2:9].argmax(axis=1), frame["played"].dt.day_of_week)
    hours = frame["played"].dt.hour + frame["played"].dt.minute / 60
    np.testing.assert_allclose(plays.X[:, 1], hours, atol=1e-12)
    np.testing.assert_allclose(plays.X[:, 0] % 1, hours / 24, atol=1e-9)


def test_one_line_says_what_became_of_each_column(plays):
    assert str(plays.table).splitlines() == [
        "song: left out as a name or free text: all are different",
        "played: date (year-month-day), as days since 2024-03-01, hour, day of week",
        "genre: category: jazz, pop, rock",
        plays.table.lines[3],
        "member: yes or no",
        "unit: left out, it is always 'bpm'",
        "note: left out, it is empty",
        "tempo: number",
    ]
    assert plays.table.lines[3].startswith("town: category: the 12 most frequent of ")


def test_a_frame_gives_the_same_as_its_file(plays, tmp_path):
    path = write_mixed(tmp_path)
    for options in ({}, {"parse_dates": ["played"]}, {"dtype": {"genre": "category"}}):
        frame = pandas.read_csv(path, **options)
        same = datasets.from_frame(frame, LABELS)
        assert_array_equal(same.X, plays.X)
        assert_array_equal(same.Y, plays.Y)
        assert same.feature_names == plays.feature_names
        later = plays.table.encode(frame[5:9])
        assert_array_equal(later, plays.X[5:9])
        assert later.index.tolist() == [5, 6, 7, 8]
        assert tuple(later.columns) == plays.feature_names
    assert_array_equal(plays.table.encode(path), plays.X)


def test_later_rows_come_with_their_labels(plays, tmp_path):
    path = write_mixed(tmp_path)
    for found, wanted in zip(
        plays.table.encode_with_labels(path, LABELS), (plays.X, plays.Y), strict=True
    ):
        assert_array_equal(found, wanted)
    words = pandas.read_csv(path)[5:9]
    words["liked"] = ["yes", "no", None, "Yes"]
    X, Y = plays.table.encode_with_labels(words, LABELS)
    assert_array_equal(X, plays.X[5:9])
    assert_array_equal(Y["liked"], [1, 0, np.nan, 1])
    assert [*Y] == ["liked", "skipped"] and Y.index.equals(words.index)
    one = plays.table.encode_with_labels(words, "liked")[1]
    assert_array_equal(one, Y[["liked"]])
    encode = plays.table.encode_with_labels
    assert "has no column 'sad': choose the labels among" in problems(encode, words, ["sad"])
    assert "no label column is named" in problems(encode, words, [])
    assert "a label column is named twice" in problems(encode, words, ["liked", "liked"])
    words["liked"] = "perhaps"
    words["member"] = "perhaps"
    with pytest.raises(TableProblems) as caught:
        encode(words, LABELS)
    assert [line.split(":")[0] for line in caught.value.lines[1:]] == ["row 0", "row 0"]
    assert caught.value.lines[2].endswith("replace it")


def test_a_table_of_numbers_is_as_before(read):
    columns = {"a": ["1", "2.5", "3"], "b": ["4", "4", "4"], "c": ["true", "False", "1"]}
    ds = read(columns)
    assert ds.table is None
    assert ds.feature_names == ("a", "b", "c")
    assert_array_equal(ds.X, [[1, 4, 1], [2.5, 4, 0], [3, 4, 1]])


def test_values_are_those_of_the_initial_part(read):
    """What comes later is other, if there was one already, else none of them."""
    few = ["a", "b"] * 10 + ["c"] * 20
    ds = read({"g": few}, n_initial=20)
    assert ds.feature_names == ("g=a", "g=b")
    assert_array_equal(ds.X[20:], 0)
    many = [f"v{i % 14:02d}" for i in range(42)] + ["new", "other"]
    ds = read({"g": many}, n_initial=42)
    assert len(ds.feature_names) == 13 and ds.feature_names[-1] == "g=other"
    assert_array_equal(ds.X[:, -1], [float(i % 14 > 11) for i in range(42)] + [1, 1])
    ds = read({"g": ["a"] * 10 + ["b"] * 10}, n_initial=10)  # one value alone is no group
    assert ds.feature_names == ("g=a", "g=other")
    assert_array_equal(ds.X, np.repeat([[1, 0], [0, 1]], 10, axis=0))


def test_without_an_initial_part_the_first_rows_are_looked_at(read):
    ds = read({"g": ["a", "b", "a", "c"] * 10, "z": [str(i) for i in range(40)]}, n_initial=0)
    assert ds.n_initial == 0
    assert ds.feature_names == ("g=a", "g=b", "g=c", "z")


def test_gaps_among_words_are_a_value(read):
    ds = read({"g": ["a", "NA", "b", "", "a", "none"] * 5})
    assert ds.feature_names == ("g=a", "g=b", "g=none", "g=missing")
    assert ds.X[:6].argmax(axis=1).tolist() == [0, 3, 1, 3, 0, 2]
    ticked = read({"g": ["x", "", "", "x"] * 5, "h": ["yes", "", "", "yes"] * 5})
    assert ticked.feature_names == ("g=x", "g=missing", "h=yes", "h=missing")


GAPPY = {"a": ["1", "NA", "3", "?", "5", "none"], "g": ["u", "v"] * 3}


def test_gaps_among_numbers_are_missing(read):
    frame = pandas.DataFrame({"x": [1, None, 2], "y": [0, 1, 0]})
    for ds in (read({"x": ["1", "", "2"]}), datasets.from_frame(frame, "y")):
        assert_array_equal(ds.X, [[1], [math.nan], [2]])
    assert_array_equal(np.isnan(read(GAPPY).X[:, 0]), [0, 1, 0, 1, 0, 1])
    names = read(GAPPY, n_initial=2, text_as_category="a").feature_names
    assert names == ("a=1", "a=missing", "g=u", "g=v")


def test_gaps_of_every_kind_of_column():
    raw = encoder.RawTable(
        "here",
        ["a", "f", "d", "g", "y"],
        [
            ["1", "NA", "3", "?"],
            ["yes", "", "no", "no"],
            ["2024-03-01", "-", "2024-03-04", "2024-03-01"],
            ["u", "v", "", "u"],
            ["0", "1", "", "0"],
        ],
        range(4),
    )
    table, X, Y = encoder.learn_table(raw, ["y"], 4, encoder.Choices())
    nan = math.nan
    assert_array_equal(X[:, 0], [1, nan, 3, nan])
    assert_array_equal(X[:, 1], [1, nan, 0, 0])
    assert_array_equal(X[:, 2:5], [[0, 0, 1], [nan, nan, nan], [3, 1, 0], [0, 0, 1]])
    assert not np.isnan(X[:, 5:]).any()
    assert_array_equal(Y[:, 0], [0, 1, nan, 0])
    assert [str(column) for column in table.columns][:2] == [
        "a: number, 2 gaps",
        "f: yes or no, 1 gap",
    ]


def test_labels_may_be_yes_and_no(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,yes\n2,No\n3,NA\n4,\n5,1.0\n")
    assert_array_equal(datasets.from_csv(path, "y").Y[:, 0], [1, 0, np.nan, np.nan, 1])


# -- numbers and words, dates -------------------------------------------------------------------


def test_numbers_and_words(read):
    """A few words among numbers are mistakes, unless values come again and again: then words."""
    numbers = [f"{i}.5" for i in range(40)]
    message = problems(read, {"a": [*numbers, "12;5"]})
    assert "line 42: '12;5' in column 'a' is no number: replace it, drop the column or" in message
    ds = read({"a": ["1", "2", "3", "10+"] * 10})
    assert kinds(ds) == {"a": "category"}
    assert "a: category: 1, 10+, 2, 3 (not numbers, as '10+' in line 5 is none)" == str(ds.table)
    assert kinds(read({"a": ["1", "2", "3"] * 10 + ["10+"]})) == {"a": "category"}
    ds = read({"a": [*numbers, *(f"w{i}" for i in range(20))], "b": numbers[:30] * 2})
    assert ds.table.lines[0] == "a: left out as a name or free text: all are different"


def test_numbers_with_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;y\n" + "".join(f"{i},5;{i};{i % 2}\n" for i in range(20)))
    ds = datasets.from_csv(path, "y", delimiter=";")
    assert ds.feature_names == ("b",)
    assert ds.table.lines[0].endswith(
        "all are different; if these are numbers, write points for commas"
    )
    assert_array_equal(ds.table.encode(path, delimiter=";"), ds.X)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("2024-03-04", "year-month-day"),
        ("2024/3/4", "year/month/day"),
        ("4.3.2024", "day.month.year"),
        ("04/03/2024", "day/month/year"),
        ("03/04/2024", "month/day/year"),
        ("04-03-2024", "day-month-year"),
        ("4 March 2024", "day name year"),
        ("Mar 4, 2024", "name day year"),
        ("2024_064", "%Y_%j"),
    ],
)
def test_formats_of_dates(text, how):
    day = (pandas.Timestamp("2024-03-04") - pandas.Timestamp("1970-01-01")).days
    assert read_date(text, how) == (day, 0.0, 0)
    if how in FORMATS:
        assert how in find_formats([text])[text]
        assert read_date(f"{text} 18:30:00", how) == (day + 18.5 / 24, 18.5, 0)
        assert read_date(f"{text} 6:30 PM", how) == (day + 18.5 / 24, 18.5, 0)
        assert read_date(f"{text}T18:30:00+02:00", how) == (day + 16.5 / 24, 18.5, 0)
        assert read_date(f"{text} 12:30 am", how) == (day + 0.5 / 24, 0.5, 0)
        assert read_date(f"{text} 12:30 pm", how) == (day + 12.5 / 24, 12.5, 0)
        assert read_date(f"{text}T18:30Z", how) == (day + 18.5 / 24, 18.5, 0)
    for wrong in (
        "2024-13-40",
        "x",
        "",
        "9" * 99,
        f"{text} 25:00",
        f"{text} 18:30:61",
        "Foo 4, 2024",
    ):
        assert read_date(wrong, how) is None


def test_dates_in_two_formats_are_refused_with_their_lines(read):
    dates = [f"2024-03-{i:02d}" for i in range(1, 21)]
    dates[4], dates[9] = "5.3.2024", "10.3.2024"
    message = problems(read, {"d": dates})
    assert (
        "column 'd' has dates in two formats, year-month-day in lines 2, 3, 4, ... and"
        " day.month.year in lines 6, 11: write all in one format"
    ) in message
    mixed = ["13/02/2024", "02/13/2024", "03/14/2024"] * 5
    assert "month/day/year in lines 3, 4, 6, ... and day/month/year in lines 2" in problems(
        read, {"d": mixed}
    )


def test_days_and_months_can_be_told_apart(read):
    dates = [f"{i:02d}/04/2024" for i in range(1, 11)]
    ds = read({"d": dates})
    assert "day/month/year rather than month/day/year: say the format" in str(ds.table)
    assert_array_equal(ds.X[:, 0], range(10))
    for date in ("d=%m/%d/%Y", ["d=%m/%d/%Y"], {"d": "%m/%d/%Y"}):
        ds = read({"d": dates}, date=date)
        assert ds.X[:3, 0].tolist() == [0.0, 31.0, 60.0]
    assert "column 'd' has no date of the format %Y" in problems(read, {"d": dates}, date="d=%Y")
    words = ["1.4.2024", "2.4.2024", "soon"] * 5
    assert kinds(read({"d": words})) == {"d": "category"}
    message = problems(read, {"d": words}, date="d")
    assert "line 4: 'soon' in column 'd' is no date (day.month.year) here and in 4 other" in message


def test_several_dates_have_their_names(read):
    dates = [f"{i}.4.2024" for i in range(1, 15)]
    ds = read({"in": dates, "out": dates[::-1], "hour": ["a", "b"] * 7})
    assert ds.feature_names[:2] == ("in: days since 2024-04-01", "in: day of week=Monday")
    assert set(ds.table.groups) == {"in: day of week", "out: day of week", "hour"}


def test_columns_can_be_chosen(read):
    columns = {"id": [f"n{i}" for i in range(20)], "code": ["7", "8"] * 10, "z": ["u", "v"] * 10}
    assert read(columns, drop="id,z").feature_names == ("code",)
    ds = read(columns, drop=["z"], text_as_category=["code", "id"])
    assert ds.feature_names[-2:] == ("code=7", "code=8")
    assert ds.feature_names[0] == "id=n0"
    for options, words in (
        ({"drop": "w"}, "has no column 'w': choose among 'y, id, code, z'"),
        ({"drop": "y"}, "column 'y' is a label"),
        ({"drop": "z", "text_as_category": "z"}, "column 'z' is named twice"),
    ):
        assert words in problems(read, columns, **options)


# -- all problems together ----------------------------------------------------------------------


HOSTILE = """x,d,when,y,z
1,2,2024-01-01,1,rock
2
oops,3,2024-01-02,0,pop
3,4,3.1.2024,2,jazz
""" + "".join(f"{i},{i},2024-02-{i:02d},{i % 2},\n" for i in range(4, 24))


def test_all_problems_are_told_at_once(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text(HOSTILE)
    with pytest.raises(TableProblems) as caught:
        datasets.from_csv(path, "y,z")
    told = [
        f"{path}: 5 things to correct",
        "line 3: 1 fields for 5 columns: the row is cut or has a delimiter too many, correct it",
        "column 'when' has dates in two formats, year-month-day in lines 2, 4, 6, ... and"
        " day.month.year in line 5: write all in one format",
        "line 5: label 'y' is '2': labels are 0 or 1, yes or no, empty where unknown",
        "line 2: label 'z' is 'rock' and 2 other things elsewhere: labels are 0 or 1, yes or no,"
        " empty where unknown: make a label of each word",
        "line 4: 'oops' in column 'x' is no number: replace it, drop the column or take it as a"
        " category",
    ]
    assert caught.value.lines == told
    assert "\n" not in str(caught.value) and str(caught.value).startswith(told[0] + ": line 3: ")
    assert pickle.loads(pickle.dumps(caught.value)).lines == told
    assert main(["run", str(path), "--labels", "y,z"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "efcml: " + "\n  ".join(told) + "\n"


def test_many_problems_are_cut(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "1\n" * 30)
    with pytest.raises(TableProblems) as caught:
        datasets.from_csv(path, "y")
    assert len(caught.value.lines) == 12
    assert caught.value.lines[-1] == "and 20 more"
    assert len(str(caught.value)) < 500


def test_cut_rows_come_before_too_few_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1\n")
    assert "line 2: 1 fields for 3 columns" in problems(datasets.from_csv, path, "y", n_initial=9)
    path.write_text("a,b,y\n1,u,0\n2,v,1\n")
    for wrong in (9, -1, 2.5):
        assert f"n_initial is {wrong}" in problems(datasets.from_csv, path, "y", n_initial=wrong)


def test_cells_of_any_kind_are_taken_or_refused():
    cells = [np.float32("nan"), None, pandas.NA, pandas.NaT, np.True_, np.int8(3), np.float32(0.5)]
    frame = pandas.DataFrame({"a": pandas.Series([*cells, 2**60, 1e300], dtype=object)})
    texts = read_raw(frame).column("a")
    assert texts == ["", "", "", "", "true", "3", "0.5", str(2**60), "1e+300"]
    for odd in (np.zeros(2), {}, 1j, pandas.Timedelta(1), pandas.Period("2024")):
        frame = pandas.DataFrame({"a": pandas.Series([1, odd], dtype=object), "y": [0, 1]})
        assert "row 1: column 'a' of type object holds other things" in problems(
            datasets.from_frame, frame, "y"
        )


def test_later_files_must_fit(plays, tmp_path):
    path = tmp_path / "new.csv"
    lines = mixed_text(3).splitlines()
    path.write_text("\n".join(["genre,played,town,tempo,member", "polka,2024-05-01,x,99,TRUE"]))
    X = plays.table.encode(path)
    assert X.shape == (1, len(plays.feature_names))
    assert X[0, 9:12].tolist() == [0, 0, 0] and X[0, 24] == 1
    path.write_text("genre,tempo\nrock,1\n")
    assert "has no column 'played, town, member', which the model needs" in problems(
        plays.table.encode, path
    )
    lines[2] = lines[2].replace("yes", "maybe").replace(",no,", ",maybe,")
    lines[3] = lines[3].replace("2024-", "24-").replace("bpm", "kg")
    path.write_text("\n".join(lines))
    with pytest.raises(TableProblems) as caught:
        plays.table.encode(path)
    assert len(caught.value.lines) == 3
    assert (
        caught.value.lines[2]
        == "line 3: 'maybe' in column 'member' is neither yes nor no: replace it"
    )
    assert "is no date (year-month-day): replace it" in caught.value.lines[1]


# -- in files -----------------------------------------------------------------------------------


def test_facts_come_back(plays):
    facts = pack_table(plays.table)
    check_table_facts(facts, len(plays.feature_names))
    assert unpack_table(facts) == plays.table


@pytest.mark.parametrize(
    ("column", "lie", "reason"),
    [
        (1, {"kind": "moon"}, "of the kind moon"),
        (1, {"how": "moon"}, "no date that can be read"),
        (1, {"how": "%" * 99}, "no date that can be read"),
        (1, {"origin": 1}, "says origin=1"),
        (1, {"parts": ["hour", "days"]}, "no date that can be read"),
        (1, {"values": ["Someday"] * 7}, "each once"),
        (2, {"values": ["jazz", "pop"]}, "other features than values"),
        (2, {"values": ["jazz", "pop", 3]}, "must be words"),
        (2, {"features": ["tempo", "a", "b"]}, "two columns of one name"),
        (2, {"name": "town"}, "two columns of one name"),
        (4, {"features": []}, "other features than values"),
        (4, {"kind": "left out", "features": []}, "cannot be that of"),
        (0, {"more": 1}, "and nothing else"),
    ],
)
def test_facts_that_lie_are_refused(plays, column, lie, reason):
    facts = pack_table(plays.table)
    facts[column] |= lie
    with pytest.raises(ValueError, match=reason):
        check_table_facts(facts, len(plays.feature_names))


def test_words_that_begin_like_months_are_no_dates():
    for text in ("marble 3 2024", "decoy 12, 2020", "Junk 1 2001", "3 sepia 2020"):
        assert not find_formats([text])[text]
    for text in ("Sept 3 2024", "sep. 3 2024", "3-SEPTEMBER-2024", "3 Sep 2024"):
        (how,) = find_formats([text])[text]
        assert read_date(text, how).days == read_date("2024-09-03", "year-month-day").days
