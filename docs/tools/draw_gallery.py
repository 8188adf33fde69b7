"""Draw the pictures of docs/pictures.md into docs/images.

Each is the figure of the Axes ``ax`` that the code block below it leaves.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/pictures.md"
PICTURE = re.compile(r"^!\[[^\]]*\]\(images/(\w+)\.svg\)\n\n```python\n(.*?)^```", re.S | re.M)


def main(arguments=None):
    """Run the code of every picture and keep the figures."""
    from efcml.plots import save_figure

    parser = argparse.ArgumentParser(description=f"Draw the pictures of {PAGE}.")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/images", help="folder")
    folder = parser.parse_args(arguments).out
    folder.mkdir(parents=True, exist_ok=True)
    for name, code in PICTURE.findall((ROOT / PAGE).read_text(encoding="utf-8")):
        names = {}
        exec(compile(code, PAGE, "exec"), names)
        for file in save_figure(names["ax"].figure, folder / name, ["svg"]):
            print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
