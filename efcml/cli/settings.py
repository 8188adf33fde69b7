"""The model that the arguments of ``efcml run`` describe, and who asks for its labels."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from efcml.active.criteria import CRITERIA, USUAL
from efcml.model.params import DECISIONS
from efcml.rivals.model_list import MODELS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from efcml.active import ActiveLearner

OFFERED = {name: model for name, model in MODELS.items() if model.offered}
ASKING = [name for name, model in OFFERED.items() if model.asks]


def add_set(parser: ArgumentParser, *, of: str) -> None:
    """Add the argument that sets parameters."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help=f"a parameter of {of}, such as vigilance=0.4; may be repeated",
    )


def add_settings(parser: ArgumentParser) -> None:
    """Add the arguments that choose and set the model."""
    titles = "; ".join(f"{name}: {model.title}" for name, model in OFFERED.items())
    parser.add_argument(
        "--model", choices=OFFERED, default="efcml", help=f"{titles} (default: efcml)"
    )
    add_set(parser, of="the model")
    parser.add_argument(
        "--decision",
        choices=DECISIONS,
        help="what decisions are to be good at: each label by itself (hamming, the default), rare"
        " labels too (f1), the whole set (subset); short for --set decision=...",
    )
    parser.add_argument(
        "--budget",
        type=float,
        metavar="SHARE",
        help="ask for this share of the labels only, 0 to 1",
    )
    parser.add_argument(
        "--unit",
        choices=("samples", "labels"),
        help="what is asked for: whole rows (default) or single labels",
    )
    words, usual = ", ".join(CRITERIA), ", ".join(USUAL)
    parser.add_argument(
        "--criteria", metavar="A,B", help=f"when to ask: some of {words} (default: {usual})"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="for the criterion random,"
        " for --set order=random of a chain and for --shuffle; nothing else is"
        " random (default 0)",
    )


def read_settings(options: Namespace) -> dict[str, Any]:
    """Return the parameters that are set; a wrong one is refused before anything slow is loaded."""
    from efcml.model.params import Params

    if options.seed < 0:
        raise ValueError(f"--seed is {options.seed}: choose a whole number >= 0.")
    given = dict(read_setting(text, parameter_names(options.model)) for text in options.settings)
    if options.decision is not None:
        if given.get("decision", options.decision) != options.decision:
            raise ValueError(
                f"--decision is {options.decision} and --set decision={given['decision']}: give one"
                " of them."
            )
        given["decision"] = options.decision
    if given.get("decision", "hamming") != "hamming" and not MODELS[options.model].decides:
        raise ValueError(
            f"decision={given['decision']} needs a model that learns all labels together: --model"
            f" {options.model} decides each alone."
        )
    Params(**{name: given[name] for name in given if name in Params.names()}).check_together()
    return given


def parameter_names(model: str) -> list[str]:
    """Return the names of the parameters that can be set."""
    from efcml.model.params import Params

    return sorted((*Params.names(), *MODELS[model].further))  # random_state is --seed


def make_estimator(options: Namespace, given: dict[str, Any]) -> Any:
    """Return the new estimator with these parameters."""
    from efcml.rivals import make_model

    return make_model(options.model, random_state=options.seed, **given)


def read_setting(text: str, allowed: Sequence[str]) -> tuple[str, Any]:
    """Return name and value of one ``NAME=VALUE``."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not value:
        raise ValueError(f"--set is {text!r}: write NAME=VALUE, such as vigilance=0.4.")
    if name not in allowed:
        near = get_close_matches(name, allowed, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(allowed)}."
        raise ValueError(f"there is no parameter {name!r}: {hint}")
    return name, read_value(value)


def read_value(text: str) -> Any:
    """Return a truth value, a whole number, a number, a list of whole numbers, or the word.

    Examples
    --------
    >>> [read_value(text) for text in ("true", "30", "1e-4", "2,0,1", "none")]
    [True, 30, 0.0001, [2, 0, 1], 'none']
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for read in (int, float, lambda words: [int(word) for word in words.split(",")]):
        try:
            return read(text)
        except ValueError:
            pass
    return text


def check_asking(options: Namespace) -> None:
    """Refuse options of an active learner that do not fit the others."""
    if options.budget is None:
        for name in ("unit", "criteria"):
            if getattr(options, name) is not None:
                raise ValueError(f"--{name} needs --budget, the share of labels to ask for.")
    elif options.model not in ASKING:
        raise ValueError(
            f"--budget works with --model {' and '.join(ASKING)} only, not with {options.model}."
        )


def make_asker(options: Namespace) -> ActiveLearner | None:
    """Return the active learner, or None if every label is given."""
    if options.budget is None:
        return None
    from efcml.active import ActiveLearner  # not above: it takes seconds to import

    words: dict[str, Any] = {}
    if options.criteria is not None:
        words["criteria"] = [word.strip() for word in options.criteria.split(",")]
    unit = options.unit or "samples"
    return ActiveLearner(options.budget, unit, random_state=options.seed, **words)
