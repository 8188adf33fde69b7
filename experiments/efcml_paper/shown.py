"""What is shown of each experiment, in the order of the page."""

from efcml_paper import paper_figures as figures
from efcml_paper import paper_tables as tables

SHOWN = {
    "pa-trends": (tables.trend_tables, figures.draw_comparison),
    "ap-trends": (tables.trend_tables, figures.draw_comparison),
    "rule-counts": (tables.rule_tables, figures.draw_rules),
    "mediamill": (tables.large_tables, figures.draw_large),
    "al-labels": (tables.active_tables, figures.draw_budgets),
    "al-samples": (tables.active_tables, figures.draw_budgets),
    "al-instability": (tables.active_tables, figures.draw_criteria),
    "al-mediamill": (tables.large_tables, figures.draw_large),
    "speed": (tables.speed_tables, lambda experiment, findings: ()),
    "ablation": (tables.ablation_tables, figures.draw_ablation),
}


def tables_of(experiment, findings):
    """Return the tables of an experiment."""
    return SHOWN[experiment][0](experiment, findings)


def figures_of(experiment, findings):
    """Return the figures of an experiment by name."""
    drawn = SHOWN[experiment][1](experiment, findings)
    return {name: figure for name, figure in drawn if figure is not None}
