"""Print the lock file of the development environment: every package, its version and its hash.

The versions are those that are installed here, which are the ones that `make test` has seen. The
hashes are those of the files that pip would take for them on this platform.
"""

import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAD = """\
# Written by `make lock`; do not edit. For {python} on {system}, {machine}.
# `make venv-locked` installs exactly this; elsewhere, or with another Python, use `make venv`.
"""


def lock_lines(report):
    """Return the lines of a lock file for what a report of pip would install.

    Examples
    --------
    >>> info = {"archive_info": {"hashes": {"sha256": "ab12"}}}
    >>> item = {"metadata": {"name": "Numpy", "version": "2.0.0"}, "download_info": info}
    >>> lock_lines({"install": [item, {"download_info": {"dir_info": {}}}]})
    ['numpy==2.0.0 --hash=sha256:ab12']
    """
    lines = []
    for item in report["install"]:
        archive = item["download_info"].get("archive_info")
        if archive is None:
            continue  # this project itself
        name, version = item["metadata"]["name"].lower(), item["metadata"]["version"]
        lines.append(f"{name}=={version} --hash=sha256:{archive['hashes']['sha256']}")
    return sorted(lines)


def ask_pip(folder):
    """Return what pip would install into an empty environment, at the versions that are here."""
    pip = [sys.executable, "-m", "pip"]
    here = subprocess.run(
        [*pip, "freeze", "--exclude-editable", "--all"], check=True, capture_output=True, text=True
    )
    constraints, report = folder / "constraints.txt", folder / "report.json"
    constraints.write_text(here.stdout)
    subprocess.run(
        [
            *pip,
            "install",
            "--quiet",
            "--dry-run",
            "--ignore-installed",
            "--no-build-isolation",
            "--report",
            str(report),
            "--constraint",
            str(constraints),
            "--editable",
            f"{ROOT}[dev]",
        ],
        check=True,
        stdout=sys.stderr,
    )
    return json.loads(report.read_text())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        lines = lock_lines(ask_pip(Path(folder)))
    print(
        HEAD.format(
            python=f"Python {platform.python_version()}",
            system=platform.system(),
            machine=platform.machine(),
        ),
        *lines,
        sep="\n",
    )
