"""Every model of `efcml.rivals.MODELS` on the four small sets, with default parameters.

Initial part fitted, rest test-then-train, file order; nothing is tuned. ``python
experiments/decisions/rivals.py`` appends what is missing to
``experiments/results/decisions/rivals.jsonl`` and writes the table in ``docs/results/rivals.md``.
"""

import json
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from inside import SETS, read

import efcml
from efcml import datasets, prequential
from efcml.rivals import MODELS, make_model
from efcml.studies.provenance import method

OUT = Path(__file__).parents[1] / "results" / "decisions" / "rivals.jsonl"
PAGE = Path(__file__).parents[2] / "docs" / "results" / "rivals.md"


def run(model, name):
    """Return one record."""
    ds = datasets.load(name)
    estimator = make_model(model).fit(*ds.initial)
    result = prequential(estimator, *ds.stream, learn=MODELS[model].learn)
    return {
        "model": model,
        "set": name,
        "pa": result.pa,
        "ap": result.ap,
        "rules": int(result.rules[-1]),
        "births": result.births,
        "merges": result.merges,
        "ms_per_sample": 1e3 * result.seconds_per_sample,
        "version": efcml.__version__,
        "method": method(),
        "parameters": {
            key: value
            for key, value in estimator.get_params().items()
            if isinstance(value, int | float | str | bool | None)
        },
    }


def write_table(records):
    """Write PA / AP, rules and milliseconds of every model and set."""
    found = {(r["model"], r["set"]): r for r in records}
    lines = ["| model | " + " | ".join(SETS) + " |", "|---" * (len(SETS) + 1) + "|"]
    for model, entry in MODELS.items():
        cells = []
        for name in SETS:
            r = found[model, name]
            rules = f", {r['rules']} rules" if r["rules"] else ""
            cells.append(f"{r['pa']:.3f} / {r['ap']:.3f}{rules}, {r['ms_per_sample']:.2g} ms")
        lines.append(f"| {entry.title} | " + " | ".join(cells) + " |")
    head = PAGE.read_text().split("<!-- table -->")[0]
    PAGE.write_text(head + "<!-- table -->\n" + "\n".join(lines) + "\n")


def main():
    efcml.warmup()
    have = {(r["model"], r["set"]) for r in read(OUT)}
    with OUT.open("a") as file:
        for model in MODELS:
            for name in SETS:
                if (model, name) not in have:
                    record = run(model, name)
                    print(f"{model:12}{name:14}{record['pa']:.4f} {record['ap']:.4f}", flush=True)
                    file.write(json.dumps(record) + "\n")
                    file.flush()
    write_table(read(OUT))


if __name__ == "__main__":
    main()
