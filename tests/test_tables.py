"""Ordinary tables: what each column is found to be, which features it becomes, what is refused."""

import calendar
import io
import json
import math
from dataclasses import asdict

import numpy as np
import pandas
import pytest
from helpers.mixed_tables import LABELS, features_of, mixed_text, refused, write_mixed
from numpy.testing import assert_allclose, assert_array_equal

from efcml import datasets
from efcml.cli import main
from efcml.tables.encoder import TableEncoder

NAN = math.nan


@pytest.fixture(scope="module")
def plays(tmp_path_factory):
    return datasets.from_csv(write_mixed(tmp_path_factory.mktemp("plays"), 300), LABELS)


@pytest.fixture
def read(tmp_path):
    """Read a table with the label y, which is 0 and 1 in turns; all rows are the initial part."""

    def read_columns(columns, n_initial=None, **options):
        n = len(next(iter(columns.values())))
        columns = {"y": [str(i % 2) for i in range(n)], **columns}
        rows = zip(*columns.values(), strict=True)
        path = tmp_path / "table.csv"
        path.write_text("\n".join([",".join(columns), *(",".join(row) for row in rows)]) + "\n")
        n_initial = n if n_initial is None else n_initial
        return datasets.from_csv(path, "y", n_initial=n_initial, **options)

    return read_columns


def test_a_mixed_table_becomes_features(plays):
    names = features_of(plays)
    played = ("played: days since 2024-03-01", "played: month", "played: hour")
    assert names[:3] == played
    assert names[3:10] == tuple(f"played: day of week={day}" for day in calendar.day_name)
    assert names[10:13] == ("genre=jazz", "genre=pop", "genre=rock")
    assert names[25:] == ("town=other", "member", "tempo")
    frame = pandas.read_csv(io.StringIO(mixed_text(300)), parse_dates=["played"])
    played = frame["played"]
    hours = (played - pandas.Timestamp("2024-03-01")) / pandas.Timedelta("1h")
    parts = np.transpose([hours / 24, played.dt.month, hours % 24])
    assert_allclose(plays.X[:, :3], parts, atol=1e-9)
    expected = [
        *(played.dt.day_of_week == day for day in range(7)),
        *(frame["genre"] == genre for genre in ("jazz", "pop", "rock")),
        *(frame["town"] == name.partition("=")[2] for name in names[13:25]),
        ~frame["town"].isin([name.partition("=")[2] for name in names[13:25]]),
        frame["member"] == "yes",
        frame["tempo"],
    ]
    assert_array_equal(plays.X[:, 3 : len(names)], np.transpose(expected))
    assert_array_equal(plays.Y, frame[["liked", "skipped"]])
    assert "song: left out as a name or free text: all are different" in str(plays.table)
    assert repr(plays.table) == "TableEncoder(8 columns, 32 features, 2 labels)"
    assert plays.table.lines[-2:] == ["note: left out, it is empty", "tempo: number"]


NUMBERS = [f"{i}.5" for i in range(40)]
TWICE = " ".join([f"t{i}" for i in range(10, 23)] * 2)
MANY = " ".join([*(f"g=t{i}" for i in range(10, 22)), "g=other"])
MARCH = "g: days since 2024-03-02;"
WEEK = MARCH + "g: day of week=Monday;g: day of week=Saturday"
COLUMNS = {  # fields, features, their values or which one of several is 1, what is said
    "words": ("b a b c", "g=a g=b g=c", [1, 0, 1, 2], "g: category: a, b, c"),
    "gaps among words": ("a NA b _ a none", "g=a g=b g=missing", [0, 2, 1, 2, 0, 2], ""),
    "some called other": ("a other missing b a", "g=a g=b g=other g=missing", [0, 2, 3, 1, 0], ""),
    "ticked boxes": ("x _ _ x", "g=x g=missing", [0, 1, 1, 0], "category: x, missing"),
    "ticked yes": ("yes _ _", "g=yes g=missing", [0, 1, 1], "category: yes, missing"),
    "codes and words": ("3.0 x 3 4.5 x", "g=3 g=4.5 g=x", [0, 2, 0, 1, 2], "category: 3, 4.5"),
    "gaps among numbers": ("1 NA 3 ? 5 none", "g", [1, NAN, 3, NAN, 5, NAN], "number, 3 gaps"),
    "yes and no": ("Yes no YES No", "g", [1, 0, 1, 0], "g: yes or no"),
    "ja and nein": ("ja nein nein", "g", [1, 0, 0], "g: yes or no"),
    "yes, no and a gap": ("y nan N", "g", [1, NAN, 0], "yes or no, 1 gap"),
    "counts": ("1 0 1 0", "g", [1, 0, 1, 0], "g: number"),
    "1 and gaps": ("1 _ 1 #N/A", "g", [1, NAN, 1, NAN], "number, 2 gaps"),
    "one number": ("4 4.0 4", "g", [4, 4, 4], "g: number"),
    "one word": ("a a a", "", [], "left out, it is always 'a'"),
    "one date": ("2024-03-01 2024-03-01", "", [], "left out, it is always '2024-03-01'"),
    "nothing": ("_ NA", "", [], "left out, it is empty"),
    "free text": (TWICE[:-4], "", [], "13 of 25 are different"),
    "many words": (TWICE, MANY, [*range(13)] * 2, "12 most frequent of 13 values, the rest is"),
    "numbers with commas": ("1;5 2;5 3", "g", [1.5, 2.5, 3], "g: number"),
    "thousands": ("1;234.5 2;500 12", "g", [1234.5, 2500, 12], "',' separates thousands: say dec"),
    # They come again and again: words, not mistakes.
    "few values": ("1 2 " * 7 + "10+", "g=1 g=10+ g=2", [0, 2] * 7 + [1], "category: 1, 10+"),
    "numbers and words": (" ".join([*NUMBERS[:8], "w"]), "", [], "all are different"),
    "few dates, a word": ("1.4.2024 soon " * 5, "g=1.4.2024 g=soon", [0, 1] * 5, "category"),
    "dates": (
        "2024-03-02 2024-03-04 - 2024-03-09",
        WEEK,
        [(0, 0, 1), (2, 1, 0), (NAN, NAN, NAN), (7, 0, 1)],
        "date (year-month-day), 1 gap, as days since 2024-03-02, day of week",
    ),
    "hours": (
        "2.3.2024~12:00 9.3.2024~18:00",
        MARCH + "g: hour",
        [(0.5, 12), (7.75, 18)],
        "%H:%M)",
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_becomes_features(name, read):
    fields, names, values, said = COLUMNS[name]
    fields, names = fields.split(), names.split(";" if ";" in names else None)
    quoted = [f'"{text.strip("_").replace(";", ",").replace("~", " ")}"' for text in fields]
    ds = read({"g": quoted, "flag": (["yes", "no"] * len(fields))[: len(fields)]})
    assert features_of(ds) == (*names, "flag")
    if len(names) > 1 and np.ndim(values) == 1:
        values = np.eye(len(names))[values]
    assert_allclose(ds.X[:, : len(names)], np.reshape(values, (len(fields), -1)), rtol=0, atol=1e-9)
    assert said in str(ds.table)


def test_values_and_days_are_those_of_the_initial_part(read):
    """What comes later is other, if there was one already, else none of them."""
    ds = read({"g": ["a", "b"] * 10 + ["c"] * 19}, n_initial=20)
    assert features_of(ds) == ("g=a", "g=b")
    assert_array_equal(ds.X[:, :2], [*np.eye(2)[[0, 1] * 10], *np.zeros((19, 2))])
    ds = read({"g": ["a"] * 10 + ["b"] * 10}, n_initial=10)  # one value alone is no group
    assert features_of(ds) == ("g=a", "g=other")
    assert_array_equal(ds.X[:, :2], np.repeat(np.eye(2), 10, axis=0))
    days = ["5.3.2024", "4.3.2024", "1.3.2024"]
    assert_array_equal(read({"d": days}, n_initial=2).X[:, 0], [1, 0, -3])
    ds = read({"g": ["a", "b", "a", "c"] * 10}, n_initial=0)
    assert (ds.n_initial, features_of(ds)) == (0, ("g=a", "g=b", "g=c"))


def test_a_few_words_among_many_numbers_or_dates_are_mistakes(read):
    message = refused(read, {"a": [*NUMBERS[:9], "12;5"]})
    assert "line 11: '12;5' in column 'a' is no number: replace it, drop the column or" in message
    assert "'w' in column" in refused(read, {"a": [*["1", "2"] * 6, "1", "w"]})  # 14 rows, 3 values
    dates = [f"{day}.4.2024" for day in range(11, 31)]
    assert "line 22: 'soon' in column 'd' is no date" in refused(read, {"d": [*dates, "soon"]})
    message = refused(read, {"d": ["1.4.2024", "2.4.2024", "soon"] * 5}, kinds={"d": "date"})
    assert "line 4: 'soon' in column 'd' is no date (%d.%m.%Y): replace it" in message


DATES = {
    "year-month-day": "2024-03-13 18:30;2024-04-15 06:00:00",
    "%d.%m.%Y": "13.3.2024;15.04.2024",
    "%d.%m.%Y %H:%M": "13.3.2024 18:30;15.04.2024 06:00",
    "%d/%m/%Y": "13/03/2024;15/4/2024",
    "%m/%d/%Y %I:%M %p": "03/13/2024 06:30 PM;4/15/2024 6:00 am",
    "%d-%m-%Y": "13-03-2024;15-4-2024",
    "%d.%m.%y": "13.3.24;15.04.24",
    "%d %B %Y": "13 March 2024;15 April 2024",
    "%b %d, %Y": "Mar 13, 2024;Apr 15, 2024",
}


@pytest.mark.parametrize("how", DATES)
def test_formats_of_dates(how, read):
    """A Wednesday and a Monday, of which month and hour become features, too, if they vary."""
    first, second = (f'"{text}"' for text in DATES[how].split(";"))
    ds = read({"d": [first, second] * 3})
    hours = ":" in first
    assert_allclose(ds.X[:2, 0], [18.5 / 24, 33.25] if hours else [0, 33])
    parts = ["days since 2024-03-13", "month", *["hour"] * hours]
    parts += ["day of week=Monday", "day of week=Wednesday"]
    assert ds.feature_names == tuple(f"d: {part}" for part in parts)
    assert_array_equal(ds.X[:2, 1:], [[3, *[18.5] * hours, 0, 1], [4, *[6] * hours, 1, 0]])
    assert f"date ({how})" in str(ds.table)


def test_days_and_months_are_told_apart(read):
    dates = [f"{i:02d}/04/2024" for i in range(1, 11)]
    ds = read({"d": dates})
    assert "%d/%m/%Y rather than %m/%d/%Y: say the format" in str(ds.table)
    assert_array_equal(ds.X[:, 0], range(10))
    assert read({"d": dates}, kinds={"d": "%m/%d/%Y"}).X[:3, 0].tolist() == [0.0, 31.0, 60.0]
    message = refused(read, {"d": dates, "e": dates}, kinds={"d": "%Y", "e": "date"})
    assert "column 'd' has no date of %Y" in message
    message = refused(read, {"d": NUMBERS}, kinds={"d": "date"})
    assert "column 'd' has no date of a known format" in message
    mixed = [f"{i}/02/2024" for i in range(10, 24)]
    message = refused(read, {"d": [*mixed, "02/13/2024"]})
    assert "line 16: '02/13/2024' in column 'd' is no date (%d/%m/%Y): replace it" in message
    message = refused(read, {"d": ["13/02/2024", "02/13/2024", "03/14/2024"] * 5})
    assert "column 'd' has dates in several formats: write all in one" in message


def test_features_of_one_name_are_refused(read):
    same = {"g": ["a", "b"] * 7, "g=a": NUMBERS[:14]}
    assert "features have the names ('g=a', 'g=b', 'g=a', 'unused" in refused(read, same)


def test_columns_can_be_chosen(read):
    columns = {"id": [f"n{i}" for i in range(20)], "code": ["7", "8"] * 10, "z": ["u", "v"] * 10}
    ds = read(columns, kinds={"id": "drop", "z": "drop"})
    assert (features_of(ds), ds.table.lines[0]) == (("code",), "id: left out as you say")
    ds = read(columns, kinds={"z": "drop", "code": "category", "id": "category"})
    assert (features_of(ds)[0], *features_of(ds)[-2:]) == ("id=n0", "code=7", "code=8")
    for kinds, words in (
        ({"w": "drop"}, "'w' cannot be taken as drop: choose among the columns 'id, code, z'"),
        ({"y": "drop"}, "'y' cannot be taken as drop"),
        ({"z": "text"}, "'z' has no date of text: say drop, category, date, or another format"),
    ):
        assert words in refused(read, columns, kinds=kinds)


def test_the_first_problem_is_told_with_its_line(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rows = "1,2,2024-01-01,1,rock\noops,3,2024-01-02,0,pop\n3,4,3.1.2024,2,jazz\n"
    more = "".join(f"{i},{i},2024-02-{i:02d},{i % 2},\n" for i in range(4, 24))
    path.write_text("x,d,when,y,z\n" + rows + more)
    labels = "labels are 0 or 1, yes or no, empty where unknown; or say which word is yes"
    told = f"{path}, line 2: label 'z' is 'rock': {labels}"
    assert refused(datasets.from_csv, path, "z") == told
    assert main(["run", str(path), "--labels", "z"]) == 2
    assert capsys.readouterr() == ("", f"efcml: {told}\n")
    path.write_text(path.read_text().replace("2,jazz", "1,jazz"))
    told = "line 3: 'oops' in column 'x' is no number: replace it, drop the column or take it as a"
    assert refused(datasets.from_csv, path, "y").endswith(f"{told} category, or say missing='oops'")
    told = "line 4: '3.1.2024' in column 'when' is no date (year-month-day): replace it, drop the"
    path.write_text(path.read_text().replace("oops", "2"))
    assert told in refused(datasets.from_csv, path, "y")


def test_later_rows_are_encoded_as_the_first(plays, tmp_path):
    path = write_mixed(tmp_path, 300)
    assert_array_equal(plays.table.encode(path), plays.X)
    assert_array_equal(np.c_[plays.table.encode_with_labels(path, 2)], np.c_[plays.X, plays.Y])
    words = pandas.read_csv(path)[5:9]
    words["liked"] = ["yes", "No", None, "1.0"]
    X, Y = plays.table.encode_with_labels(words, LABELS)
    assert_array_equal(X, plays.X[5:9])
    assert_array_equal(Y["liked"], [1, 0, NAN, 1])
    assert tuple(X.columns) == plays.feature_names and [*Y] == ["liked", "skipped"]
    assert X.index.tolist() == Y.index.tolist() == [5, 6, 7, 8]
    path.write_text("genre,played,town,tempo,member\npolka,2024-05-01,x,99,1.0\n")
    X = plays.table.encode(path)
    assert X[0].tolist() == [61, 5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, *[0] * 12, 1, 1, 99, *[0] * 4]


def test_later_rows_that_do_not_fit_are_refused(plays, tmp_path):
    path = write_mixed(tmp_path, 3)
    encode, frame = plays.table.encode_with_labels, pandas.read_csv(path)
    assert "has no column 'sad': choose the labels among" in refused(encode, frame, ["sad"])
    lines = path.read_text().splitlines()
    for line, old, new, told in (
        (3, lines[3][-3:], "7,0", "line 4: label 'liked' is '7'"),
        (3, "2024-", "24-", "no date (year-month-day): replace it"),
        (2, ",no,", ",maybe,", "line 3: 'maybe' in column 'member' is neither yes nor no: replace"),
        (
            2,
            ",yes,",
            ",maybe,",
            "line 3: 'maybe' in column 'member' is neither yes nor no: replace",
        ),
    ):
        changed = lines[:line] + [lines[line].replace(old, new)] + lines[line + 1 :]
        path.write_text("\n".join(changed))
        if changed != lines:
            assert told in refused(encode, path, LABELS)
    path.write_text("genre,tempo\nrock,1\n")
    assert "has no column 'played, town, member', which" in refused(plays.table.encode, path)


def column_of(facts, name):
    return next(one for one in facts["columns"] if one["name"] == name)


LIES = {
    "a feature more": lambda facts: column_of(facts, "tempo").update(features=["tempo", "more"]),
    "a value less": lambda facts: column_of(facts, "genre").update(values=["jazz", "pop"]),
    "a day more": lambda facts: column_of(facts, "played").update(values=["Monday"]),
    "a day less": lambda facts: column_of(facts, "played").update(parts=["days", "month"]),
    "another kind": lambda facts: column_of(facts, "tempo").update(kind="wish"),
    "a label among features": lambda facts: facts["columns"].append(facts["labels"][0]),
    "a feature among labels": lambda facts: facts["labels"].append(column_of(facts, "genre")),
    "no columns": lambda facts: facts.pop("columns"),
    "a feature too many for new words": lambda facts: facts.update(spares=10**9),
    "a new word of no column": lambda facts: facts.update(late=[["nowhere", "x"]]),
    "a new word that is a number": lambda facts: facts.update(new=[["genre", 3, 1]]),
    "a decimal sign that is none": lambda facts: facts.update(decimal=";"),
    "a unit that is no word": lambda facts: column_of(facts, "tempo").update(unit=[]),
    "gaps that are no words": lambda facts: column_of(facts, "tempo").update(gaps=[1]),
    "another fact": lambda facts: column_of(facts, "tempo").update(more=1),
}


@pytest.mark.parametrize("lie", LIES)
def test_an_encoder_from_a_file_makes_as_many_numbers_as_it_names(lie, plays):
    facts = json.loads(json.dumps(asdict(plays.table)))
    assert TableEncoder.from_facts(facts) == plays.table
    LIES[lie](facts)
    with pytest.raises((ValueError, TypeError, KeyError)):
        TableEncoder.from_facts(facts)


def labelled(columns):
    """Return a frame of these columns and a label y, which is 0 and 1 in turns."""
    frame = pandas.DataFrame(columns)
    return frame.assign(y=np.arange(len(frame)) % 2)


N = range(60)
WRITTEN_SO = {  # fields, numbers, what is said
    "percent": ([f"{i / 8} %" for i in N], [i / 8 for i in N], "number, in %"),
    "euros": ([f"EUR {i}.50" for i in N], [i + 0.5 for i in N], "number, in EUR"),
    "debts": ([f"-${i + 1}.5" for i in N], [-i - 1.5 for i in N], "number, in $"),
    "crowns": ([f"{i},5 sek" for i in N], [i + 0.5 for i in N], "number, in SEK"),
    "clock": ([f"{i % 24}:{i:02d}" for i in N], [i % 24 + i / 60 for i in N], "time of day"),
    "noon": ([f"{i % 11 + 1}:30 pm" for i in N], [i % 11 + 13.5 for i in N], "time of day"),
    "unknown": ([*map(str, N[:-1]), "Unknown"], [*N[:-1], NAN], "number, 1 gap with 'unknown'"),
    "a habit": ([*map(str, N[:-3]), *["weg"] * 3], [*N[:-3], *[NAN] * 3], "3 gaps with 'weg'"),
}


@pytest.mark.parametrize("how", WRITTEN_SO)
def test_amounts_times_and_unknown_numbers(how, tmp_path):
    fields, values, said = WRITTEN_SO[how]
    frame = labelled({"g": fields, "w": ["u", "v"] * 30})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for ds in (datasets.from_frame(frame, "y"), datasets.from_csv(tmp_path / "t.csv", "y")):
        assert_allclose(ds.X[:, 0], values, rtol=1e-12)
        assert said in str(ds.table)
        assert_array_equal(ds.table.encode(tmp_path / "t.csv"), ds.X)


def test_a_unit_that_was_not_learned_is_refused_and_a_word_can_be_a_gap():
    frame = labelled({"g": [f"EUR {i}" for i in N]})
    table = datasets.from_frame(frame, "y").table
    for wrong in ("USD 5", "5"):
        message = refused(table.encode, pandas.DataFrame({"g": [wrong]}))
        assert (
            message == f"the frame, row 0: '{wrong}' in column 'g' is no number in EUR: replace it"
        )
    frame = labelled({"g": [*map(str, range(59)), "oops"]})
    assert "or say missing='oops'" in refused(datasets.from_frame, frame, "y")
    frame["y"] = frame["y"].astype(str).replace("1", "Oops", regex=False)
    for missing in ("OOPS", ["oops"]):
        ds = datasets.from_frame(frame, "y", missing=missing)
        assert np.isnan(ds.X[:, 0]).sum() == 1 and np.isnan(ds.Y).sum() == 30
        assert_array_equal(ds.table.encode_with_labels(frame)[1], ds.Y)


def test_codes_stay_as_they_are_written(tmp_path):
    """Zeros in front, long ids, and whole numbers that are dates; also beside a gap."""
    zips, ids = ["01234", "1234"], [str(2**60), str(2**60 + 1)]
    days = [f"202403{i + 1:02d}" for i in range(20)]
    frame = labelled({"zip": zips * 10, "id": ids * 10, "day": days})
    frame.loc[3, ["id", "day"]] = None
    options = {"kinds": {"id": "category", "day": "%Y%m%d"}, "n_initial": 20, "name": "t"}
    known = datasets.from_frame(frame, "y", **options)
    assert features_of(known)[:5] == (
        *(f"zip={one}" for one in zips),
        *(f"id={one}" for one in (*ids, "missing")),
    )
    assert_array_equal(known.X[:, :4].sum(axis=0), [10, 10, 10, 9])
    assert known.X[:6, 5].tolist()[:3] == [0, 1, 2] and np.isnan(known.X[3, 5])
    frame.to_csv(tmp_path / "t.csv", index=False)
    whole = frame.astype({"id": "Int64", "day": "Int64"})
    whole.to_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.csv", whole, tmp_path / "t.parquet"):
        ds = datasets.from_csv(source, "y", **options)
        assert (ds.feature_names, ds.table) == (known.feature_names, known.table)
        assert_array_equal(ds.X, known.X)
        assert_array_equal(known.table.encode(source), known.X)


def test_an_encoder_reads_files_as_the_first_was_written(tmp_path):
    """And refuses what is written otherwise: 1,234 is either a thousand or a bit more than one."""
    path = tmp_path / "t.csv"

    def write(text):
        path.write_text(text)
        return path

    rows = "".join(f'"{i + 1},234.50",{i},{i % 2}\n' for i in range(30))
    table = datasets.from_csv(write(f"x,n,y\n{rows}"), "y").table
    assert_array_equal(table.encode(write('x,n\n"1,234",2\n')), [[1234, 2]])
    other = write("x;n\n1,234;2\n")
    message = refused(table.encode, other)
    assert message.startswith(f"{path}, line 1: ';' separates columns, and ',' those of the table")
    assert_array_equal(table.encode(other, decimal=","), [[1.234, 2]])
    assert_array_equal(table.encode(other, decimal="."), [[1234, 2]])
    for row in ('"5,50",2', '1.5,"2,5"'):
        why = "has another decimal sign than '.': say decimal=','"
        assert why in refused(table.encode, write(f"x,n\n{row}\n"))
    table = TableEncoder.from_facts(json.loads(json.dumps(asdict(table))))  # as in a model file
    assert (table.delimiter, table.decimal) == (",", ".")
    rows = "".join(f"1.{200 + i % 9};{i % 2}\n" for i in range(250))
    ds = datasets.from_csv(write(f"x;y\n{rows}5,50;1\n"), "y")
    assert ds.X[[0, -1], 0].tolist() == [1200.0, 5.5]
    assert_array_equal(ds.table.encode(write("x;y\n1.200;1\n")), [[1200]])


def test_moments_with_and_without_a_zone_do_not_mix(tmp_path):
    moments = pandas.date_range("2024-03-01", periods=60, freq="7h", tz="Europe/Berlin")
    zoned, naive = (labelled({"d": m}) for m in (moments, moments.tz_localize(None)))
    for known, other, has in ((zoned, naive, "no time zone"), (naive, zoned, "a time zone")):
        ds = datasets.from_frame(known, "y")
        known.to_csv(tmp_path / "known.csv", index=False)
        other.to_csv(tmp_path / "other.csv", index=False)
        assert_array_equal(ds.table.encode(tmp_path / "known.csv"), ds.X)
        for source in (other, tmp_path / "other.csv"):
            assert f"in column 'd' has {has}, and what was learned" in refused(
                ds.table.encode, source
            )
    both = pandas.DataFrame({"d": [*zoned["d"].map(str), "2024-03-05 10:00:00"]})
    assert "'2024-03-05 10:00:00' in column 'd' has no time zone" in refused(
        datasets.from_frame, labelled(both), "y"
    )


def zones(n_new):
    """Return a table in which a zone is new after 120 rows, and one more at the end."""
    rng = np.random.default_rng(0)
    words = [*rng.choice(["city", "harbour"], 120), *["suburb", "city"] * n_new, *["isle"] * 3]
    return labelled({"zone": words, "size": rng.normal(size=len(words))})


def test_a_new_word_becomes_a_feature_once_it_has_come_often():
    ds = datasets.from_frame(zones(30), "y", n_initial=60)
    assert features_of(ds) == ("zone=city", "zone=harbour", "size", "zone=suburb")
    expected = [float(i % 2 == 0 and i >= 40) for i in range(60)] + [0.0] * 3
    assert_array_equal(ds.X[120:, 3], expected)
    assert "new words that are features by now: zone=suburb" in str(ds.table)
    assert ds.notes == (
        "'suburb' is new in column 'zone' (20 rows) and is a feature from now on",
        "'isle' is new in column 'zone' (3 rows) and counts as other: 20 rows make it a feature",
    )
    again = TableEncoder.from_facts(json.loads(json.dumps(asdict(ds.table))))
    assert again == ds.table
    assert again.encode(pandas.DataFrame({"zone": ["suburb", "isle"], "size": [1, 2]})).to_numpy()[
        :, [0, 1, 3]
    ].tolist() == [[0, 0, 1], [0, 0, 0]]


def test_following_a_table_in_parts_gives_the_same(rng):
    frame, known = zones(80), datasets.from_frame(zones(0)[:120], "y", n_initial=60).table
    frame.loc[[130, 150], "zone"] = None
    whole_X, whole_Y, whole = known.follow(frame)
    cuts = [0, *sorted(rng.choice(np.arange(1, len(frame)), 5, replace=False)), len(frame)]
    encoder, parts = known, []
    for first, last in zip(cuts, cuts[1:], strict=False):
        X, _, encoder = encoder.follow(frame[first:last])
        parts.append(X)
    assert_array_equal(np.concatenate(parts), whole_X)
    assert (encoder, whole_Y[:, 0].tolist()) == (whole, frame["y"].tolist())
    assert len(whole.news(known)) == 2 and whole.news(encoder) == []


def test_only_as_many_new_words_as_there_are_features_for(read):
    words = [f"{chr(97 + i)}{chr(97 + i)}" for i in range(7) for _ in range(25)]
    ds = read({"g": ["aa", "bb"] * 20 + words}, n_initial=40)
    assert ds.feature_names == tuple(f"g={2 * x}" for x in "abcdef")
    assert "'gg' is new in column 'g' (25 rows) and counts as other: no feature is left" in str(
        ds.notes
    )


def test_a_column_that_alone_tells_a_label_is_pointed_out():
    rng = np.random.default_rng(0)
    late, other = rng.random(400) < 0.2, rng.random(400) < 0.5
    frame = pandas.DataFrame(
        {
            "closed": np.where(late, rng.normal(9, 1, 400), rng.normal(2, 1, 400)),
            "state": np.where(late, rng.choice(["escalated", "lost"], 400), "ok"),
            "hint": np.where(late ^ (rng.random(400) < 0.1), "u", "v"),
            "size": rng.normal(size=400),
            "at": pandas.date_range("2024-03-01", periods=400, freq="97min"),
            "late": late.astype(int),
            "other": other.astype(int),
        }
    )
    told = [note for note in datasets.from_frame(frame, 2).notes if "alone" in note]
    why = "alone tells label 'late': is it known in time? If not, leave it out (--kind"
    assert told == [f"column {one!r} {why} {one}=drop)" for one in ("closed", "state")]
