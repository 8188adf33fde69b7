"""Draw the pictures of docs/pictures.md into docs/images.

Each is the figure of the Axes ``ax`` that the code block below it leaves.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/pictures.md"
IMAGES = "docs/images"
PICTURE = re.compile(r"^!\[[^\]]*\]\(images/(\w+)\.svg\)\n\n```python\n(.*?)^```", re.S | re.M)


def pictures(root=ROOT):
    """Return the code of every picture of the page by its name."""
    return dict(PICTURE.findall((root / PAGE).read_text(encoding="utf-8")))


def run_block(code):
    """Run the code block of a picture and return its Axes."""
    names = {}
    exec(compile(code, PAGE, "exec"), names)
    return names["ax"]


def main(arguments=None):
    """Draw the pictures named, or all."""
    from efcml.plots import save_figure

    parser = argparse.ArgumentParser(description="Draw the pictures of docs/pictures.md.")
    parser.add_argument("names", nargs="*", help="pictures to draw; all if none is named")
    parser.add_argument("--out", type=Path, default=ROOT / IMAGES, help="folder for the files")
    parser.add_argument("--kinds", nargs="+", default=["svg"], help="endings: svg, png, pdf")
    chosen = parser.parse_args(arguments)
    found = pictures()
    unknown = [name for name in chosen.names if name not in found]
    if unknown:
        parser.error(f"no such picture: {', '.join(unknown)}; there are {', '.join(found)}")
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name in chosen.names or found:
        ax = run_block(found[name])
        for file in save_figure(ax.figure, chosen.out / name, chosen.kinds):
            print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
