"""``efcml tune``, ``study``, ``reproduce`` and ``datasets``: runs compared, and data sets."""

from __future__ import annotations

import sys
from functools import partial
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml import __version__
from efcml.cli import shared
from efcml.cli.shared import format_table
from efcml.rivals import MODELS, make_model
from efcml.support.files import replacing, to_text

if TYPE_CHECKING:
    from argparse import Namespace

    from efcml.studies import Study
    from efcml.support.aliases import Facts
    from efcml.tuning import TuningResult

SEARCHED = ("vigilance", "alpha", "beta")
SHOWN = 10  # points in the table
REPRODUCED, REPRODUCED_QUICK = Path("reproduced"), Path("reproduced-quick")


def add_commands(commands: Any) -> None:
    """Add the subcommands."""
    for add_command in (add_tune, add_study, add_reproduce, add_datasets):
        add_command(commands)


# -- tune -----------------------------------------------------------------------------------


def add_tune(commands: Any) -> None:
    """Add the subcommand."""
    what = "compare values of vigilance, alpha and beta on the initial part"
    parser = commands.add_parser("tune", help=what)
    add = parser.add_argument
    shared.add_source(parser)
    shared.add_backend(parser)
    what = "points that are searched: short (default: 20 points, about a minute on some hundred"
    what += " rows) or paper (the paper's 1360, which take hours)"
    add("--grid", choices=("short", "paper"), default="short", help=what)
    add("--folds", type=int, default=5, metavar="N")
    add("--measure", default="pa", metavar="NAME", help="what decides (default: pa)")
    for name in SEARCHED:
        what = f"values of {name} (those of the grid if not given)"
        add(f"--{name}", metavar="A,B", help=what)
    add("--checkpoint", metavar="FOLDER", help="keep what is done; go on from it")
    add("--out", type=Path, metavar="FILE", help="write all points as JSON")
    add("--json", action="store_true", help="print the choice as JSON")
    parser.set_defaults(run=tune)


def tune(options: Namespace) -> None:
    """Search, print the best points and write all."""
    shared.check_source(options, [options.data])
    where = shared.read_backend(options)
    from efcml.tuning import tune as search  # not before: it takes seconds to import

    grid = read_grid(options)
    shared.check_target(options.out)
    ds = shared.read_source(options, options.data)
    where |= {"checkpoint": options.checkpoint, "grid": grid}
    result = search(*ds.initial, folds=options.folds, measure=options.measure, **where)
    choice = {
        "dataset": ds.name,
        "rows": ds.n_initial,
        "folds": options.folds,
        "measure": result.measure,
        "points": len(result.rows),
        "default": result.default,
        "top": result.top,
        "tied": sum(row["tied"] for row in result.rows),
        "chosen": result.chosen,
        "version": __version__,
    }
    if options.out:
        with replacing(options.out) as file:
            file.write(f"{to_text(choice | {'all': result.table.to_dict('records')})}\n".encode())
    print(to_text(choice) if options.json else "\n".join(describe(result, choice)))


def read_grid(options: Namespace) -> dict[str, list[float]]:
    """Return the grid that is named, with the values that the arguments replace."""
    from efcml.tuning import PAPER_GRID, SHORT_GRID

    axes = dict({"short": SHORT_GRID, "paper": PAPER_GRID}[options.grid])
    for name in SEARCHED:
        text = getattr(options, name)
        try:
            if text is not None:
                axes[name] = [float(part) for part in text.split(",")]
        except ValueError:
            raise ValueError(f"--{name} is {text!r}: give numbers with commas between.") from None
    return axes


def describe(result: TuningResult, choice: Facts) -> list[str]:
    """Return the lines for a terminal: the best points, the default, and what follows."""
    rows = result.table.to_dict("records")
    default = [row for row in rows[SHOWN:] if result.default.items() <= row.items()]
    measured = list(dict.fromkeys([result.measure, "pa", "ap"]))
    lines = [
        [
            *(f"{row[name]:g}" for name in result.names),
            *(f"{row[name]:.4f}" for name in measured),
            f"{row['rules']:.1f}",
            f"{row['gain']:+.4f} [{row['low']:+.4f}, {row['high']:+.4f}]",
            "yes" if row["tied"] else "no",
        ]
        for row in rows[:SHOWN] + default
    ]
    titles = [name.upper() if len(name) == 2 else name for name in measured]
    header = [*result.names, *titles, "rules", "gain on the default", "tied with the best"]
    call = ", ".join(f"{name}={value!r}" for name, value in result.chosen.items())
    return [
        f"{choice['dataset']}: {choice['points']} points, {choice['folds']} folds of"
        f" {choice['rows']} rows, the best {min(len(rows), SHOWN)}:",
        *format_table(header, lines),
        "",
        f"{result}.",
        f"EFCMLClassifier({call})",
    ]


# -- study ----------------------------------------------------------------------------------


def add_study(commands: Any) -> None:
    """Add the subcommand."""
    what = "compare variants of a model on data sets in several orders; write table, figures and"
    parser = commands.add_parser("study", help=f"{what} a report")
    add = parser.add_argument
    shared.add_source(parser, nargs="+")
    what = f"models: {shared.TITLES} (default: efcml)"
    add("--model", default="efcml", metavar="A,B", help=what)
    what = "a parameter and its values, such as correlation=shift,none; the first is what others"
    what += " are compared with; may be repeated, for every combination"
    add("--vary", action="append", default=[], metavar="NAME=A,B", help=what)
    shared.add_set(parser, of="all variants")
    what = "orders of the stream: that of the file, then shuffles (default 10)"
    add("--orders", type=int, default=10, metavar="N", help=what)
    add("--seed", type=int, default=0, metavar="N", help="of the shuffles")
    add("--measures", default="pa,ap", metavar="A,B", help="what is measured")
    shared.add_backend(parser)
    what = "folder for everything (default: studies/DATASETS-NAMES); what is there is not run again"
    add("--out", type=Path, metavar="DIR", help=what)
    add("--json", action="store_true", help="print the summary as JSON")
    parser.set_defaults(run=study)


def study(options: Namespace) -> None:
    """Run what is missing, write everything, print the table."""
    from efcml.measures import find

    where = shared.read_backend(options)
    measures = [find(part.strip()).name for part in options.measures.split(",")]
    names = [name.strip() for name in options.model.split(",")]
    varied = read_varied(options, names)
    parts = [Path(data).stem for data in options.data]
    parts += [*([] if options.model == "efcml" else names), *varied]
    folder = options.out or Path("studies", "-".join(parts))
    comparison = make_study(options, names, varied, folder / "records")
    try:
        comparison.run(**where)
    except KeyboardInterrupt as interrupt:
        text = str(interrupt).replace("run() goes", "the same command goes")
        raise KeyboardInterrupt(text) from None
    files = comparison.write(folder, measures)
    if options.json:
        print((folder / "summary.json").read_text(encoding="utf-8"), end="")
    else:
        print(f"{comparison.to_text(measures)}\nwritten to {folder}: {', '.join(files)}")


def read_varied(options: Namespace, names: list[str]) -> dict[str, list[Any]]:
    """Return the values of every parameter that is varied."""
    for name in names:
        if name not in MODELS:
            known = ", ".join(MODELS)
            raise ValueError(f"there is no model {name!r}: choose from {known}.")
    varied: dict[str, list[Any]] = {}
    for text in options.vary:
        parameter, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not values:
            raise ValueError(f"--vary is {text!r}: write NAME=A,B, such as correlation=shift,none.")
        for name in names:
            shared.read_setting(f"{parameter}=0", shared.parameter_names(name))
        if parameter in varied:
            raise ValueError(f"--vary names {parameter} twice: give all its values at once.")
        varied[parameter] = [shared.read_value(value.strip()) for value in values.split(",")]
    if not varied and len(names) == 1:
        raise ValueError("what is compared? Give --vary NAME=A,B, or several models with --model.")
    return varied


def make_study(
    options: Namespace, names: list[str], varied: dict[str, list[Any]], records: Path
) -> Study:
    """Return the study that the arguments describe; wrong values are refused before any work."""
    shared.check_source(options, options.data)
    from efcml.studies import Study, Variant  # not before: these take seconds to import

    models: dict[str, Variant] = {}
    for name in names:
        given, title = shared.read_settings(options, name), MODELS[name].title
        for words, model in Study.vary(make_model(name, **given), **varied).items():
            shared.check_parameters(model.get_params())
            words = ", ".join([title] * (len(names) > 1 or not varied) + [words] * bool(varied))
            models[words] = Variant(model, learn=MODELS[name].learn)
    data = [  # a name stays one, so that a built-in stream is made anew
        shared.read_source(options, name)
        if Path(name).suffix.lower() in (*shared.TABLES, ".arff") or options.initial is not None
        else name
        for name in options.data
    ]
    return Study(models, data, orders=options.orders, seed=options.seed, folder=records)


# -- reproduce ------------------------------------------------------------------------------


def add_reproduce(commands: Any) -> None:
    """Add the subcommand."""
    what = "run the experiments of the paper; write records, tables, figures and verdicts"
    parser = commands.add_parser("reproduce", help=what)
    add = parser.add_argument
    what = "pa-trends, ap-trends, rule-counts, mediamill, al-labels, al-samples, al-instability,"
    add("id", metavar="ID|all", help=f"{what} al-mediamill, speed or ablation")
    what = f"folder for everything (default: {REPRODUCED}, with --quick {REPRODUCED_QUICK}); what"
    add("--out", type=Path, metavar="DIR", help=f"{what} is there is not run again")
    what = "the same pictures on cut streams; all without mediamill"
    add("--quick", action="store_true", help=what)
    shared.add_backend(parser)
    parser.set_defaults(run=reproduce)


def reproduce(options: Namespace) -> None:
    """Run the experiments that are missing; write and print what came out."""
    folder = options.out or (REPRODUCED_QUICK if options.quick else REPRODUCED)
    where = shared.read_backend(options)
    if find_spec("efcml_paper") is None:  # not installed from a checkout; it may be run in one
        sys.path.insert(0, str(Path("experiments").absolute()))
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
    if options.quick:
        say("quick: streams are cut, so pictures are there and numbers mean little")
    session.reproduce(ids, folder, quick=options.quick, say=say, **where)


# -- datasets -------------------------------------------------------------------------------


def add_datasets(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser("datasets", help="list, fetch or describe data sets")
    actions = parser.add_subparsers(metavar="ACTION", dest="action")
    parser.set_defaults(run=list_names)
    actions.add_parser("list", help="names that efcml knows (also without ACTION)")
    fetching = actions.add_parser("fetch", help="download a published set into the cache folder")
    fetching.add_argument("name")
    fetching.add_argument("--base", metavar="URL", help="address of a copy of the repository")
    fetching.set_defaults(run=fetch)
    info = actions.add_parser("info", help="size, labels and source of a set")
    info.add_argument("name")
    info.add_argument("--json", action="store_true", help="print JSON")
    info.set_defaults(run=show_info)


def list_names(options: Namespace) -> None:
    """Print every known name with its size, and whether its files are here."""
    from efcml import datasets  # not above: numpy takes longer to import than help to print
    from efcml.datasets.published import CATALOG, find_folder

    rows = []
    for name in datasets.available():
        if name in CATALOG:
            record = CATALOG[name]
            sizes, where = (record.n, record.p, record.K), "here"
            try:
                find_folder(record)
            except datasets.DatasetNotFound:
                where = record.how_to_get.split(":")[0]
        else:
            ds = datasets.load(name)  # made in milliseconds
            sizes, where = (len(ds), ds.X.shape[1], ds.Y.shape[1]), "built in"
        rows.append([name, *sizes, where])
    print("\n".join(format_table(["name", "rows", "features", "labels", "files"], rows)))


def fetch(options: Namespace) -> None:
    """Download a set and say where it is."""
    from efcml import datasets

    print(f"{options.name} is in {datasets.fetch(options.name, base=options.base)}")


def show_info(options: Namespace) -> None:
    """Print what a data set holds."""
    import numpy as np

    from efcml import datasets
    from efcml.support.statistics import label_means

    ds = datasets.load(options.name)
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
    shares = sorted(zip(ds.label_names, label_means(ds.Y).tolist(), strict=True), key=itemgetter(1))
    if options.json:
        print(to_text(facts | {"label shares": dict(shares)}))
        return
    rows = [[f"  {name}", f"{share:.3f}"] for name, share in reversed(shares)]
    lines = [f"{name:20}{value}" for name, value in facts.items()]
    print("\n".join([*lines, "", *format_table(["labels by share", ""], rows)]))
