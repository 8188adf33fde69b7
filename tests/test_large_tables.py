"""Tables that are read block by block, since they may be larger than memory."""

import gc
import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.mixed_tables import LABELS, mixed_text
from numpy.testing import assert_array_equal

from efcml import datasets
from efcml.cli.source import choose_rows, take_rows
from efcml.datasets import large_tables
from efcml.support import row_files
from efcml.support.row_files import RowFile, is_in_file, take_from_file
from efcml.support.states import fingerprint
from efcml.tables import TableProblems

N = 230
NUMBERS = "a,b"


def number_text(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * 10.0 ** rng.integers(-9, 9, size=(n, 4))
    rows = [[*map(repr, x), str(int(x[0] > 0)), str(int(x[1] > 0))] for x in X.tolist()]
    return "\n".join(map(",".join, [["w", "x", "a", "y", "z", "b"], *map(swap, rows)])) + "\n"


def swap(row):
    """Put a label among the features."""
    return [*row[:2], row[4], *row[2:4], row[5]]


@pytest.fixture
def blocks(monkeypatch):
    """Everything is large; blocks are small and never begin where a hundred ends."""
    monkeypatch.setattr(large_tables, "MOST_AT_ONCE", 0)
    monkeypatch.setattr(large_tables, "FIRST_ROWS", 70)
    monkeypatch.setattr(large_tables, "FIELDS_AT_ONCE", 180)
    monkeypatch.setattr(row_files, "NUMBERS_AT_ONCE", 50)


@pytest.fixture
def both(tmp_path, monkeypatch, request):
    """Return a function that reads a text at once and in blocks."""
    path = tmp_path / "table.csv"

    def read(text, labels=NUMBERS, **options):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        whole = datasets.from_csv(path, labels, **options)
        request.getfixturevalue("blocks")
        return whole, datasets.from_csv(path, labels, **options)

    return read


def refusal(path, text, labels=NUMBERS, **options):
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        datasets.from_csv(path, labels, **options)
    gc.collect()  # a file that is left open would be told
    return caught.value


def with_field(text, line, column, value):
    lines = text.split("\n")
    fields = lines[line - 1].split(",")
    fields[column] = value
    lines[line - 1] = ",".join(fields)
    return "\n".join(lines)


def check_same(whole, large):
    assert is_in_file(large.X) and not is_in_file(whole.X)
    assert large.X.flags.writeable and large.X.flags.c_contiguous and type(large.X) is np.ndarray
    assert large.X.tobytes() == whole.X.tobytes()
    assert_array_equal(large.Y, whole.Y)
    assert large.feature_names == whole.feature_names
    assert (large.label_names, large.n_initial) == (whole.label_names, whole.n_initial)
    assert fingerprint(large.X) == fingerprint(whole.X)


TEXTS = {
    "numbers": number_text(),
    "other line ends": number_text().replace("\n", "\r\n"),
    "blank lines": number_text().replace("\n", "\n\n").replace("\n\n", "\n", 40),
    "no last line end": number_text()[:-1],
    "quotes": with_field(number_text(), 150, 0, '"1.5"'),
    "true": with_field(number_text(), 150, 0, "True"),
    "true at first": with_field(number_text(), 5, 0, "false"),
    "unknown labels": with_field(with_field(number_text(), 9, 2, ""), 150, 5, ""),
    "spaces": number_text().replace(",", " , "),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_numbers_are_the_same_as_at_once(text, both):
    whole, large = both(text, n_initial=60)
    check_same(whole, large)
    assert large.table is None and whole.table is None


def test_a_mixed_table_is_the_same_as_at_once(both):
    whole, large = both(mixed_text(N), LABELS, n_initial=60)
    check_same(whole, large)
    assert large.table.groups == whole.table.groups
    told = {column.name: column.said for column in large.table.columns}
    assert told["unit"] == "left out, it is always 'bpm', in the first 70 rows"
    assert told["genre"] == "category: jazz, pop, rock"


def test_what_is_said_of_columns_holds_for_blocks(both):
    options = {"drop": "town", "text_as_category": ["tempo"], "date": {"played": "%Y-%m-%d %H:%M"}}
    whole, large = both(mixed_text(N), LABELS, n_initial=60, **options)
    check_same(whole, large)
    assert "town: left out as you say" in large.table.lines


def test_the_initial_part_is_30_percent_or_the_first_rows(both, tmp_path):
    whole, large = both(number_text(n=200))
    assert whole.n_initial == large.n_initial == 60
    (tmp_path / "more.csv").write_text(number_text(n=500))
    assert datasets.from_csv(tmp_path / "more.csv", NUMBERS).n_initial == 70
    assert datasets.from_csv(tmp_path / "more.csv", NUMBERS, n_initial=0).n_initial == 0


@pytest.mark.parametrize("n_initial", [-1, 1.5, "3", N + 1])
def test_impossible_initial_parts(n_initial, blocks, tmp_path):
    error = refusal(tmp_path / "t.csv", number_text(), n_initial=n_initial)
    assert f"choose a whole number of rows, 0 to {N}" in str(error)


def test_values_are_learned_from_the_initial_part(both):
    text = mixed_text(N).replace("jazz", "rock", 30)
    whole, large = both(with_field(text, 60, 2, "polka"), LABELS, n_initial=40)
    check_same(whole, large)
    assert "genre=polka" not in large.feature_names


def test_quoted_lines_go_over_the_end_of_a_block(both):
    text = mixed_text(N).replace("rock", '"hard\nrock, and\nroll"')
    check_same(*both(text, LABELS, n_initial=30))


def test_a_value_that_comes_later_is_other(blocks, tmp_path):
    path = tmp_path / "t.csv"
    text = with_field(mixed_text(N), 200, 2, "polka")
    for first, expected in (("rock", 0.0), ("other", 1.0)):  # whether there is such a value
        path.write_text(with_field(text, 10, 2, first))
        ds = datasets.from_csv(path, LABELS, n_initial=60)
        genre = [i for i, name in enumerate(ds.feature_names) if name.startswith("genre=")]
        assert ds.X[198, genre].sum() == expected
        assert ds.X[197, genre].sum() == 1.0
        if expected:
            assert ds.X[198, ds.feature_names.index("genre=other")] == 1.0


@pytest.mark.parametrize("gap", ["n/a", "nan", ""])
def test_gaps_that_come_later_are_gaps(gap, blocks, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(with_field(number_text(), 200, 3, gap))
    ds = datasets.from_csv(path, NUMBERS)
    assert np.argwhere(np.isnan(ds.X)).tolist() == [[198, 2]]
    assert ds.table.lines == ["w, x, y, z: number"]  # by which later files may have gaps, too
    assert ds.table.feature_names == ds.feature_names


def test_0_and_1_may_be_followed_by_2(blocks, tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{'no' if i % 3 else 'yes'},{i % (2 if i < 100 else 3)},1" for i in range(N)]
    path.write_text("\n".join(["p,q,a", *rows]) + "\n")
    assert datasets.from_csv(path, "a").X[:, 1].max() == 2.0


def test_all_problems_of_a_block_are_told_with_their_lines(blocks, tmp_path):
    text = with_field(with_field(number_text(), 201, 0, "many"), 203, 5, "7")
    error = refusal(tmp_path / "t.csv", with_field(text, 202, 1, "1,2"))
    assert isinstance(error, TableProblems)
    assert [problem.place for problem in error.problems] == ["line 202", "line 203", "line 201"]
    assert "'many' in column 'w' is no number: replace it" in error.problems[2].text
    assert "'b' is '7'" in error.problems[1].text


@pytest.mark.parametrize(
    ("column", "field", "said"),
    [
        (0, "inf", "'inf' in column 'w' is no number"),
        (1, "1e999", "'1e999' in column 'x' is no number"),
        (3, "1_0", "'1_0' in column 'y' is no number"),
        (2, "2", "label 'a' is '2'"),
        (5, "-1", "label 'b' is '-1'"),
    ],
)
@pytest.mark.parametrize("line", [4, 200])
def test_numbers_that_are_none(column, field, said, line, blocks, tmp_path):
    error = refusal(tmp_path / "t.csv", with_field(number_text(), line, column, field))
    assert f"line {line}: {said}" in str(error)


def test_lines_are_counted_after_quoted_lines_and_blank_ones(blocks, tmp_path):
    text = mixed_text(N).replace("rock", '"hard\nrock, and\nroll"').replace("pop", '"pop\n\n"')
    text += "\n" * 20 + text.split("\n")[-2] + ",7\n"
    error = refusal(tmp_path / "t.csv", text, LABELS, n_initial=30)
    assert f", line {len(text.splitlines())}: 11 fields for 10 columns" in str(error)


def test_a_word_in_a_later_block_of_a_mixed_table(blocks, tmp_path):
    error = refusal(tmp_path / "t.csv", with_field(mixed_text(N), 222, 5, "fast"), LABELS)
    assert "line 222: 'fast' in column 'tempo' is no number" in str(error).replace(", line", "line")


def test_a_cut_last_line_is_refused(blocks, tmp_path):
    text = number_text()
    error = refusal(tmp_path / "t.csv", text[: text.rindex(",")])
    assert f"line {N + 1}: 5 fields for 6 columns" in str(error)
    assert "no rows after the header" in str(refusal(tmp_path / "t.csv", "x,a,b\n\n\n"))
    assert "no well-formed CSV" in str(refusal(tmp_path / "t.csv", text + '"1'))
    assert "has no column 'c'" in str(refusal(tmp_path / "t.csv", text, "c"))


def test_other_encodings(both):
    text = mixed_text(N).replace("rock", "rök")
    whole, large = both(text.encode("latin-1"), LABELS, n_initial=60)
    check_same(whole, large)
    assert "genre=rök" in large.feature_names


def test_a_byte_order_mark(both):
    check_same(*both(b"\xef\xbb\xbf" + number_text().encode(), n_initial=60))


def test_rows_that_come_while_the_file_is_read_do_not_count(blocks, tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text(number_text())
    append = RowFile.append

    def grow(self, rows):
        if self.shape[0] < N:
            with path.open("a") as file:
                file.write("1,2,0,3,4,1\n" * 40)
        append(self, rows)

    monkeypatch.setattr(RowFile, "append", grow)
    assert len(datasets.from_csv(path, NUMBERS)) == N


def test_a_full_disk_is_told(blocks, tmp_path, monkeypatch):
    class Full:
        def write(self, data):
            raise OSError(28, "No space left on device")

        def close(self):
            pass

    monkeypatch.setattr(row_files.tempfile, "TemporaryFile", Full)
    error = str(refusal(tmp_path / "t.csv", number_text()))
    assert "No space left on device" in error and "TMPDIR" in error


@pytest.mark.parametrize("options", [{"seed": 3}, {"quick": True}, {}])
def test_rows_are_taken_in_a_file(both, options, monkeypatch):
    monkeypatch.setattr("efcml.cli.source.QUICK_ROWS", 20)
    whole, large = both(number_text(), n_initial=60)
    rows = choose_rows(whole, **options)
    check_same(take_rows(whole, rows), take_rows(large, rows))


def test_infinite_features_are_found_part_by_part(monkeypatch):
    monkeypatch.setattr(row_files, "NUMBERS_AT_ONCE", 4)
    X = np.zeros((10, 2))
    X[7, 1] = np.inf
    with pytest.raises(ValueError, match=r"X\[7, 1\] is inf"):
        datasets.Dataset("t", X, np.ones((10, 1)), 1, "xy", "a")


def test_row_files():
    rows = RowFile(2)
    rows.append(np.arange(4.0).reshape(2, 2))
    rows.append(np.asfortranarray([[7.0, 8.0], [9.0, 1.0]]))
    X = rows.array()
    assert X.tolist() == [[0.0, 1.0], [2.0, 3.0], [7.0, 8.0], [9.0, 1.0]]
    assert take_from_file(X, np.array([3, 0])).tolist() == [[9.0, 1.0], [0.0, 1.0]]


def test_fingerprints_are_those_of_the_bytes():
    X = np.arange(6.0).reshape(2, 3)
    known = hashlib.sha256(b"(2, 3)" + X.tobytes()).hexdigest()
    assert fingerprint(X) == fingerprint(np.asfortranarray(X)) == known
    assert fingerprint(X[::-1]) == fingerprint(X[::-1].copy()) != fingerprint(X)
    assert fingerprint(np.empty((0, 3))) != fingerprint(np.empty((3, 0)))


MEASURED = """
import sys
from efcml import datasets
from efcml.cli.source import choose_rows, take_rows
from efcml.datasets import large_tables
from efcml.support.states import fingerprint

def anonymous():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Anonymous:")) / 1024

is_csv = sys.argv[1].endswith(".csv")
if not is_csv:
    import pandas, pyarrow.parquet
large_tables.MOST_AT_ONCE = 2**20
before, most = anonymous(), []
append = large_tables.RowFile.append
large_tables.RowFile.append = lambda self, rows: (append(self, rows), most.append(anonymous()))
ds = (datasets.from_csv if is_csv else datasets.from_parquet)(sys.argv[1], "a")
shuffled = take_rows(ds, choose_rows(ds, seed=0))
fingerprint(shuffled.X, shuffled.Y)
print(len(ds), ds.X.nbytes / 2**20, max(*most, anonymous()) - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="Linux tells of memory")
def test_memory_does_not_grow_with_the_file(tmp_path):
    line = ",".join(f"{i / 7:.4f}" for i in range(60)) + ",1\n"
    with (tmp_path / "t.csv").open("w") as file:
        file.write(",".join([*(f"x{i}" for i in range(60)), "a"]) + "\n")
        file.writelines([line] * (60 * 2**20 // len(line)))
    rows, megabytes, grown = measure(tmp_path / "t.csv")
    assert rows > 100_000 and megabytes > 60
    assert grown < 40


def measure(path):
    """Return rows, megabytes of features, and by how many megabytes a process has grown."""
    command = [sys.executable, "-c", MEASURED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return map(float, done.stdout.split())
