"""``efcml reproduce`` from the first run to the last figure."""

from pathlib import Path

from efcml.plots import save_figure
from efcml.support.folders import make_folder, whole_files
from efcml_paper.claims import CLAIMS, N_CHECKS
from efcml_paper.findings import Findings
from efcml_paper.judging import (
    ALONE,
    NO_VERDICTS,
    WITH_CASES,
    count_verdicts,
    judge_all,
    verdict_tables,
)
from efcml_paper.paper_figures import figures_of
from efcml_paper.paper_tables import tables_of
from efcml_paper.plan import IDS, SETS_OF, TUNED_EXPERIMENTS, Plan
from efcml_paper.run_records import Records
from efcml_paper.runs import load_rows
from efcml_paper.scale import SETS
from efcml_paper.tuned import read_choices, tune_sets
from efcml_paper.verdicts import needed
from efcml_paper.work import Workers, run_missing

TUNED_IDS = (*TUNED_EXPERIMENTS, "mediamill")


class Session:
    """One call: where records, tables and figures go, and who does the work.

    Parameters
    ----------
    folder : path
        Gets the folders records, tables, figures and checkpoints.
    scale : Scale
    workers : Workers
    say : callable
        Gets lines of text for people.
    """

    def __init__(self, folder, scale, workers=None, say=print):
        self.folder, self.scale, self.say = Path(folder), scale, say
        self.workers = workers or Workers()
        for name in ("records", "tables", "figures"):
            make_folder(self.folder / name)
        self.records = Records(self.folder / "records" / "runs.jsonl")

    def run(self, ids):
        """Do all runs; after each experiment write and print its tables, verdicts and figures."""
        for name in dict.fromkeys(name for key in ids for name in self.sets_of(key)):
            load_rows(name)  # a set that is missing is said before any work
        for experiment in ids:
            self.run_one(experiment)
            self.report(experiment, self.findings())
        self.drop_old()
        if self.scale.judged:
            self.write_verdicts(self.findings())
        else:
            self.say(f"\n{NO_VERDICTS}")

    def drop_old(self):
        """Forget records that were left behind by an earlier method."""
        plan = self.plan()
        runs = [run for name in IDS for run in plan.runs(name) + plan.searches(name)]
        runs += [run for name in IDS for run in self.runs_alone(plan, name)]
        self.records.drop_old({run.key for run in runs})

    def sets_of(self, experiment):
        """Return the data sets of an experiment."""
        return self.scale.speed_sets if experiment == "speed" else SETS_OF[experiment]

    def run_one(self, experiment):
        """Do the runs of one experiment: those that choose parameters, then all others."""
        self.say(f"\n== {experiment}")
        if experiment in TUNED_IDS:
            tune_sets(
                SETS_OF[experiment], self.scale, self.folder / "records", self.workers, say=self.say
            )
        for find in (Plan.searches, Plan.runs, self.runs_alone):
            runs = find(self.plan(), experiment)
            run_missing(runs, self.records, self.workers, say=self.say)

    def runs_alone(self, plan, experiment):
        """Return the runs of rules alone that verdicts need; none where there are no verdicts."""
        return runs_of_claims(plan.rules_alone(), experiment) if self.scale.judged else []

    def plan(self):
        """Return the plan with what is known now."""
        return Plan(self.scale, read_choices(self.folder / "records"), self.records)

    def findings(self):
        """Return what the records say."""
        return Findings(self.plan(), N_CHECKS)

    def report(self, experiment, findings):
        """Write tables and figures of an experiment and print its tables and verdicts."""
        tables = tables_of(experiment, findings)
        self.say("")
        self.say("\n\n".join(table.to_text() for table in tables))
        claims = [claim for claim in CLAIMS if claim.experiment == experiment]
        if claims and self.scale.judged:
            judged = judge_all(claims, findings)
            tables += verdict_tables(judged)
            self.say_verdicts(judged)
        with whole_files(self.folder / "tables") as place:
            text = "\n\n".join(table.to_markdown() for table in tables)
            (place / f"{experiment}.md").write_text(text + "\n", encoding="utf-8")
        with whole_files(self.folder / "figures") as place:
            for name, figure in figures_of(experiment, findings).items():
                save_figure(figure, place / name)

    def say_verdicts(self, judged):
        """Print verdicts with the numbers behind them."""
        self.say("")
        for one in judged:
            self.say(f"{one.claim.words} (holds if: {needed(one.claim)})")
            for way, verdict in ((WITH_CASES, one.cases), (ALONE, one.alone)):
                self.say(f"  {way}: {verdict.told}")
                for outcome in verdict.outcomes:
                    self.say(f"    {outcome.where}: {outcome.answer}, {outcome.numbers}")

    def write_verdicts(self, findings):
        """Write the verdicts on all claims that have been run, and count them."""
        judged = judge_all(CLAIMS, findings)
        self.say(f"\n{count_verdicts(judged)}")
        known = [one for one in judged if one.cases.outcomes]
        text = "\n\n".join(table.to_markdown() for table in verdict_tables(known))
        with whole_files(self.folder / "tables") as place:
            (place / "verdicts.md").write_text(text + "\n", encoding="utf-8")


def runs_of_claims(plan, experiment):
    """Return the runs of all lines that claims on an experiment name, each once."""
    lines, runs = plan.lines(experiment), []
    for claim in CLAIMS:
        if claim.experiment == experiment:
            for dataset in SETS if claim.test == "most" else claim.sets:
                names = (name + claim.start for name in claim.lines)
                found = (lines.get(dataset, {}).get(name) for name in names)
                runs += [run for line in found if line is not None for run in line.runs]
    return list(dict.fromkeys(runs))
