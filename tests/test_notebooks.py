"""The notebooks run in their quick setting, without errors, warnings and files left behind."""

import importlib.util
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "docs/tools/run_notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(tool, path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in code:
        cell.outputs, cell.execution_count = [], None
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    places = {"EFCML_DATA": str(nothing), "XDG_CACHE_HOME": str(nothing)}
    tool.execute(notebook, folder=tmp_path, quick=True, changes=places)
    assert [cell.execution_count for cell in code] == list(range(1, 1 + len(code)))
    outputs = [output for cell in code for output in cell.outputs]
    assert not [one for one in outputs if one.output_type == "error" or one.get("name") == "stderr"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert list(tmp_path.iterdir()) == [nothing], "a notebook left files behind"


def test_pictures_are_shown_without_a_magic_line(tool, tmp_path):
    """Those of the package, and the user's own after them."""
    cells = [
        "from efcml import plots; plots.draw_reliability({});",
        "from matplotlib import pyplot; pyplot.plot([1, 2]);",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    usual = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}  # of a kernel
    tool.execute(notebook, folder=tmp_path, changes=usual)
    for cell in notebook.cells:
        assert ["image/png" in output.get("data", {}) for output in cell.outputs] == [True]
