"""save and load: a model in one file that holds no code."""

from efcml.active import ActiveLearner
from efcml.saving import actives, estimators, rivers
from efcml.saving.archive import read_archive, refusing, write_archive

HOMES = dict.fromkeys(estimators.KINDS, estimators) | {
    "RiverEFCML": rivers,
    "ActiveLearner": actives,
}
CLASSES = (*estimators.LEARNERS, ActiveLearner)


def save(model, path):
    """Write a model to a file, with all it needs to go on learning.

    The file appears as a whole: if anything fails, an older one stays as it was. Nothing in it is
    code; ``numpy.load`` can read its arrays.

    Parameters
    ----------
    model : EFCMLClassifier, OneVsRestEFC, ChainEFC, RiverEFCML or ActiveLearner
        Fitted, in its warm-up, or new.
    path : str or path-like
        By custom it ends in ``.npz``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from efcml import EFCMLClassifier, datasets, load, save
    >>> ds = datasets.load("drifting-clusters", n=300, n_initial=200)
    >>> clf = EFCMLClassifier(prior=1.0).fit(*ds.initial)
    >>> with TemporaryDirectory() as folder:
    ...     save(clf, f"{folder}/model.npz")
    ...     copy = load(f"{folder}/model.npz")
    >>> bool((copy.predict(ds.X) == clf.predict(ds.X)).all())
    True
    """
    facts, arrays = pack(model)
    write_archive(path, {"kind": "model", "content": facts}, arrays)


def load(path):
    """Return the model of a file that `save` wrote; it goes on bit for bit.

    A file that is foreign, broken or inconsistent is refused with a ValueError that says why.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    EFCMLClassifier, OneVsRestEFC, ChainEFC, RiverEFCML or ActiveLearner
    """
    header, arrays = read_archive(path, expect_model)
    with refusing(path):
        return unpack(header["content"], arrays)


def expect_model(header):
    """Return the arrays that the header of a model file asks for."""
    if header["kind"] != "model":
        raise ValueError(f"it holds a {header['kind']}, not a model")
    return expected(header["content"])


def pack(model):
    """Return the facts of a model, which JSON can hold, and its arrays; `unpack` takes them back.

    Values that `unpack` would refuse are refused here.
    """
    if type(model) not in CLASSES and not rivers.is_river(model):
        raise TypeError(f"only {', '.join(HOMES)} can be saved; got {type(model).__name__}.")
    home = HOMES[type(model).__name__]
    facts, arrays = home.pack(model)
    try:
        home.shapes(facts)
        home.check(facts, arrays)
    except ValueError as error:
        raise ValueError(f"{type(model).__name__} cannot be saved: {error}.") from None
    return facts, arrays


def expected(facts):
    """Return ``{name: (dtype, shape)}`` of the arrays of a model with these facts, or refuse them.

    Only ValueError is raised, whatever the facts are.
    """
    name = facts.get("class") if isinstance(facts, dict) else None
    if not isinstance(name, str) or name not in HOMES:
        raise ValueError("it holds no model of a known class")
    return HOMES[name].shapes(facts)


def unpack(facts, arrays):
    """Return the model that `pack` was given; facts and shapes must have passed `expected`."""
    home = HOMES[facts["class"]]
    home.check(facts, arrays)
    return home.unpack(facts, arrays)
