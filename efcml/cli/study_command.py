"""``efcml study``: variants of a model on data sets in several orders; table, figures, page."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml.cli.backend import add_backend, read_jobs
from efcml.cli.settings import OFFERED, add_set, parameter_names, read_setting, read_value
from efcml.cli.source import TABLES, add_source, read_source
from efcml.studies import USUAL

if TYPE_CHECKING:
    from efcml.studies import Study

FOLDER, RECORDS = "studies", "records"


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "study",
        help="compare variants of a model on data sets in several orders; write table, figures and"
        " a report",
    )
    add_source(parser, several=True)
    titles = "; ".join(f"{name}: {model.title}" for name, model in OFFERED.items())
    parser.add_argument(
        "--model", default="efcml", metavar="A,B", help=f"models: {titles} (default: efcml)"
    )
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="NAME=A,B",
        help="a parameter and its values, such as correlation=shift,none; the first is what others"
        " are compared with; may be repeated, for every combination",
    )
    add_set(parser, of="all variants")
    parser.add_argument(
        "--orders",
        type=int,
        default=10,
        metavar="N",
        help="orders of the stream: that of the file, then shuffles (default 10)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the shuffles")
    parser.add_argument(
        "--measures", default=",".join(USUAL), metavar="A,B", help="what is measured"
    )
    add_backend(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help=f"folder for everything (default: {FOLDER}/DATASETS-NAMES); what is there is not run"
        " again",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Run what is missing, write everything, print the table."""
    jobs = read_jobs(options)
    measures = read_measures(options.measures)
    varied = read_varied(options)
    folder = options.out or Path(FOLDER) / name_study(options, varied)
    study = make_study(options, varied, folder / RECORDS)
    try:
        study.run(jobs, options.dask)
    except RuntimeError as error:  # of a worker; it says what to do
        raise ValueError(str(error)) from None
    except KeyboardInterrupt as interrupt:
        told = str(interrupt).replace("run() goes", "the same command goes")
        raise KeyboardInterrupt(told) from None
    files = study.write(folder, measures)
    if options.json:
        print((folder / "summary.json").read_text(encoding="utf-8"), end="")
    else:
        print(study.to_text(measures))
        print(f"written to {folder}: {', '.join(files)}")


def read_measures(text: str) -> list[str]:
    """Return the names of measures, each of which exists."""
    from efcml.measures.measures import find

    return [find(part.strip()).name for part in text.split(",")]


def read_varied(options: Namespace) -> dict[str, list[Any]]:
    """Return the values of every parameter that is varied."""
    models = model_names(options)
    found: dict[str, list[Any]] = {}
    for text in options.vary:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not values:
            raise ValueError(f"--vary is {text!r}: write NAME=A,B, such as correlation=shift,none.")
        for model in models:
            read_setting(f"{name}={values.partition(',')[0]}", parameter_names(model))
        if name in found:
            raise ValueError(f"--vary names {name} twice: give all its values at once.")
        found[name] = [read_value(value.strip()) for value in values.split(",")]
    if not found and len(models) == 1:
        raise ValueError("what is compared? Give --vary NAME=A,B, or several models with --model.")
    return found


def model_names(options: Namespace) -> list[str]:
    """Return the names of the models, each of which is offered."""
    names = [name.strip() for name in options.model.split(",")]
    for name in names:
        if name not in OFFERED:
            raise ValueError(f"there is no model {name!r}: choose from {', '.join(OFFERED)}.")
    return names


def name_study(options: Namespace, varied: dict[str, list[Any]]) -> str:
    """Return the name of the folder of a study."""
    parts = [Path(name).stem for name in options.data]
    models = [] if options.model == "efcml" else model_names(options)
    return "-".join([*parts, *models, *varied])


def make_study(options: Namespace, varied: dict[str, list[Any]], records: Path) -> Study:
    """Return the study that the arguments describe; wrong values are refused before any work."""
    from efcml.model.params import Params
    from efcml.rivals import make_model
    from efcml.rivals.model_list import MODELS
    from efcml.studies import Study, Variant

    models: dict[str, Variant] = {}
    names = model_names(options)
    for name in names:
        known = parameter_names(name)
        given = dict(read_setting(text, known) for text in options.settings)
        for words, model in Study.vary(make_model(name, **given), **varied).items():
            set_ = model.get_params()
            Params(**{key: set_[key] for key in set_ if key in Params.names()}).check_together()
            title = MODELS[name].title
            line = f"{title}, {words}" if len(names) > 1 and varied else words
            line = line if varied else title
            models[line] = Variant(model, learn=MODELS[name].learn)
    data = [read_one(options, name) for name in options.data]
    return Study(models, data, orders=options.orders, seed=options.seed, folder=records)


def read_one(options: Namespace, name: str) -> Any:
    """Return one of the data sets; a name stays one, so that a built-in stream is made anew."""
    files = [one for one in options.data if Path(one).suffix.lower() in (*TABLES, ".arff")]
    if name in files or not files or options.initial is not None:
        ds = read_source(Namespace(**vars(options) | {"data": name}))
        return ds if name in files or options.initial is not None else name
    return name
