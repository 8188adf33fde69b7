"""Parts of the method that can be replaced: by a function, or by the name of a registered one.

======== ================================================= =========================================
kind     contract                                          parameter
======== ================================================= =========================================
merging  ``(pair) -> float``: how alike two rules are; 1   ``merging``
         or more, and they are merged (`reshape.Pair`)
split    ``(S, p) -> v``: direction of the features across ``splitting``
         which a rule with the joint covariance S is cut
birth    ``@njit (distance, dimension, support,            ``vigilance``
         vigilance) -> bool`` (`gaussian.is_novel`)
update   ``@njit`` as `planes.learn_planes`                ``update``
stage    ``(n_features, n_labels) -> Stage``               ``stages``
======== ================================================= =========================================

A model with a function that has no name can learn and answer; to be saved, it must have one.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

LONGEST = 200  # letters of what a function has said
TAKEN = {"split": ("labels", "axis", "off"), "update": ("rls", "paper")}  # names of the usual ones
USUAL: dict[tuple[str, str], Any] = {}  # filled where they are (model/rulebase.py)
REGISTERED: dict[tuple[str, str], Callable[..., Any]] = {}  # likewise; other processes get it

# What must be, in words, and whether what a function has returned is that. See `ask`.
CONTRACTS: dict[str, tuple[str, Callable[..., Any]]] = {
    "merging": (
        "a merging criterion is called with (pair) and must return a number",
        lambda alike, pair: isinstance(alike, Real) and alike == alike,
    ),
    "split": (
        "a splitting direction is called with (S, p) and must return p numbers that are not all 0",
        lambda v, S, p: np.shape(v) == (p,) and np.isfinite(v).all() and np.any(v),
    ),
    "birth": (
        "a birth test is called with (distance, dimension, support, vigilance) and must return "
        "a bool",
        lambda born, *given: isinstance(born, bool | np.bool_),
    ),
    "update": (
        "an update is called with (row, y, weight, keep, heights, P, W, v) and must return a bool",
        lambda lost, *given: isinstance(lost, bool | np.bool_),
    ),
    "stage": (
        "a stage is made by a call with (n_features, n_labels) and must return from begin, follow "
        "and answer as many scores as it gets",
        lambda stage, *sizes: _answers_rows(stage, *sizes),
    ),
}


class Update(NamedTuple):
    """A consequent update.

    ``at_birth``: the other rules learn the row that a rule is born from. ``solves``: where rules
    merge, split or share planes, these are the least-squares solution of the sums; else averages.
    """

    learn: Callable[..., Any]
    at_birth: bool = True
    solves: bool = False

    def __call__(self, *given: Any) -> Any:
        """Learn a row; with this, it may stand wherever a function may."""
        return self.learn(*given)


def register(kind: str, name: str, function: Callable[..., Any]) -> None:
    """Let a function be called by a name, so that models with it can be saved and described.

    Examples
    --------
    >>> import numpy as np
    >>> register("split", "first feature", lambda S, p: np.eye(p)[0])
    >>> function_of("split", "first feature")(np.eye(3), 2)
    array([1., 0.])
    """
    if kind not in CONTRACTS:
        raise ValueError(f"kind must be one of {', '.join(CONTRACTS)}; got {kind!r}.")
    if not isinstance(name, str) or name in TAKEN.get(kind, ()):
        raise ValueError(f"name must be a word that is not taken; got {name!r}.")
    if not callable(function):
        raise TypeError(f"{kind} {name!r} must be a function; got {function!r}.")
    REGISTERED[kind, name] = function


def is_known(kind: str, value: Any) -> bool:
    """Tell whether a value is a function, or the name of a registered one."""
    return callable(value) or (isinstance(value, str) and (kind, value) in REGISTERED)


def function_of(kind: str, value: Any) -> Any:
    """Return the function that a parameter names or is; None if it stands for no function."""
    return value if callable(value) else (REGISTERED | USUAL).get((kind, value))


def ask(kind: str, function: Callable[..., Any], *given: Any) -> Any:
    """Call a function of a kind; of an error or a wrong answer say in one line what must be."""
    contract, fits = CONTRACTS[kind]
    try:
        answer = function(*given)
        if fits(answer, *given):
            return answer
        got, cause = repr(answer), None
    except Exception as error:
        got, cause = f"{type(error).__name__}: {error}", error
    raise ValueError(f"{contract}; got {' '.join(got.split())[:LONGEST]}.") from cause


def try_out(kind: str, function: Callable[..., Any]) -> None:
    """Call a function that kernels will call, with what they give."""
    row, y, P, W = np.ones(3), np.ones(2), np.eye(3), np.ones((2, 3))
    given = {"birth": (1.0, 2.0, 1.0, 1.0), "update": (row, y, 1.0, 1.0, 0.5 * y, P, W, row.copy())}
    ask(kind, function, *given[kind])


def _answers_rows(stage: Any, n_features: int, n_labels: int, n: int = 20) -> bool:
    tried = stage.copy()
    rows, each = np.sin(np.arange(float(n * n_features))).reshape(n, -1), np.ones(n)
    scores = np.cos(np.arange(float(n * n_labels))).reshape(n, -1)
    Y = (scores > 0.3).astype(float)
    for name, given in (("begin", (Y, each)), ("follow", (Y, each, each)), ("answer", (0,))):
        found = np.shape(getattr(tried, name)(rows, scores, *given))
        if found != scores.shape:
            raise TypeError(f"{name} returned the shape {found} for {scores.shape}")
    return True


def name_of(kind: str, value: Any) -> Any:
    """Return the value of a parameter as it can be saved: a function by its name."""
    if not callable(value):
        return value
    for (of, name), function in REGISTERED.items():
        if of == kind and function is value:
            return name
    raise ValueError(
        f"a model with a {kind} function of your own is saved by name: call "
        f'efcml.register("{kind}", "a name", function) before, here and where it is loaded.'
    )
