"""Headers of the first format are completed, wherever in a model the new facts are."""

import copy
import json
import zipfile

import pytest
from helpers.models import QUICK, stream

from efcml import ChainEFC, EFCMLClassifier, OneVsRestEFC, save
from efcml.saving.archive import HEADER
from efcml.saving.older_files import up_to_date

AS_BEFORE = QUICK | {"prior": 1.0, "splitting": "off", "split_share": 1.0, "least_share": 0.0}
AS_BEFORE |= {"provisional": False, "scaling": "frozen", "caution": False, "time": False}
NEW_FACTS = {"splitting", "split_share", "least_share", "splits", "shared", "renewal", "columns"}
NEW_FACTS |= {"provisional", "evidence", "scaling", "drifts", "n_recent", "caution", "time"}
KINDS = (EFCMLClassifier, OneVsRestEFC, ChainEFC)


def without_new_facts(facts):
    """Return facts as the first format had them."""
    if isinstance(facts, list):
        return [without_new_facts(part) for part in facts]
    if not isinstance(facts, dict):
        return facts
    return {key: without_new_facts(facts[key]) for key in facts if key not in NEW_FACTS}


def header_of(model, path):
    save(model, path)
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read(HEADER))


@pytest.mark.parametrize("rows", [0, 3, 25], ids=["new", "warming up", "fitted"])
@pytest.mark.parametrize("kind", KINDS)
def test_old_headers_become_those_of_a_model_without_the_new_parts(tmp_path, kind, rows):
    X, Y = stream(25)
    model = kind(**AS_BEFORE)
    if rows == len(X):
        model.fit(X, Y)
    elif rows:
        model.partial_fit(X[:rows], Y[:rows])
    header = header_of(model, tmp_path / "model.npz")
    old = without_new_facts(header) | {"format_version": 1}
    assert old["content"] != header["content"]
    kept = copy.deepcopy(old)
    assert up_to_date(old)["content"] == header["content"]
    assert old == kept  # its hash is taken later


def test_headers_of_today_stay_as_they_are(tmp_path):
    """What this version leaves out is missing, and not made up."""
    header = header_of(EFCMLClassifier(**QUICK).fit(*stream(25)), tmp_path / "model.npz")
    assert up_to_date(header) is header
