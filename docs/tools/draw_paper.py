"""Draw the figures of docs/results/paper.md from the committed records, into docs/images.

Run ``python docs/tools/write_docs.py`` afterwards: the page shows what has been drawn.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(root=ROOT):
    """Draw all figures that the page shows and name them."""
    from efcml_paper.pages import draw_pictures, read_findings

    findings = read_findings(root / "experiments" / "results" / "reproduce")
    if findings is None:
        print("there are no records: efcml reproduce all --out experiments/results/reproduce")
        return 2
    print("\n".join(draw_pictures(findings, root / "docs" / "images")))
    return 0


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "experiments")]
    sys.exit(main())
