"""``efcml datasets``: list, fetch and describe data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from efcml.support.json_text import to_text
from efcml.support.tables import format_table

if TYPE_CHECKING:
    from argparse import Namespace


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser("datasets", help="list, fetch or describe data sets")
    actions = parser.add_subparsers(metavar="ACTION", dest="action")
    parser.set_defaults(run=list_names)
    listing = actions.add_parser("list", help="names that efcml knows (also without ACTION)")
    listing.set_defaults(run=list_names)
    fetching = actions.add_parser("fetch", help="download a published set into the cache folder")
    fetching.add_argument("name")
    fetching.add_argument("--base", metavar="URL", help="address of a copy of the repository")
    fetching.set_defaults(run=fetch)
    telling = actions.add_parser("info", help="size, labels and source of a set")
    telling.add_argument("name")
    telling.add_argument("--json", action="store_true", help="print JSON")
    telling.set_defaults(run=tell)


def list_names(options: Namespace) -> None:
    """Print every known name with its size, and whether its files are here."""
    from efcml import datasets  # not above: numpy takes longer to import than help to print
    from efcml.datasets.published import CATALOG, find_files

    rows = []
    for name in datasets.available():
        record = CATALOG.get(name)
        if record is None:
            ds = datasets.load(name)  # made in milliseconds
            rows.append([name, len(ds), ds.X.shape[1], ds.Y.shape[1], "built in"])
            continue
        try:
            find_files(record)
            where = "here"
        except datasets.DatasetNotFound:
            where = record.how_to_get.split(":")[0]
        rows.append([name, record.n, record.p, record.K, where])
    print("\n".join(format_table(["name", "rows", "features", "labels", "files"], rows)))


def fetch(options: Namespace) -> None:
    """Download a set and say where it is."""
    from efcml import datasets

    folder = datasets.fetch(options.name, base=options.base)
    print(f"{options.name} is in {folder}")


def tell(options: Namespace) -> None:
    """Print what a data set holds."""
    import numpy as np

    from efcml import datasets
    from efcml.support.label_means import label_means

    ds = datasets.load(options.name)
    share = label_means(ds.Y)
    facts = {
        "name": ds.name,
        "description": ds.description,
        "rows": len(ds),
        "initial": ds.n_initial,
        "stream": len(ds) - ds.n_initial,
        "features": ds.X.shape[1],
        "labels": ds.Y.shape[1],
        "labels per row": round(float(np.nansum(ds.Y) / len(ds)), 3),
        "rows without label": int((np.nansum(ds.Y, axis=1) == 0).sum()),
    }
    if options.json:
        shares = {name: float(value) for name, value in zip(ds.label_names, share, strict=True)}
        print(to_text(facts | {"label shares": shares}))
        return
    print("\n".join(f"{name:20}{value}" for name, value in facts.items()))
    print("\nlabels by share:")
    order = np.argsort(-share, kind="stable")
    rows = [[ds.label_names[c], f"{share[c]:.3f}"] for c in order]
    print("\n".join("  " + line for line in format_table(["label", "share"], rows)))
