"""Which interpreter runs the models of a library; some libraries exclude each other."""

import os

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def add_pythons(parser):
    """Add the option that names interpreters."""
    parser.add_argument("--python", action="append", default=[], metavar="LIBRARY=PATH")


def pythons_of(chosen):
    """Return interpreters by library, of the option and of the variable EFCML_PEERS."""
    words = [*os.environ.get("EFCML_PEERS", "").split(), *chosen.python]
    return dict(word.split("=", 1) for word in words)
