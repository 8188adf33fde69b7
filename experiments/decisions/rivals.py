"""Every model of `efcml.rivals.MODELS` on the four small sets, with default parameters.

Initial part fitted, rest test-then-train, file order; nothing is tuned. ``python
experiments/decisions/rivals.py`` appends what is missing to
``experiments/results/decisions/rivals.jsonl`` and writes the table in ``docs/results/rivals.md``.
"""

import json
from pathlib import Path

from inside import KEPT, SETS, read, record_of

from efcml import Study
from efcml.rivals import MODELS, make_model
from efcml.studies import Variant

OUT = Path(__file__).parents[1] / "results" / "decisions" / "rivals.jsonl"
PAGE = Path(__file__).parents[2] / "docs" / "results" / "rivals.md"


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
    have = {(r["model"], r["set"]) for r in read(OUT)}
    missing = [(model, name) for model in MODELS for name in SETS if (model, name) not in have]
    if missing:
        models = {
            model: Variant(make_model(model), learn=MODELS[model].learn)
            for model in dict.fromkeys(model for model, _ in missing)
        }
        sets = list(dict.fromkeys(name for _, name in missing))
        study = Study(models, sets, orders=1, folder=KEPT / "rivals").run()
        with OUT.open("a") as file:
            for model, name in missing:
                parameters = models[model].describe()["model"]["parameters"]
                result = study.result(model, name)
                line = {"model": model, "set": name, "births": result.births}
                line |= {"merges": result.merges, "parameters": parameters}
                file.write(json.dumps(line | record_of(result)) + "\n")
    write_table(read(OUT))


if __name__ == "__main__":
    main()
