"""An estimator's base while scikit-learn is not loaded; see docs/decisions/0019-light-import.md."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from types import NoneType
from typing import Any, Self, TypeVar

from efcml.support.loaded import when_loaded

LINE = 80  # as wide as scikit-learn writes
MOST = 700  # characters; scikit-learn shortens what is longer
MOST_ARGUMENTS = 30  # likewise
SIMPLE = (NoneType, bool, int, float, str)

T = TypeVar("T")


class LightBase:
    """Parameters and the text of an estimator, as scikit-learn's `BaseEstimator` has them.

    What is not simple is left to scikit-learn, which is loaded for it.
    """

    @classmethod
    def _get_param_names(cls) -> list[str]:
        _, *parameters = signature(cls.__init__).parameters.values()
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            return scikit_learn().BaseEstimator._get_param_names.__func__(cls)
        return sorted(p.name for p in parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        values = {name: getattr(self, name) for name in self._get_param_names()}
        if deep and any(hasattr(value, "get_params") for value in values.values()):
            return scikit_learn().BaseEstimator.get_params(self, deep)
        return values

    def set_params(self, **params: Any) -> Self:
        """Set parameters and return self; a name that is none is refused."""
        if not {*params} <= {*self._get_param_names()}:
            return scikit_learn().BaseEstimator.set_params(self, **params)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        values = self.get_params(deep=False)
        if all(type(value) in SIMPLE for value in values.values()):
            defaults = signature(type(self).__init__).parameters
            changed = [
                f"{name}={value!r}"
                for name, value in values.items()
                if repr(value) != repr(defaults[name].default)
            ]
            text = write_call(type(self).__name__, changed)
            if text is not None:
                return text
        return scikit_learn().BaseEstimator.__repr__(self)

    @property
    def _repr_html_(self) -> Any:
        scikit_learn()
        return self._repr_html_  # scikit-learn's own now, as this class is no base any more

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return scikit_learn().BaseEstimator._repr_mimebundle_(self, **options)

    def __sklearn_tags__(self) -> Any:
        return scikit_learn().ClassifierMixin.__sklearn_tags__(self)


def scikit_learn() -> Any:
    """Load scikit-learn's base module and return it."""
    from sklearn import base

    return base


def take_bases(cls: type[T]) -> type[T]:
    """Put scikit-learn's bases in the place of `LightBase` when scikit-learn is loaded."""

    def take(base: Any) -> None:
        if cls.__bases__ == (LightBase,):
            cls.__bases__ = (base.ClassifierMixin, base.BaseEstimator)
            for kind in family(cls):
                super(cls, kind).__init_subclass__()  # as if it were defined now

    when_loaded("sklearn.base", take)
    return cls


def family(cls: type[Any]) -> list[type[Any]]:
    """Return a class and all that are derived from it, parents first."""
    found = [cls]
    for kind in found:
        found += [child for child in kind.__subclasses__() if child not in found]
    return found


def write_call(name: str, arguments: Sequence[str]) -> str | None:
    """Return a call as scikit-learn breaks it into lines, or None if that is left to it.

    Examples
    --------
    >>> write_call("Model", ["alpha=0.5", "beta=1.0"])
    'Model(alpha=0.5, beta=1.0)'
    """
    length = sum(map(len, arguments)) + len(arguments) + len(name) + 1
    if length > MOST or len(arguments) > MOST_ARGUMENTS:
        return None
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= LINE:
        return line
    indent = len(name) + 1
    lines: list[list[str]] = [[]]
    for argument in arguments:
        room = LINE + 1 - indent - (argument is arguments[-1])
        if len(argument) + 2 > room:
            return None
        if sum(len(other) + 2 for other in [*lines[-1], argument]) > room:
            lines.append([])
        lines[-1].append(argument)
    return f"{name}(" + (",\n" + " " * indent).join(", ".join(line) for line in lines) + ")"
