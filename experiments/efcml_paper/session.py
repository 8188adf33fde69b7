"""``efcml reproduce``: the studies, their pages, and what is left of the claims."""

from collections.abc import Mapping
from pathlib import Path

from efcml import Study, datasets
from efcml_paper.claims import CHECKS, CLAIMS
from efcml_paper.plan import EXPERIMENTS, LARGE, SETS

NEEDS_LARGE = ("mediamill", "al-mediamill")


def choose_ids(wanted, quick):
    """Return the experiments that a word stands for; a quick run of all leaves the large set out.

    Examples
    --------
    >>> choose_ids("speed", True), "mediamill" in choose_ids("all", True)
    (('speed',), False)
    """
    if wanted == "all":
        return tuple(name for name in EXPERIMENTS if not (quick and name in NEEDS_LARGE))
    if wanted not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise ValueError(f"there is no experiment {wanted!r}: choose all or one of {known}.")
    return (wanted,)


def reproduce(ids, folder, *, quick=False, say=print, runs=None, **where):
    """Run what is missing; write a page for each experiment, and the verdicts; return these.

    ``where`` says who does the runs, as `Study.run` takes it. ``runs`` is a folder that keeps runs;
    that of the pages if not given.
    """
    folder = Path(folder)
    for name in {LARGE} if set(ids) <= set(NEEDS_LARGE) else SETS:
        datasets.load(name)  # a set that is missing is said before any work
    lines = []
    for experiment in ids:
        say(f"== {experiment}")
        made, measures = EXPERIMENTS[experiment]
        study = Study(**made(quick), folder=runs or folder / "runs", measures=measures)
        study.run(**where).write(folder / experiment)
        say(study.to_text())
        lines += [] if quick else judge(experiment, study)
    write_verdicts(folder / "verdicts.md", lines)
    if quick:
        say("a quick run gives no verdicts: its streams are cut")
    return lines


def judge(experiment, study):
    """Return a line for each claim on an experiment."""
    lines = []
    for claim in CLAIMS:
        if claim.experiment == experiment:
            verdict, found = claim.judge(study, CHECKS)
            numbers = "; ".join(f"{name}: {words}" for name, (_, words) in found.items())
            line = {"experiment": experiment, "claim": claim.words, "verdict": verdict}
            lines.append(line | {"numbers": numbers})
    return lines


def write_verdicts(path, lines: list[Mapping[str, str]]):
    """Write claims and verdicts as a table, if there are any."""
    if lines:
        rows = [list(lines[0]), ["---"] * len(lines[0]), *(list(one.values()) for one in lines)]
        text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        path.write_text(text + "\n", encoding="utf-8")
