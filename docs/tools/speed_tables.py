"""Tables of docs/speed.md, from the records of experiments/benchmarks/."""

import json

WITHIN = 0.02  # of our partial accuracy: then a model is compared by its speed
OURS = "efcml"
RESULTS = "experiments/results/benchmarks"


def read_record(name, root):
    """Return what a benchmark has written, nothing before it ran."""
    path = root / RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def not_yet(name):
    """Return what stands in the place of a table that is still to be measured."""
    return (
        f"Not measured yet: `python experiments/benchmarks/{name}.py --out {RESULTS}/{name}.json`."
    )


def markdown(head, rows):
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def digits(value):
    """Return a number with three digits that count, never as a power of ten."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"


# -- one row ---------------------------------------------------------------------------------------


def rows_part(record):
    """Return the time of a scored and a learned row beside plain BLAS calls."""
    if record is None:
        return not_yet("update_phases")
    head = [
        "size",
        "p",
        "K",
        "rules",
        "active",
        "cases",
        "correlation",
        "predict, us",
        "update, us",
        "BLAS, us",
        "update to BLAS",
        "allowed",
        "holds",
    ]
    rows = []
    for one in record["sizes"]:
        rows.append(
            [
                one["size"],
                one["p"],
                one["K"],
                one["rules"],
                f"{one['active']:.0f}",
                one["cases"],
                "on" if one["correlation"] != "none" else "off",
                digits(one["predict_us"]),
                digits(one["update_us"]),
                digits(one["blas_update_us"]),
                f"{one['ratio']:.2f}",
                f"{one['allowed']:g}",
                "yes" if one["ratio"] <= one["allowed"] else "**no**",
            ]
        )
    return markdown(head, rows)


def phases_part(record):
    """Return what the phases of a learned row take, with the default and 20 rules."""
    if record is None:
        return not_yet("update_phases")
    shown = [
        one
        for one in record["sizes"]
        if one["rules"] == 20
        and "proximal steps" in one["phases_us"]
        and "cases" in one["phases_us"]
        and one["active"] > 10
    ]
    names = list(shown[0]["phases_us"])
    head = ["size", *(f"{name}, us" for name in names), "all, us"]
    return markdown(
        head,
        [
            [
                one["size"],
                *(digits(one["phases_us"][name]) for name in names),
                digits(one["update_us"]),
            ]
            for one in shown
        ],
    )


def streams_part(record):
    """Return the time on real streams beside the seconds that the paper gives."""
    if record is None:
        return not_yet("update_phases")
    head = [
        "stream",
        "p",
        "K",
        "rows",
        "rules",
        "cases",
        "update, ms",
        "with prediction, ms",
        "the paper, ms",
        "times faster",
    ]
    return markdown(
        head,
        [
            [
                one["set"],
                one["p"],
                one["K"],
                one["rows"],
                one["rules"],
                one["cases"],
                digits(one["update_ms"]),
                digits(one["predict_and_update_ms"]),
                f"{one['paper_ms']:g}",
                f"{one['times_faster']:.0f}",
            ]
            for one in record["streams"]
        ],
    )


def starts_part(record):
    """Return what a user waits for in a new process, today and in the version before."""
    if record is None:
        return not_yet("first_fit")
    versions = [record[name] for name in ("before", "now") if name in record]
    wanted = record["wanted"]

    def line(words, read, goal=None):
        values = [f"{read(version):.2f}" for version in versions]
        return [words, *values, "" if goal is None else f"{wanted[goal]:g}"]

    rows = [line("`from efcml import EFCMLClassifier`", lambda one: one["import"], "import")]
    rows += [
        line(
            "import, first `fit`, first `prequential`, nothing compiled",
            lambda one: one["cold"]["all"],
            "cold",
        ),
        line("the same, compiled before", lambda one: one["warm"]["all"]),
        line(
            "the example of the README in a notebook, nothing compiled",
            lambda one: one["notebook"]["cold"]["cpu"],
        ),
        line("the same, compiled before", lambda one: one["notebook"]["warm"]["cpu"]),
    ]
    for name in record["now"]["commands"]:
        words = f"`{name}`" if name.startswith("efcml") else name
        rows.append(line(words, lambda one, name=name: one["commands"][name], name))
    head = ["seconds of CPU", *(["before"] if "before" in record else []), "today", "wanted"]
    return markdown(head, rows)


# -- other libraries ------------------------------------------------------------------------------


def is_ours(name):
    """Tell whether a model is one of efcml."""
    return name.startswith(OURS)


def is_near(model, own=OURS):
    """Tell whether the partial accuracy of a model is within two points of ours, or above."""
    return model["pa"] >= model["ours"][own]["pa"] - WITHIN


def ratio(model, own=OURS):
    """Return how many times as long as ours a row takes, on the same rows."""
    return model["ms"] / model["ours"][own]["ms"]


def faster_settings(model):
    """Return our models that beat another one in speed and are as near to our default, best first.

    All on the rows that the other one has done.
    """
    floor = model["ours"][OURS]["pa"] - WITHIN
    found = [
        (one["pa"], name)
        for name, one in model["ours"].items()
        if one["ms"] < model["ms"] and one["pa"] >= floor and name != OURS
    ]
    return [name for _, name in sorted(found, reverse=True)]


def verdict(record):
    """Return whether efcml is ahead of every model near it on this set, in words."""
    models = record["models"]
    near = {name: one for name, one in models.items() if not is_ours(name) and is_near(one)}
    slower = [one for one in near.values() if ratio(one) > 1.0]
    if not near:
        return "No model of another library comes within two points of the partial accuracy."
    if len(slower) == len(near):
        nearest = min(slower, key=ratio)
        return (
            f"Ahead of all {len(near)} models within two points of the partial accuracy; "
            f"the quickest of them is {nearest['title']}, {digits(ratio(nearest))} times our time."
        )
    told = [tell_loss(one, models) for one in near.values() if one not in slower]
    return f"Ahead of {len(slower)} of {len(near)} models within two points. " + " ".join(told)


def tell_loss(model, models):
    """Return what can be said where another model is quicker."""
    own = model["ours"][OURS]
    text = (
        f"**Behind {model['title']}**: {digits(model['ms'])} ms at a partial accuracy of "
        f"{model['pa']:.3f} against {digits(own['ms'])} ms at {own['pa']:.3f}"
    )
    settings = [
        f"{models[name]['title']} ({digits(model['ours'][name]['ms'])} ms, "
        f"{model['ours'][name]['pa']:.3f})"
        for name in faster_settings(model)
    ]
    return (
        f"{text}; ahead of it: {', '.join(settings)}."
        if settings
        else f"{text}; no setting of ours that was measured is ahead of it."
    )


def tell_floor(record):
    """Return what partial accuracy costs nothing, and which models do not even have it.

    Models that did not do all rows are left out: on theirs it may be another.
    """
    floor, n = record["pa_of_no_label"], record["n_stream"]
    text = f"To answer no label in every row has a partial accuracy of {floor:.3f}"
    whole = [
        one
        for name, one in record["models"].items()
        if not is_ours(name) and is_near(one) and one["rows"] == n
    ]
    below = "; ".join(one["title"] for one in whole if one["pa"] <= floor)
    return f"{text}; not above it, and yet within two points: {below}." if below else f"{text}."


def is_ahead(name, record):
    """Tell whether a model of ours is quicker than every other one within two points of its own."""
    others = [one for other, one in record["models"].items() if not is_ours(other)]
    return all(ratio(one, name) > 1.0 for one in others if is_near(one, name))


def tell_always_ahead(sets):
    """Return which of our models are ahead on every set, each by its own partial accuracy."""
    first = next(iter(sets.values()))["models"]
    titles = [
        one["title"]
        for name, one in first.items()
        if is_ours(name)
        and all(name in found["models"] for found in sets.values())
        and all(is_ahead(name, found) for found in sets.values())
    ]
    return (
        "Ahead on all of these sets, of every model of another library within two points of "
        f"their own partial accuracy or above it: {'; '.join(titles) or 'none of ours'}."
    )


def peer_rows(record):
    """Return the lines of the table of one set, quickest first."""
    rows = []
    for name, model in sorted(record["models"].items(), key=lambda item: item[1]["ms"]):
        parts = ", ".join(f"{count} {what}" for what, count in model["made_of"].items())
        title = f"*{model['title']}*" if is_ours(name) else model["title"]
        title = f"**{model['title']}**" if name == OURS else title
        near = "" if is_ours(name) else "yes" if is_near(model) else "no"
        rows.append(
            [
                title,
                f"{model['pa']:.3f}",
                f"{model['ap']:.3f}",
                parts,
                model["rows"],
                digits(model["ms"]),
                digits(ratio(model)),
                near,
            ]
        )
    return rows


def peers_part(record):
    """Return the section on all sets."""
    if record is None:
        return not_yet("peers")
    head = ["model", "PA", "AP", "made of", "rows", "ms per row", "times ours", "within .02 of PA"]
    parts = []
    for name, found in record["sets"].items():
        lines = [
            f"### {name}: {found['p']} features, {found['K']} labels, {found['n_initial']} rows "
            f"learned first, {found['n_stream']} streamed",
            f"{verdict(found)} {tell_floor(found)}",
            markdown(head, peer_rows(found)),
        ]
        if found["missing"]:
            lines.append(f"Left out: {'; '.join(tell_missing(found['missing']))}.")
        parts += lines
    versions = sorted(
        {
            f"{library} {version}"
            for found in record["sets"].values()
            for model in found["models"].values()
            for library, version in model["versions"].items()
            if library not in ("python", "numpy")
        }
    )
    parts.append(tell_always_ahead(record["sets"]))
    parts.append(f"Versions: {', '.join(versions)}; {record['machine']}, one core.")
    return "\n\n".join(parts)


def tell_missing(missing):
    """Return which models did not run, and why, in a few words each."""
    return [f"`{name}` ({reason.rstrip('.')[:90]})" for name, reason in missing.items()]


# -- growth and memory ----------------------------------------------------------------------------


def holds(line):
    """Tell whether the cost grows no faster than it may."""
    return line["slope"] <= line["allowed"] + line["tolerance"]


def scaling_part(record):
    """Return the exponents."""
    if record is None:
        return not_yet("scaling")
    head = [
        "cost of a learned row over",
        "from",
        "to",
        "at",
        "cases",
        "ms per row, from",
        "to",
        "exponent",
        "allowed",
        "holds",
    ]
    rows = []
    for line in record["lines"]:
        sizes = [
            f"{name} = {line['others'][name]}" for name in ("p", "K") if name != line["changed"]
        ]
        sizes += [f"{spread(line['rules'])} rules", f"{spread(line['active'])} active"]
        rows.append(
            [
                line["line"],
                line["sizes"][0],
                line["sizes"][-1],
                ", ".join(sizes),
                line["cases"],
                digits(line["ms"][0]),
                digits(line["ms"][-1]),
                f"{line['slope']:.2f} ± {line['error']:.2f}",
                f"{line['allowed']:g} + {line['tolerance']:g}",
                "yes" if holds(line) else "**no**",
            ]
        )
    return markdown(head, rows)


def spread(values):
    """Return one number, or the first and the last."""
    return f"{values[0]}" if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def memory_part(record):
    """Return predicted and measured memory."""
    if record is None:
        return not_yet("memory")
    head = [
        "size",
        "p",
        "K",
        "rules",
        "room for",
        "MB predicted",
        "counted",
        "resident",
        "holds",
        "MB of the rules in use",
    ]
    rows = []
    for one in record["sizes"]:
        off = [
            one[name] / one["predicted_bytes"] - 1.0 for name in ("counted_bytes", "resident_bytes")
        ]
        good = max(map(abs, off)) <= record["within"]
        missing = ", labels missing" if one["groups"] > 1 else ""
        rows.append(
            [
                one["size"] + missing,
                one["p"],
                one["K"],
                one["rules"],
                one["room"],
                digits(one["predicted_bytes"] / 1e6),
                *(f"{share:+.1%}" for share in off),
                "yes" if good else "**no**",
                digits(one["used_bytes"] / 1e6),
            ]
        )
    return markdown(head, rows)


def active_part(root):
    """Return what a row under a budget takes, beside one that is learned, for docs/active.md."""
    record = read_record("active_speed", root)
    if record is None:
        return not_yet("active_speed")
    asked = f"asked for {record['budget']:.0%} of the"
    return markdown(
        [
            *("size", "features", "labels", "CPU of a learned row, ms"),
            *(f"{asked} samples, ms", "times the learned one", f"{asked} labels, times"),
        ],
        [
            [
                one["size"],
                one["p"],
                one["K"],
                digits(one["full_ms"]),
                digits(one["active_ms"]),
                f"{one['ratio']:.2f}",
                f"{one['ratio_labels']:.1f}",
            ]
            for one in record["cases"]
        ],
    )


PARTS = {  # by name: the benchmark whose record it is made of, and how
    "rows": ("update_phases", rows_part),
    "phases": ("update_phases", phases_part),
    "streams": ("update_phases", streams_part),
    "starts": ("first_fit", starts_part),
    "peers": ("peers", peers_part),
    "scaling": ("scaling", scaling_part),
    "memory": ("memory", memory_part),
}


def speed_part(name, root):
    """Return one part of the page from its committed record."""
    benchmark, make = PARTS[name]
    return make(read_record(benchmark, root))
