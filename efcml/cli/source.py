"""Where the rows come from: a named data set, or a CSV or ARFF file of one's own."""

from pathlib import Path

from efcml import datasets


def add_source(parser):
    """Add the arguments that name the data."""
    parser.add_argument("data", metavar="DATASET|FILE", help="a name of `efcml datasets list`,"
                        " or a .csv or .arff file")  # fmt: skip
    parser.add_argument("--labels", metavar="A,B", help="label columns of a CSV file: names, or"
                        " the number of labels if they are the last columns")  # fmt: skip
    parser.add_argument("--xml", metavar="FILE", help="label file of an ARFF file (MULAN)")
    parser.add_argument("--initial", metavar="N", type=int, help="rows of the initial part")


def read_source(options):
    """Return the data set that the arguments name."""
    path = Path(options.data)
    if path.suffix.lower() == ".csv":
        if options.labels is None:
            raise ValueError(f"which columns of {path} are labels? Name them with --labels.")
        labels = int(options.labels) if options.labels.isdigit() else options.labels
        return datasets.from_csv(path, labels, n_initial=options.initial)
    if path.suffix.lower() == ".arff":
        if options.xml is None:
            raise ValueError(f"which attributes of {path} are labels? Name their file with --xml.")
        return datasets.from_arff(path, options.xml, n_initial=options.initial)
    for option in ("labels", "xml"):
        if getattr(options, option) is not None:
            raise ValueError(f"--{option} is for files: {options.data} is the name of a data set.")
    given = {} if options.initial is None else {"n_initial": options.initial}
    return datasets.load(options.data, **given)
