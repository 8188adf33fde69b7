"""Execute the notebooks of notebooks/ in place and leave nothing of this machine in them.

The kernel is the interpreter that runs this tool, whatever Jupyter knows of other kernels.
"""

import argparse
import base64
import io
import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
QUICK = "EFCML_NOTEBOOK_QUICK"
SECONDS_PER_CELL = 600
PNG = "image/png"
COLORS = 256  # of a picture: enough for lines with smooth edges and a few tints


class ThisInterpreter(KernelSpecManager):
    """Knows one kernel: the interpreter that runs now."""

    def get_kernel_spec(self, kernel_name):
        """Return it, whatever the name."""
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name="Python 3", language="python")


def execute(notebook, *, folder=None, quick=False, changes=None):
    """Run all cells of a notebook, with its small settings if ``quick``, and keep their outputs.

    They run in ``folder``, or in one that is removed afterwards; ``changes`` go to the environment.
    """
    with tempfile.TemporaryDirectory() as files:
        # Sockets in files of our own: other users of the machine cannot listen.
        manager = AsyncKernelManager(
            kernel_spec_manager=ThisInterpreter(),
            kernel_name="python3",
            transport="ipc",
            connection_file=str(Path(files) / "kernel.json"),
        )
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=SECONDS_PER_CELL,
            resources={"metadata": {"path": str(folder or files)}},
            record_timing=False,
        )
        client.execute(env=_environment(files, quick) | dict(changes or {}), cleanup_kc=True)
    return notebook


def _environment(files, quick):
    """Return the environment of a kernel, without the user's settings of IPython."""
    left = {name: value for name, value in os.environ.items() if name != QUICK}
    settings = {
        "PYTHONPATH": str(ROOT),
        "IPYTHONDIR": str(Path(files) / "ipython"),
        "OPENBLAS_NUM_THREADS": "1",
        "TQDM_DELAY": str(SECONDS_PER_CELL),  # no progress bars: they are no results
    }
    return left | settings | ({QUICK: "1"} if quick else {})


def reduce_colors(picture):
    """Return a PNG, as text, with a palette of colours: a third as long."""
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    file = io.BytesIO()
    image.quantize(COLORS, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def tidy(notebook):
    """Make pictures small, and drop what says something of the machine."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        cell.metadata = nbformat.NotebookNode()
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if PNG in data:
                data[PNG] = reduce_colors(data[PNG])
    return notebook


def main(arguments=None):
    """Execute the notebooks named, or all, and write them back."""
    parser = argparse.ArgumentParser(description="Execute the notebooks in place.")
    parser.add_argument("files", nargs="*", type=Path, help="notebooks; all if none is named")
    parser.add_argument("--quick", action="store_true", help="small settings; nothing is written")
    chosen = parser.parse_args(arguments)
    for path in chosen.files or sorted(FOLDER.glob("*.ipynb")):
        begin = time.perf_counter()
        notebook = nbformat.read(path, as_version=4)
        execute(notebook, quick=chosen.quick)
        if not chosen.quick:
            nbformat.write(tidy(notebook), path)
        size = path.stat().st_size / 1000
        print(f"{path.name}: {time.perf_counter() - begin:.0f} s, {size:.0f} kB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
