"""Long tables of the pages, folded: a line to click on, on the site and where Markdown is shown."""

import re

LONG, MUCH = 25, 3000  # lines, characters
TABLE = re.compile(r"^\|.*\|\n\|[ :|-]+\|(?P<lines>(?:\n\|.*\|)+)", re.M)
CELL = re.compile(r"(?<!\\)\|")


def fold(text, *, unfolded=False):
    """Return a text whose tables are folded, or can be (``unfolded``), if they are long."""

    def wrap(table):
        count = table["lines"].count("\n")
        if count < LONG and len(table[0]) < MUCH:
            return table[0]
        names = [name.strip() for name in CELL.split(table[0].partition("\n")[0].strip("|"))]
        head = f"{count} lines: {' · '.join(filter(None, names))}".replace("`", "").replace(
            "\\|", "|"
        )
        state = " open" if unfolded else ""
        return f"<details{state}>\n<summary>{head}</summary>\n\n{table[0]}\n\n</details>"

    return TABLE.sub(wrap, text)
