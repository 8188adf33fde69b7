"""``python -m efcml`` is the command ``efcml``."""

import sys

from efcml.cli import main

if __name__ == "__main__":
    sys.exit(main())
