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
from typing import Any, NamedTuple

KINDS = ("merging", "split", "birth", "update", "stage")
TAKEN = {"split": ("labels", "axis", "off"), "update": ("rls", "paper")}  # names of the usual ones
USUAL: dict[tuple[str, str], Any] = {}  # filled where they are (model/rulebase.py)
REGISTERED: dict[tuple[str, str], Callable[..., Any]] = {}  # likewise; other processes get it


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
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}.")
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
