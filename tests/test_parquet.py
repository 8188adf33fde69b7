"""Data sets from Parquet files, at once and in blocks."""

import io
import os

import numpy as np
import pytest
from helpers.cli_files import QUICK
from helpers.mixed_tables import LABELS, mixed_text
from numpy.testing import assert_array_equal
from test_large_tables import measure

from efcml import datasets
from efcml.datasets import large_tables
from efcml.datasets.file_rows import read_rows
from efcml.support.row_files import is_in_file

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N = 230


def number_frame(n=N):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(n, 3)), columns=["x", "y", "z"])
    frame["count"] = rng.integers(0, 9, n)
    frame["a"], frame["b"] = frame["x"] > 0, (frame["y"] > 0).astype(float)
    frame.loc[7, "b"] = np.nan
    return frame


def mixed_frame(n=N):
    frame = pandas.read_csv(io.StringIO(mixed_text(n)), parse_dates=["played"])
    frame["genre"] = frame["genre"].astype("category")
    return frame


@pytest.fixture
def blocks(monkeypatch):
    monkeypatch.setattr(large_tables, "MOST_AT_ONCE", 0)
    monkeypatch.setattr(large_tables, "FIRST_ROWS", 70)
    monkeypatch.setattr(large_tables, "FIELDS_AT_ONCE", 180)


def write(frame, folder, **options):
    path = folder / "table.parquet"
    frame.to_parquet(path, **options)
    return path


def refusal(*arguments, **options):
    with pytest.raises(ValueError) as caught:
        datasets.from_parquet(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def check_same(one, other):
    assert one.X.tobytes() == other.X.tobytes()
    assert_array_equal(one.Y, other.Y)
    assert (one.feature_names, one.label_names) == (other.feature_names, other.label_names)
    assert one.n_initial == other.n_initial


@pytest.mark.parametrize(
    ("make", "labels"), [(number_frame, "a,b"), (mixed_frame, LABELS)], ids=["numbers", "mixed"]
)
def test_at_once_and_in_blocks(make, labels, tmp_path, request):
    path = write(make(), tmp_path, row_group_size=100)
    known = datasets.from_frame(make(), labels, n_initial=60)
    at_once = datasets.from_parquet(path, labels, n_initial=60)
    check_same(at_once, known)
    assert (at_once.name, at_once.table) == ("table", known.table)
    request.getfixturevalue("blocks")
    large = datasets.from_parquet(path, labels, n_initial=60)
    assert is_in_file(large.X) and not is_in_file(at_once.X)
    check_same(large, known)


def test_numbers_of_rows_are_no_feature(tmp_path):
    path = write(number_frame()[::-1], tmp_path)
    assert datasets.from_parquet(path, "a,b").feature_names == ("x", "y", "z", "count")


def test_problems_are_told_with_their_rows(blocks, tmp_path):
    frame = mixed_frame().astype({"tempo": object})
    frame["tempo"] = frame["tempo"].astype(str)
    frame.loc[200, "tempo"] = "fast"
    frame["liked"] = frame["liked"].astype(float)
    frame.loc[201, "liked"] = 7
    said = refusal(write(frame, tmp_path), LABELS)
    assert "row 200: 'fast' in column 'tempo' is no number" in said
    assert "row 201: label 'liked' is '7'" in said
    frame = number_frame()
    frame["x"] = [[1.0]] * N
    assert "row 0: column 'x' of type object holds other things" in refusal(
        write(frame, tmp_path), "a,b"
    )


@pytest.mark.parametrize("most", [0, 2**20])
def test_files_that_cannot_be_read(most, tmp_path, monkeypatch):
    monkeypatch.setattr(large_tables, "MOST_AT_ONCE", most)
    path = write(number_frame(), tmp_path)
    assert f"{path} has no column 'c'" in refusal(path, "c")
    assert "0 to 230" in refusal(path, "a", n_initial=231)
    assert "no such file" in refusal(tmp_path / "none.parquet", "a")
    path.write_bytes(path.read_bytes()[:-100])
    assert "cannot be read as Parquet" in refusal(path, "a")
    assert "has no rows" in refusal(write(number_frame()[:0], tmp_path), "a")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="Linux tells of memory")
def test_memory_does_not_grow_with_the_file(tmp_path):
    path, rng = tmp_path / "t.parquet", np.random.default_rng(0)
    part = pyarrow.table(
        {**{f"x{j}": rng.normal(size=20_000) for j in range(50)}, "a": [1] * 20_000}
    )
    grown = []
    for parts in (3, 15):
        with parquet.ParquetWriter(path, part.schema) as file:
            for _ in range(parts):
                file.write_table(part)
        rows, megabytes, growth = measure(path)
        assert (rows, megabytes) == (20_000 * parts, pytest.approx(parts * 7.63, rel=0.01))
        grown.append(growth)
    assert grown[1] < grown[0] + 50


def test_at_the_command_line(tmp_path, capsys, monkeypatch):
    from efcml.cli import main, outcome

    monkeypatch.setattr(outcome, "write_pictures", lambda *arguments: [])
    path = write(number_frame(40), tmp_path)
    arguments = ["run", str(path), *QUICK, "--initial", "25", "--out", str(tmp_path / "out")]
    assert main([*arguments, "--labels", "a,b", "--drop", "count"]) == 0
    assert "count: left out as you say" in capsys.readouterr().err
    assert main(arguments) == 2
    assert "Name them with --labels" in capsys.readouterr().err


@pytest.mark.parametrize("labels, make", [("a,b", number_frame), (LABELS, mixed_frame)])
def test_a_model_answers_a_parquet_file_as_a_csv_file(labels, make, tmp_path, capsys, monkeypatch):
    """Predictions, explanations and known labels, of numbers alone and of an ordinary table."""
    from efcml.cli import main, outcome

    monkeypatch.setattr(outcome, "write_pictures", lambda *arguments: [])
    frame = make(60)
    frame["flag"] = frame.index % 3 == 0
    labels = labels if isinstance(labels, str) else ",".join(labels)
    path, out = write(frame, tmp_path), tmp_path / "out"
    fit = ["run", str(path), *QUICK, "--initial", "40", "--labels", labels, "--out", str(out)]
    assert main(fit) == 0
    rows = tmp_path / "rows.csv"
    numbers = frame.astype({"flag": int}) if make is number_frame else frame
    numbers.to_csv(rows, index=False)
    model, known = str(out / "model.npz"), ["--known", labels.split(",")[1]]
    told = []
    for file in (path, rows):
        capsys.readouterr()
        assert main(["predict", model, str(file), *known]) == 0
        assert main(["explain", model, "--sample", str(file), *known]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert len(told[0].splitlines()) > 120


def test_a_refusal_says_row_of_a_parquet_file_and_line_of_a_csv_file(tmp_path):
    frame = pandas.DataFrame({"x": ["1.5", "loud"], "y": [0.5, 2.0]})
    path, rows = write(frame, tmp_path), tmp_path / "rows.csv"
    frame.to_csv(rows, index=False)
    with pytest.raises(ValueError, match=r", row 1: 'loud' in column"):
        read_rows(path)
    with pytest.raises(ValueError, match=r", line 3: 'loud' in column"):
        read_rows(rows)
