"""Notebooks as pages of the site, with the outputs that they were stored with. Nothing is run."""

import json
import re

PNG, HTML, TEXT = "image/png", "text/html", "text/plain"
LISTED = re.compile(
    r"^- (?P<link>\[[^]]+\]\(notebooks/(?P<file>\w+\.ipynb)\)): (?P<words>.*)$", re.M
)


def to_markdown(text):
    """Return a notebook as Markdown; links to pages lead from the folder of the notebooks."""
    return "\n\n".join(_blocks(json.loads(text))).replace("](../docs/", "](../")


def _blocks(notebook):
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield source
        elif cell["cell_type"] == "code":
            yield f"```python\n{source}\n```"
            for output in cell["outputs"]:
                yield from _shown(output)


def _shown(output):
    """Yield what Jupyter shows of an output; what stands beside a picture is its name only."""
    data = {kind: "".join(lines) for kind, lines in output.get("data", {}).items()}
    if PNG in data:
        yield _picture(data[PNG], "Picture drawn by the code above")
    elif HTML in data:
        yield f'`````{{raw}} html\n<div class="output">\n{data[HTML]}\n</div>\n`````'
    else:
        printed = "".join(output.get("text", ())) or data.get(TEXT, "")
        yield f"`````{{code-block}} text\n:class: output\n\n{printed.rstrip()}\n`````"


def _picture(data, words):
    return f"![{words}](data:{PNG};base64,{data.strip()})"


def first_picture(text, words):
    """Return the first picture of a notebook, as Markdown."""
    for cell in json.loads(text)["cells"]:
        for output in cell.get("outputs", ()):
            if PNG in output.get("data", {}):
                return _picture("".join(output["data"][PNG]), words)
    raise ValueError("a notebook without pictures")


def add_pictures(text, folder):
    """Return a list of notebooks with the first picture of each one above its line."""

    def show(line):
        notebook = (folder / line["file"]).read_text(encoding="utf-8")
        picture = first_picture(notebook, "")
        return f"- [{picture}](notebooks/{line['file']})\n\n  {line['link']}: {line['words']}"

    return LISTED.sub(show, text)
