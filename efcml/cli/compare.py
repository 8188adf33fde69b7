"""``efcml tune``, ``study``, ``reproduce`` and ``datasets``: runs compared, and data sets."""

import sys
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Any

from efcml.cli import shared

SHOWN = 10  # points in the table
REPRODUCED, REPRODUCED_QUICK = Path("reproduced"), Path("reproduced-quick")


def add_commands(commands: Any) -> None:
    """Add the subcommands."""
    what = "see on the initial part whether other values of parameters are clearly better"
    tuning = commands.add_parser("tune", help=what)
    shared.add_source(tuning)
    what = "20 points of vigilance, alpha and beta (default), or the paper's 1360, which take hours"
    tuning.add_argument("--grid", choices=("short", "paper"), default="short", help=what)
    tuning.add_argument("--measure", default="pa", metavar="NAME", help="what decides (default pa)")
    tuning.add_argument("--checkpoint", metavar="FOLDER", help="keep what is done; go on from it")
    tuning.set_defaults(run=tune)

    what = "compare variants of EFC-ML on data sets in several orders; write tables and a report"
    studying = commands.add_parser("study", help=what)
    shared.add_source(studying, nargs="+")
    what = "orders of the stream: that of the file, then shuffles (default 10)"
    studying.add_argument("--orders", type=int, default=10, metavar="N", help=what)
    studying.add_argument("--measures", default="pa,ap", metavar="A,B", help="what is measured")
    what = "so many neighbouring rows belong together, in intervals (default: found out)"
    studying.add_argument("--block", type=int, metavar="N", help=what)
    what = "folder for everything (default: studies/DATASETS-NAMES); what is there is not run again"
    studying.add_argument("--out", type=Path, metavar="DIR", help=what)
    studying.set_defaults(run=study)

    for parser, role in ((tuning, "instead of a grid"), (studying, "compared with the first")):
        what = f"a parameter and its values, {role}; may be repeated: every combination"
        parser.add_argument("--vary", action="append", default=[], metavar="NAME=A,B", help=what)
        shared.add_backend(parser)

    what = "run the experiments of the paper; write records, tables, figures and verdicts"
    parser = commands.add_parser("reproduce", help=what)
    what = "pa-trends, ap-trends, rule-counts, mediamill, al-labels, al-samples, al-instability,"
    parser.add_argument("id", metavar="ID|all", help=f"{what} al-mediamill, speed or ablation")
    what = f"folder for everything (default: {REPRODUCED}, with --quick {REPRODUCED_QUICK}); what"
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"{what} is there is not run again")
    what = "the same pictures on cut streams; all without mediamill"
    parser.add_argument("--quick", action="store_true", help=what)
    shared.add_backend(parser)
    parser.set_defaults(run=reproduce)

    parser = commands.add_parser("datasets", help="list, fetch or describe data sets")
    parser.set_defaults(run=list_names)
    actions = parser.add_subparsers(metavar="ACTION", dest="action")
    actions.add_parser("list", help="names that efcml knows (also without ACTION)")
    fetching = actions.add_parser("fetch", help="download a published set into the cache folder")
    fetching.set_defaults(run=fetch)
    showing = actions.add_parser("info", help="size, labels and source of a set")
    showing.set_defaults(run=show_info)
    for parser in (fetching, showing):
        parser.add_argument("name")


def tune(options: Namespace) -> None:
    """Search, and print what was found."""
    shared.check_source(options, [options.data])
    where = shared.read_backend(options)
    varied = read_varied(options)
    from efcml import tuning  # not before: it takes seconds

    grid = varied or (tuning.PAPER_GRID if options.grid == "paper" else tuning.SHORT_GRID)
    where |= {"folder": options.checkpoint, "grid": grid}
    ds = shared.read_source(options, options.data)
    result = tuning.tune(*ds.initial, measure=options.measure, **where)
    best = result.table[:SHOWN].to_string(index=False, float_format="%.4g")
    call = ", ".join(f"{name}={value!r}" for name, value in result.chosen.items())
    print(f"{ds.name}: {len(result.rows)} points on {ds.n_initial} rows, the best:\n{best}")
    folds = "Each fold was predicted by models of all other rows, later ones too."
    print(f"\n{result}.\n{folds}\nEFCMLClassifier({call})")


def study(options: Namespace) -> None:
    """Run what is missing, write everything, print the table."""
    where, varied = shared.read_backend(options), read_varied(options)
    folder = options.out or Path(
        "studies", "-".join([*(Path(x).stem for x in options.data), *varied])
    )
    shared.check_source(options, options.data)
    from efcml import EFCMLClassifier, Study  # not before: these take seconds to import
    from efcml.measures import find

    measures = [find(part.strip()).name for part in options.measures.split(",")]
    models = Study.vary(EFCMLClassifier(), **varied)
    for model in models.values():
        model._params()  # refuses values that are out of range
    data = [  # a name stays one, so that a built-in stream is made anew
        shared.read_source(options, name)
        if Path(name).suffix or options.initial is not None
        else name
        for name in options.data
    ]
    given = {"orders": options.orders, "measures": measures, "block": options.block}
    comparison = Study(models, data, folder=folder / "records", **given).run(**where)
    files = ", ".join(comparison.write(folder))
    print(f"{comparison.to_text()}\nwritten to {folder}: {files}")


def read_varied(options: Namespace) -> dict[str, list[Any]]:
    """Return the values of every parameter that is varied."""
    varied: dict[str, list[Any]] = {}
    for text in options.vary:
        parameter, values = shared.read_pair("--vary", text)
        found = [shared.read_value(value.strip()) for value in values.split(",")]
        varied.setdefault(parameter, []).extend(found)
    return varied


def reproduce(options: Namespace) -> None:
    """Run the experiments that are missing; write and print what came out."""
    folder = options.out or (REPRODUCED_QUICK if options.quick else REPRODUCED)
    where = shared.read_backend(options)
    sys.path.append(str(Path("experiments").absolute()))  # of a checkout that is not installed
    try:
        from efcml_paper import session
    except ImportError:
        raise ValueError(
            "the experiments of the paper come with the sources of efcml, not with the package:"
            " run this command in the folder of the sources."
        ) from None
    ids = session.choose_ids(options.id, options.quick)
    say = partial(print, flush=True)  # in a log of hours, a line should be there at once
    say(f"{', '.join(ids)}; everything goes to {folder}")
    session.reproduce(ids, folder, quick=options.quick, say=say, **where)


def list_names(options: Namespace) -> None:
    """Print every known name; of published sets also the size, and whether their files are here."""
    from efcml.datasets.published import CATALOG, available, find_folder

    print(f"{'name':<20}    rows  features  labels  files")
    for name in available():
        one, where = CATALOG.get(name), f"{'built in':>36}"
        if one is not None:
            where = f"{one.n:8}{one.p:10}{one.K:8}  {'' if find_folder(one) else 'not '}here"
        print(f"{name:<20}{where}")


def fetch(options: Namespace) -> None:
    """Download a set and say where it is."""
    from efcml import datasets

    print(f"{options.name} is in {datasets.fetch(options.name)}")


def show_info(options: Namespace) -> None:
    """Print what a data set holds."""
    import pandas

    from efcml import datasets
    from efcml.support.statistics import label_means

    ds = datasets.load(options.name)
    shares = pandas.Series(label_means(ds.Y), ds.label_names).sort_values(ascending=False)
    print(f"{ds}\n{ds.description}\n\nlabels by share\n{shares.to_string(float_format='%.3f')}")
