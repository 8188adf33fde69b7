"""``efcml reproduce`` from the first run to the last figure."""

from pathlib import Path

from efcml.plots import save_figure
from efcml.support.files import make_folder, whole_files
from efcml_paper.claims import CLAIMS, N_CHECKS
from efcml_paper.findings import Findings
from efcml_paper.paper_tables import as_markdown
from efcml_paper.plan import EXPERIMENTS, IDS, Plan, compared, large
from efcml_paper.run_records import Records
from efcml_paper.runs import load_data
from efcml_paper.scale import SETS
from efcml_paper.shown import figures_of, tables_of
from efcml_paper.tuned import read_choices, tune_sets
from efcml_paper.verdicts import WAYS, count_verdicts, judge_all, needed, verdict_tables
from efcml_paper.work import run_missing

NO_VERDICTS = "a quick run gives no verdicts: its streams are cut"


class Session:
    """One call: where records, tables and figures go, and who does the work.

    Parameters
    ----------
    folder : path
        Gets the folders records, tables, figures and checkpoints.
    scale : Scale
    workers : dict
        Where runs are done: jobs, processes of this machine, or dask, a cluster.
    say : callable
        Gets lines of text for people.
    """

    def __init__(self, folder, scale, workers=None, say=print):
        self.folder, self.scale, self.say = Path(folder), scale, say
        self.workers = workers or {}
        for name in ("records", "tables", "figures"):
            make_folder(self.folder / name)
        self.records = Records(self.folder / "records" / "runs.jsonl")

    def run(self, ids):
        """Do all runs; after each experiment write and print its tables, verdicts and figures."""
        for name in dict.fromkeys(name for key in ids for name in self.plan().sets(key)):
            load_data(name)  # a set that is missing is said before any work
        for experiment in ids:
            self.run_one(experiment)
            self.report(experiment, self.findings())
        finds = (Plan.searches, Plan.runs, self.runs_alone)
        wanted = [run for name in IDS for find in finds for run in find(self.plan(), name)]
        self.records.drop_old({run.key for run in wanted})
        if self.scale.judged:
            self.write_verdicts(self.findings())
        else:
            self.say(f"\n{NO_VERDICTS}")

    def run_one(self, experiment):
        """Do the runs of one experiment: those that choose parameters, then all others."""
        self.say(f"\n== {experiment}")
        if EXPERIMENTS[experiment][1] in (compared, large):
            sets, folder = self.plan().sets(experiment), self.folder / "records"
            tune_sets(sets, self.scale, folder, self.workers, say=self.say)
        for find in (Plan.searches, Plan.runs, self.runs_alone):
            runs = find(self.plan(), experiment)
            run_missing(runs, self.records, self.workers, say=self.say)

    def runs_alone(self, plan, experiment):
        """Return the runs of rules alone that verdicts need; none where there are no verdicts."""
        lines, runs = plan.rules_alone().lines(experiment), []
        for claim in claims_of(experiment) if self.scale.judged else ():
            for dataset in SETS if claim.test == "most" else claim.sets:
                known, names = lines.get(dataset, {}), [n + claim.start for n in claim.lines]
                runs += [run for name in names if name in known for run in known[name].runs]
        return runs

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
        claims = claims_of(experiment)
        if claims and self.scale.judged:
            judged = judge_all(claims, findings)
            tables += verdict_tables(judged)
            self.say_verdicts(judged)
        self.write_tables(experiment, tables)
        with whole_files(self.folder / "figures") as place:
            for name, figure in figures_of(experiment, findings).items():
                save_figure(figure, place / name)

    def say_verdicts(self, judged):
        """Print verdicts with the numbers behind them."""
        self.say("")
        for pair in judged:
            claim = pair[0].claim
            self.say(f"{claim.words} (holds if: {needed(claim)})")
            for way, verdict in zip(WAYS, pair, strict=True):
                self.say(f"  {way}: {verdict.told}")
                for name, outcome in verdict.outcomes.items():
                    self.say(f"    {name}: {', '.join(outcome)}")

    def write_verdicts(self, findings):
        """Write the verdicts on all claims that have been run, and count them."""
        judged = judge_all(CLAIMS, findings)
        self.say(f"\n{count_verdicts(judged)}")
        self.write_tables("verdicts", verdict_tables([one for one in judged if one[0].outcomes]))

    def write_tables(self, name, tables):
        """Write tables into a file."""
        with whole_files(self.folder / "tables") as place:
            (place / f"{name}.md").write_text(as_markdown(tables) + "\n", encoding="utf-8")


def claims_of(experiment):
    """Return the claims on an experiment."""
    return [claim for claim in CLAIMS if claim.experiment == experiment]
