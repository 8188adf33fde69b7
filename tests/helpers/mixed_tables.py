"""An ordinary table: a date, words, yes and no, numbers, and columns that say nothing."""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas
import pytest

LABELS = "liked,skipped"


def mixed_text(n=600, seed=0):
    """Return the table: rock is liked at the weekend, fast songs are skipped by non-members."""
    rng = np.random.default_rng(seed)
    lines = ["song,played,genre,town,member,tempo,unit,note,liked,skipped"]
    moment = datetime(2024, 3, 1)
    for i in range(n):
        moment += timedelta(minutes=int(rng.integers(30, 900)))
        genre = ("rock", "pop", "jazz")[rng.choice(3, p=[0.5, 0.3, 0.2])]
        town = f"town {min(int(rng.zipf(1.6)), 40)}"
        member, tempo = rng.random() < 0.4, rng.normal(110.0, 20.0)
        liked = genre == "rock" and moment.weekday() >= 5
        skipped = tempo > 120.0 and not member
        fields = [
            f"s{i:05d}",
            f"{moment:%Y-%m-%d %H:%M}",
            genre,
            town,
            "yes" if member else "no",
            f"{tempo:.1f}",
            "bpm",
            "",
            str(int(liked)),
            str(int(skipped)),
        ]
        lines.append(",".join(fields))
    return "\n".join(lines) + "\n"


def write_mixed(folder, n=600, seed=0, name="plays.csv"):
    path = Path(folder) / name
    path.write_text(mixed_text(n, seed))
    return path


WRITTEN = {  # a messy table, by names of files
    "comma.csv": {},
    "semicolon.csv": {"sep": ";", "decimal": ","},
    "tab.tsv": {"sep": "\t", "decimal": ",", "encoding": "utf-8-sig"},
    "windows.csv": {"sep": ";", "decimal": ",", "encoding": "cp1252"},
    "two.txt": {"sep": "|", "encoding": "utf-16"},
}


def messy_frame(n):
    """Return names with commas, gaps, codes, umlauts, flags, dates; the last two are labels."""
    rng = np.random.default_rng(3)
    moments = pandas.Timestamp("2023-12-30") + pandas.to_timedelta(rng.integers(0, 9999, n), "h")
    columns = {
        "Preis, netto": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        "count": rng.integers(0, 2, n),
        "code": rng.choice(["1", "2", "3", "A, B"], n),
        "farbe": rng.choice(["red", "größe", 'say "hi"', None], n),
        "sold": rng.random(n) < 0.5,
        "when": moments,
        "very happy": rng.choice([0, 1, np.nan], n),
        "gut": rng.choice(["ja", "nein"], n),
    }
    return pandas.DataFrame(columns)


def refused(function, *arguments, **options):
    """Return the one line by which a function says why it refuses its arguments."""
    with pytest.raises(ValueError) as caught:
        function(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def features_of(ds):
    """Return the names of features, but for those that are kept for new words, which are 0."""
    names = tuple(name for name in ds.feature_names if not name.startswith("unused "))
    assert not ds.X[:, len(names) :].any()
    return names
