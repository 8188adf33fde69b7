"""Print the oldest version of every dependency that pyproject.toml allows, one pin per line.

``make test-oldest`` installs them: what is promised there is then what was tested.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNTESTED = ("peers", "docs", "nightly")  # for comparisons, pages and the whole of the tests


def oldest_pins(project):
    """Return ``name==version`` for the lower bound of every dependency and every tested extra.

    Examples
    --------
    >>> oldest_pins({"name": "us", "dependencies": ["numpy>=2.0", "us[all]"]})
    ['numpy==2.0']
    """
    lines = list(project["dependencies"])
    for name, extra in project.get("optional-dependencies", {}).items():
        lines += extra if name not in UNTESTED else []
    pins = set()
    for line in lines:
        name, rest = re.fullmatch(r"([\w.-]+)(.*)", line.replace(" ", "")).groups()
        if name == project["name"]:
            continue  # an extra that names other extras
        bound = re.search(r">=([\w.]+)", rest)
        extra = re.match(r"\[.*?\]", rest)
        pin = f"=={bound[1]}" if bound else rest
        pins.add(f"{name}{extra[0] if extra else ''}{pin}")
    return sorted(pins)


if __name__ == "__main__":
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    print("\n".join(oldest_pins(tomllib.loads(text)["project"])))
