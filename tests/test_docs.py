"""Examples and commands of the pages run and print what is shown; tables are those of today."""

import importlib.util
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parent.parent


def load(tool):
    """Return a tool of the documentation as a module."""
    spec = importlib.util.spec_from_file_location(tool, ROOT / f"docs/tools/{tool}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OUTPUTS = load("write_outputs")
READ = {page: OUTPUTS.read_page(page.read_text(encoding="utf-8")) for page in OUTPUTS.PAGES}
EACH_PAGE = pytest.mark.parametrize(
    "page",
    [page for page, (programs, _) in READ.items() if programs],
    ids=lambda page: str(page.relative_to(ROOT)),
)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Run every example and shown command of the pages; return the folder that each one ran in."""
    programs = {
        (page, number): code for page, (some, _) in READ.items() for number, code in some.items()
    }
    return OUTPUTS.run(programs, tmp_path_factory.mktemp("examples"))


@EACH_PAGE
def test_examples_run(page, places):
    missing = []
    for number in READ[page][0]:
        place = places[page, number]
        out, error = ((place / f"{name}.txt").read_text("utf-8") for name in ("out", "err"))
        without = re.findall(f"data set '.*' {OUTPUTS.NO_DATA}", out + error)
        assert without or (place / "done.txt").exists(), error
        missing += without
    if missing:
        pytest.skip(missing[0])


@EACH_PAGE
def test_pages_show_what_is_printed(page, places):
    for place in READ[page][1]:
        printed = OUTPUTS.read_output(places[page, place.program], place)
        shown = page.read_text(encoding="utf-8")[place.begin : place.end]
        assert printed is None or OUTPUTS.agree(shown, OUTPUTS.cut(shown, printed)), (
            f"run `make docs-outputs`; it shows\n{shown}\nand now it prints\n{printed}"
        )


def test_tables_of_pages_are_those_of_today():
    for page, text in load("write_docs").render().items():
        shown = (ROOT / page).read_text(encoding="utf-8")
        assert shown == text, f"{page}: run `make docs-tables`"
