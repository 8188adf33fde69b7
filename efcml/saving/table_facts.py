"""What a file knows of the table that a model has learned: its columns before they were coded."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from efcml.saving.file_checks import shorten, take
from efcml.tables import TableEncoder
from efcml.tables.dates import FORMATS, LONGEST, WEEKDAYS
from efcml.tables.table_columns import CATEGORY, DATE, DAYS, FLAG, HOUR, KINDS, NUMBER, TableColumn

if TYPE_CHECKING:
    from efcml.support.aliases import Facts

LISTS = ("features", "values", "parts")


def table_of(model: Any, table: TableEncoder | None) -> TableEncoder | None:
    """Return the table that goes into the file of an estimator.

    The one that is given must fit. One that came with the model does so no more if it was fitted
    anew with other features.
    """
    given = table is not None
    table = table if given else getattr(model, "table_", None)
    if table is None or not hasattr(model, "learner_"):
        return None
    if given and not isinstance(table, TableEncoder):
        raise TypeError(f"table must be that of a data set, ds.table; got {type(table).__name__}.")
    names = getattr(model, "feature_names_in_", None)
    known = table.feature_names if names is None else tuple(map(str, names))
    if known == table.feature_names and len(known) == model.n_features_in_:
        return table
    if given:
        raise ValueError(
            f"the table has {len(table.feature_names)} features, the model"
            f" {model.n_features_in_} or other names: give the table of its data set."
        )
    return None


def pack_table(table: TableEncoder) -> list[Facts]:
    """Return the columns of a table as JSON can hold them."""
    return [
        {name: list(value) if name in LISTS else value for name, value in asdict(column).items()}
        for column in table.columns
    ]


def unpack_table(facts: list[Any]) -> TableEncoder:
    """Return a table of checked facts."""
    columns = []
    for column in facts:
        learned: Facts = {name: tuple(v) if name in LISTS else v for name, v in column.items()}
        columns.append(TableColumn(**learned))
    return TableEncoder(tuple(columns))


def check_table_facts(facts: list[Any], n_given: int) -> None:
    """Refuse what cannot have been learned of a table with so many features."""
    for column in facts:
        check_column(column)
    names = [column["name"] for column in facts]
    features = [name for column in facts for name in column["features"]]
    if len(set(names)) < len(names) or len(set(features)) < len(features):
        raise ValueError("a table has two columns of one name")
    if len(features) != n_given:
        raise ValueError(f"a table of {len(features)} features cannot be that of {n_given}")


def check_column(facts: Any) -> None:
    """Refuse a column that no table can have."""
    words = dict.fromkeys(("name", "kind", "said", "group", "how"), str)
    take(facts, "a column of the table", **words, **dict.fromkeys(LISTS, list), origin=float)
    values, parts, how = facts["values"], facts["parts"], facts["how"]
    if facts["kind"] not in KINDS:
        raise ValueError(f"a column of the table is of the kind {shorten(facts['kind'], 40)}")
    if not all(type(text) is str for name in LISTS for text in facts[name]):
        raise ValueError("features, values and parts of a column must be words")
    expected = {NUMBER: 1, FLAG: 1, CATEGORY: len(values), DATE: len(parts) + len(values)}
    if len(facts["features"]) != expected.get(facts["kind"], 0):
        raise ValueError(f"the column {shorten(facts['name'], 40)} has other features than values")
    if len(set(values)) < len(values) or (facts["kind"] == CATEGORY and len(values) < 2):
        raise ValueError("a category must have values, each once")
    dated = (
        {*values} <= {*WEEKDAYS}
        and parts in ([DAYS], [DAYS, HOUR])
        and (how in FORMATS or ("%" in how and len(how) <= LONGEST))
        and math.isfinite(facts["origin"])
    )
    if facts["kind"] == DATE and not dated:
        raise ValueError(f"the column {shorten(facts['name'], 40)} is no date that can be read")
