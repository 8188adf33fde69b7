"""Records are by the method of today, known by its fingerprint, or their page says so."""

from pathlib import Path

import pytest
from helpers.tool_files import load_tool

from efcml.model.learner import Learner
from efcml.studies import provenance as machine

AGE = load_tool("record_age")
ROOT = Path(__file__).resolve().parent.parent
RECORD_FILES = (
    "experiments/results/**/*.jsonl",
    "experiments/results/**/tuned.json",
    "experiments/results/benchmarks/*.json",
    "experiments/results/elsewhere/leak.json",
    "experiments/results/soak/long_streams.json",
    "experiments/results/decisions/*.json",
)


@pytest.fixture(scope="module")
def write_docs():
    return load_tool("write_docs")


def test_every_committed_record_has_a_page(write_docs):
    found = {path.relative_to(ROOT).as_posix() for part in RECORD_FILES for path in ROOT.glob(part)}
    told = [file for page in write_docs.RECORDS for file in write_docs.records_of(page)]
    assert found == set(told)


def test_records_are_by_the_method_of_today_or_the_head_of_the_page_says_so(write_docs):
    today = write_docs.method_of_today()
    for page in write_docs.RECORDS:
        text = (ROOT / page).read_text(encoding="utf-8")
        head = "## Results" if page == "README.md" else text.partition("\n")[0]
        note = text.partition(head + "\n\n<!-- age:begin -->\n")[2].partition("<!-- age:end -->")[0]
        for file in write_docs.records_of(page):
            said = f"`{file}`" in note
            assert said == (set(AGE.methods_in(ROOT / file)) != {today}), (
                f"{page} and {file}: make the records again, or run `make docs-tables`"
            )


def test_the_note_names_what_is_old_and_what_is_not_known(tmp_path):
    files = {
        "new.jsonl": '{"method": "new"}\n{"method": "new"}\n',
        "mixed.jsonl": '{"method": "new"}\n{"method": "old"}\n{"pa": 1}\n',
        "one.json": '{"method": "old", "scores": {}}',
        "named.json": '{"birds": {"method": "new"}, "yeast": {"method": "new"}}',
        "sets.json": '{"efcml": "0.1.0", "sets": {"birds": {"method": "old"}}}',
        "silent.json": '{"efcml": "0.1.0"}',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert AGE.age_note(["new.jsonl", "named.json"], tmp_path, "new") == ""
    assert AGE.age_note(files, tmp_path, "new") == (
        "**Not made by the method of today, new, or not known to be:** 1 of 3 records of"
        " `mixed.jsonl`, `one.json`, `sets.json` (by old); 1 of 3 records of `mixed.jsonl`,"
        " `silent.json` (not known)."
    )


def test_the_fingerprint_has_no_rows_without_a_known_label(monkeypatch):
    # So it does not change with how such rows are counted, as no recorded run does: unasked rows
    # of a budget are scored and never given to learn.
    known, learn = [], Learner.learn

    def look(self, X, Y, *more, **options):
        known.append((Y == Y).any(axis=1).all())
        return learn(self, X, Y, *more, **options)

    monkeypatch.setattr(Learner, "learn", look)
    before = machine.method()
    machine.method.cache_clear()
    assert machine.method() == before
    assert known
    assert all(known)


def test_the_fingerprint_goes_through_all_that_happens_to_rules(monkeypatch):
    seen, learn = [], Learner.learn

    def look(self, *more, **options):
        seen.append(self)
        return learn(self, *more, **options)

    monkeypatch.setattr(Learner, "learn", look)
    machine.method.cache_clear()
    machine.method()
    wanted = ("births", "merges", "splits", "drifts")
    assert all(any(one.counts[name] for one in seen) for name in wanted)
    assert any(sum(one.following.changes) for one in seen if one.following is not None)
    assert any(one.shared is not None and one.renewal > 100 for one in seen)
