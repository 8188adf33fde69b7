"""How long a run may take: rough, for the bar and for a first word on the time."""

from efcml.datasets import CATALOG

BUILT_IN = (6000, 600, 10, 5)  # rows, of these initial, features, labels of built-in streams
PER_ROW, PER_NUMBER = 2e-4, 3.2e-9  # seconds, on one core: per row, and per entry of covariances
RULES = 15  # unless the run has another cap
FITTING = 3.0  # rows fitted, with the choice of the prior, to rows streamed
PER_LABEL = ("ovr", "chain")


def size_of(dataset):
    """Return rows, initial rows, features and labels of a data set, without loading it."""
    record = CATALOG.get(dataset)
    return BUILT_IN if record is None else (record.n, record.n_initial, record.p, record.K)


def seconds_of(run):
    """Return about how many seconds a run takes.

    Examples
    --------
    >>> from efcml_paper.runs import make_run
    >>> seconds_of(make_run("birds", "ovr")) > 10 * seconds_of(make_run("birds"))
    True
    """
    n, n_initial, p, n_labels = size_of(run.dataset)
    if run.start == "small":
        n_initial = n // 10
    stream = min(n - n_initial, run.stream_limit or n)
    initial = min(n_initial, run.initial_limit or n)
    rules = dict(run.parameters).get("max_rules", RULES)
    row = PER_ROW + PER_NUMBER * rules * p * p
    if run.model in PER_LABEL:
        row *= n_labels
    return row * (stream + FITTING * initial)
