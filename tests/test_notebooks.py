"""The notebooks: they run, quietly, and what is stored in them belongs to their cells."""

import base64
import copy
import io
import json
import os
import re
import sys
from pathlib import Path

import nbformat
import pytest
from helpers.tool_files import load_tool
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
PICTURES = {
    "01_quick_start": 2,
    "02_how_it_works": 12,
    "03_correlation_ablation": 6,
    "04_active_learning_and_explaining": 3,
}
MOST_BYTES, MOST_BYTES_TOGETHER = 600_000, 1_500_000
MACHINE = re.compile(r"(?<![\w.~$}-])/(?:work|root|home|Users|tmp|opt|var)/|\bC:\\|site-packages")
NUMBER_OF_RESULT = re.compile(r"\d\.\d|\d ?(?:%|points\b)")


@pytest.fixture(scope="module")
def tool():
    return load_tool("run_notebooks")


def read(name):
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


def pictures(notebook):
    return [o["data"]["image/png"] for o in outputs(notebook) if "image/png" in o.get("data", {})]


def encode(image):
    file = io.BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def decode(picture):
    return Image.open(io.BytesIO(base64.b64decode(picture)))


def check_outputs(notebook, n_pictures):
    """Everything ran in order, without errors and warnings, and the pictures are there."""
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, 1 + len(counts)))
    assert not [output for output in outputs(notebook) if output.output_type == "error"]
    assert not [output.text for output in outputs(notebook) if output.get("name") == "stderr"]
    assert len(pictures(notebook)) == n_pictures


def test_all_notebooks_are_known():
    assert {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")} == set(PICTURES)


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_notebook_runs(tool, name, tmp_path):
    notebook = read(name)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    places = {"EFCML_DATA": str(nothing), "XDG_CACHE_HOME": str(nothing)}
    tool.execute(notebook, folder=tmp_path, quick=True, changes=places)
    check_outputs(notebook, PICTURES[name])
    assert [path.name for path in tmp_path.iterdir()] == ["nothing"], "a notebook left files behind"


@pytest.mark.parametrize("name", PICTURES)
def test_stored_outputs_belong_to_the_cells(tool, name):
    notebook = read(name)
    nbformat.validate(notebook)
    assert notebook.metadata.efcml == {"sources": tool.hash_of_sources(notebook), "quick": False}, (
        "the outputs are stale: run `make notebooks`"
    )
    check_outputs(notebook, PICTURES[name])


@pytest.mark.parametrize("name", PICTURES)
def test_notebook_says_nothing_of_a_machine(name):
    notebook = read(name)
    assert set(notebook.metadata) == {"kernelspec", "language_info", "efcml"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert not any(cell.metadata for cell in notebook.cells)
    for output in outputs(notebook):
        output.get("data", {}).pop("image/png", None)
    found = MACHINE.findall(json.dumps(notebook))
    assert not found


def test_notebooks_are_small():
    sizes = [path.stat().st_size for path in (ROOT / "notebooks").iterdir()]
    assert max(sizes) < MOST_BYTES
    assert sum(sizes) < MOST_BYTES_TOGETHER


@pytest.mark.parametrize("name", PICTURES)
def test_texts_state_no_results(name):
    """Numbers in texts would go stale; cells print them."""
    for cell in read(name).cells:
        if cell.cell_type == "markdown":
            assert not NUMBER_OF_RESULT.search(cell.source), cell.source


@pytest.mark.parametrize("name", PICTURES)
def test_links_lead_somewhere(name):
    for cell in read(name).cells:
        if cell.cell_type == "markdown":
            for target in re.findall(r"\]\(([^)#]+)[^)]*\)", cell.source):
                assert (ROOT / "notebooks" / target).exists(), target


@pytest.mark.parametrize("name", PICTURES)
def test_notebooks_use_public_names_only(name):
    code = "\n".join(cell.source for cell in read(name).cells if cell.cell_type == "code")
    assert "learner_" not in code
    assert not re.findall(r"\.\s*_\w+|\bimport _\w+", code)


def test_tidy_keeps_cells_and_drops_the_machine(tool):
    notebook = read("01_quick_start")
    before = copy.deepcopy(notebook)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "a machine"}
    notebook.metadata["widgets"] = {}
    notebook.cells[1].metadata["execution"] = {"started": "yesterday"}
    drawn = next(o["data"] for o in outputs(notebook) if "image/png" in o.get("data", {}))
    drawn["image/png"] = encode(Image.new("RGB", (3, 2), "red"))
    tool.tidy(notebook, quick=False)
    assert decode(drawn["image/png"]).mode == "P"
    assert notebook.metadata == before.metadata
    assert [cell.source for cell in notebook.cells] == [cell.source for cell in before.cells]
    assert not any(cell.metadata for cell in notebook.cells)
    tool.tidy(notebook, quick=True)
    assert notebook.metadata.efcml.quick


@pytest.mark.parametrize("change", ["source", "kind", "order", "cut"])
def test_a_changed_cell_changes_the_hash(tool, change):
    notebook = read("01_quick_start")
    before = tool.hash_of_sources(notebook)
    first, second = notebook.cells[:2]
    if change == "source":
        first.source += "."
    elif change == "kind":
        first.cell_type = "raw"
    elif change == "order":
        notebook.cells[:2] = second, first
    else:
        notebook.cells.pop()
    assert tool.hash_of_sources(notebook) != before


def test_outputs_do_not_change_the_hash(tool):
    notebook = read("01_quick_start")
    before = tool.hash_of_sources(notebook)
    notebook.cells[1].outputs = []
    assert tool.hash_of_sources(notebook) == before


def test_colors_are_reduced(tool, rng):
    image = Image.fromarray(rng.integers(256, size=(40, 50, 3), dtype="uint8"))
    picture = encode(image)
    small = tool.reduce_colors(picture)
    reduced = decode(small)
    assert reduced.size == image.size
    assert reduced.mode == "P"
    assert tool.COLORS / 2 < len(reduced.getcolors()) <= tool.COLORS
    assert len(small) < len(picture) / 2


def test_kernel_is_this_interpreter(tool):
    spec = tool.ThisInterpreter().get_kernel_spec("python3")
    assert spec.argv[0] == sys.executable


@pytest.mark.slow
def test_tool_writes_what_it_ran(tool, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv(tool.QUICK, "1")
    path = tmp_path / "small.ipynb"
    code = f"import os, efcml\nprint(os.environ.get('{tool.QUICK}'), os.getpid(), efcml.__file__)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbformat.write(notebook, path)
    for options, quick in (([], "None"), (["--quick"], "1")):
        assert tool.main([str(path), *options]) == 0
        done = nbformat.read(path, as_version=4)
        found, pid, package = done.cells[0].outputs[0].text.split()
        assert found == quick
        assert Path(package) == ROOT / "efcml" / "__init__.py"
        with pytest.raises(ProcessLookupError):  # the kernel has ended
            os.kill(int(pid), 0)
        assert done.metadata.efcml == {
            "sources": tool.hash_of_sources(done),
            "quick": quick == "1",
        }
        assert "small.ipynb: " in capsys.readouterr().out


@pytest.mark.slow
def test_cells_run_in_the_folder_with_the_changes(tool, tmp_path):
    code = "import os, pathlib\npathlib.Path('here').write_text(os.environ['SOME'])"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    tool.execute(notebook, folder=tmp_path, changes={"SOME": "words"})
    assert (tmp_path / "here").read_text() == "words"


def test_ablation_says_how_to_get_missing_data(monkeypatch, capsys):
    """Data sets are found beside some checkouts, so the run of the notebook may not come here."""
    from efcml import EFCMLClassifier, Study, datasets

    def missing(name):
        raise datasets.DatasetNotFound("nowhere")

    monkeypatch.setattr(datasets, "load", missing)
    code = [cell.source for cell in read("03_correlation_ablation").cells]
    last = next(source for source in code if "DatasetNotFound" in source)
    names = {"datasets": datasets, "Study": Study, "EFCMLClassifier": EFCMLClassifier}
    exec(last, names | {"MODES": ["none", "shift"], "ORDERS": 1})
    said = capsys.readouterr().out
    assert "efcml datasets fetch emotions" in said
    assert "efcml datasets fetch water-quality" in said
