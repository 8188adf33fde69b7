"""Parameters that are declared once: a line of a class gives default, check and signature.

The string below the line says what the parameter does. A class with such lines, or one that
inherits them, is decorated with `with_parameters`.
"""

import ast
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field, fields, replace
from functools import partial
from itertools import pairwise
from textwrap import dedent, indent, wrap
from typing import Any, TypeVar, dataclass_transform

from efcml.seams import is_known
from efcml.support import checks

T = TypeVar("T")
UNSET = object()  # None is a value
WIDTH = 88


@dataclass(frozen=True)
class Facts:
    """What is declared of a parameter besides its name.

    ``kind`` is what is allowed, in words. ``check(name, value)`` refuses all else. ``paper`` is the
    value that the paper prints, if it prints one.
    """

    default: Any
    kind: str
    check: Callable | None = None  # of plain values
    paper: Any = UNSET
    seam: str = ""  # kind of the function that may stand for it (efcml/seams.py)
    meaning: str = ""


def other(
    kind: str, check: Callable | None = None, *, default: Any, paper: Any = UNSET, seam: str = ""
) -> Any:
    """Declare a value; what is not checked here its user checks."""
    kind = f"{kind}, or function" if seam else kind
    return field(default=default, metadata={"facts": Facts(default, kind, check, paper, seam)})


def number(*, words: tuple[str, ...] = (), **given: Any) -> Any:
    """Declare a number; the limits are those of `check_number`."""
    limits = {name: given.pop(name) for name in checks.LIMITS if name in given}
    kind = "".join(f'"{word}" or ' for word in words) + f"float {checks.number_range(**limits)}"
    return other(kind, partial(checks.check_number, words=words, **limits), **given)


def whole(*, least: int, most: int | None = None, **given: Any) -> Any:
    """Declare a whole number."""
    check = partial(checks.check_whole, least=least, most=most)
    return other(f"int {checks.whole_range(least, most)}", check, **given)


def flag(**given: Any) -> Any:
    """Declare a switch."""
    return other("bool", checks.check_flag, **given)


def choice(*, allowed: Iterable[str], **given: Any) -> Any:
    """Declare one of some words."""
    kind = "{" + ", ".join(f'"{word}"' for word in allowed) + "}"
    return other(kind, partial(checks.check_choice, allowed=tuple(allowed)), **given)


@dataclass_transform(
    kw_only_default=True,
    eq_default=False,
    field_specifiers=(number, whole, flag, choice, other),
)
def with_parameters(cls: type[T]) -> type[T]:
    """Give a class an ``__init__`` that keeps its parameters, all of them keywords.

    The signature is a real one: scikit-learn, river, ``help`` and editors read it. ``{parameters}``
    in the docstring becomes their entries. ``__post_init__`` is called last, if there is one. A
    subclass that gives a parameter a new value changes its default.
    """
    inherited, meanings = getattr(cls, "__dataclass_fields__", {}), meanings_of(cls)
    for name in inspect.get_annotations(cls):
        default = vars(cls)[name]
        if isinstance(default, Field):
            facts = replace(default.metadata["facts"], meaning=meanings[name] if meanings else "")
            default.metadata = {"facts": facts}  # type: ignore[assignment]
        else:
            setattr(cls, name, field(default=default, metadata=inherited[name].metadata))
    cls = dataclass(kw_only=True, eq=False, repr=False)(cls)
    return with_words(parameters=entries(cls))(cls)


def meanings_of(cls: type) -> dict[str, str]:
    """Return the strings that stand below the lines of a class, by the names of the lines.

    There are none where the source is not to be had, as of a class typed into a console.
    """
    try:
        tree: Any = ast.parse(dedent(inspect.getsource(cls))).body[0]
    except (OSError, TypeError):
        return {}
    return {
        ast.unparse(line.target): " ".join(ast.literal_eval(text.value).split())
        for line, text in pairwise(tree.body)
        if type(line) is ast.AnnAssign and type(text) is ast.Expr
    }


def with_words(**words: str) -> Callable[[type[T]], type[T]]:
    """Put words in place of ``{their name}`` in the docstring of a class, each on a line alone."""

    def fill(cls: type[T]) -> type[T]:
        doc = inspect.cleandoc(cls.__doc__ or "")  # none in optimised programs
        for place in re.finditer(r"^( *)\{(\w+)\}$", doc, flags=re.M):
            doc = doc.replace(place[0], indent(words[place[2]], place[1]))
        cls.__doc__ = doc
        return cls

    return fill


def facts_of(cls: type) -> dict[str, Facts]:
    """Return the facts of every parameter of a class, by name, in order."""
    return {each.name: each.metadata["facts"] for each in fields(cls)}


def check_parameters(values: Any) -> None:
    """Refuse the first parameter that is out of its range."""
    for name, facts in facts_of(type(values)).items():
        value = getattr(values, name)
        if facts.check is None or (facts.seam and is_known(facts.seam, value)):
            continue
        try:
            facts.check(name, value)
        except ValueError as error:
            if not (facts.seam and isinstance(value, str)):
                raise
            allowed, _, got = str(error).rpartition("; got ")
            seam = f'a function, or the name of one (efcml.register("{facts.seam}", ...))'
            raise ValueError(f"{allowed}, or {seam}; got {got}") from None


def printed(cls: type) -> dict[str, Any]:
    """Return the values that the paper prints, by name."""
    return {n: facts.paper for n, facts in facts_of(cls).items() if facts.paper is not UNSET}


def entries(cls: type) -> str:
    """Return the entries of a docstring's section on parameters."""
    lines = []
    for each in fields(cls):
        facts = each.metadata["facts"]
        text = "\n".join(wrap(facts.meaning, WIDTH, break_long_words=False))
        lines += [f"{each.name} : {facts.kind}, default={each.default!r}", indent(text, "    ")]
    return "\n".join(lines)
