"""A first run that needs no data: ``python experiments/demo/demo.py [--out demo] [--quick]``.

The default learns the built-in drifting stream, beside models with one thing changed. A table goes
to the screen; a report of the default, a page of the comparison and all pictures go to the folder.
"""

import argparse
import sys
from pathlib import Path

from efcml import EFCMLClassifier, Study, datasets, plots, prequential
from efcml.report import draw_run, write_report
from efcml.studies import Variant
from efcml.support.files import make_folder

STREAM = "drifting-clusters"
ROWS, QUICK_ROWS = 6000, 2000
MODELS = {
    "EFC-ML": EFCMLClassifier(),
    "never forgets": EFCMLClassifier(forgetting=1.0),
    "rules share decisions": EFCMLClassifier(bandwidth="dimension"),
    "rules alone": EFCMLClassifier(cases=0),
    "correlation penalty": EFCMLClassifier(correlation="shift"),
    "one plane": EFCMLClassifier(max_rules=1, cases=0),
    "static": Variant(EFCMLClassifier(), learn=False),
}


def run_demo(out, rows=ROWS):
    """Run all models over the stream, print the table, write the files; return the study."""
    stream = datasets.load(STREAM, n=rows)
    print(f"{stream}\n", flush=True)
    study = Study(MODELS, stream, orders=1).run()
    print(f"{study}\n", flush=True)
    study.write(out / "comparison")
    model = EFCMLClassifier().fit(*stream.initial)
    result = prequential(model, *stream.stream)
    model.name_columns(stream.feature_names, stream.label_names)
    run = {"dataset": stream, "X": stream.stream[0]}
    figures = draw_run(result, model, **run)
    for name, figure in figures.items():
        plots.save_figure(figure, out / name)
    write_report(out / "report.html", result=result, classifier=model, figures=figures, **run)
    print(f"written to {out}: report.html, comparison/report.html, pictures")
    return study


def main(arguments=None):
    """Run the demo from the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python experiments/demo/demo.py",
        description="Learn a built-in drifting stream; print a table, write figures and a report.",
    )
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the results")
    parser.add_argument("--quick", action="store_true", help="a shorter stream")
    chosen = parser.parse_args(arguments)
    try:
        make_folder(chosen.out)
        run_demo(chosen.out, QUICK_ROWS if chosen.quick else ROWS)
    except ValueError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
