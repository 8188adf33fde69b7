"""Notebooks as pages of the site, with the outputs that they were stored with. Nothing is run."""

import json

PNG, HTML, TEXT = "image/png", "text/html", "text/plain"


def to_markdown(text):
    """Return a notebook as Markdown."""
    return "\n\n".join(_blocks(json.loads(text)))


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
        yield f"![Picture drawn by the code above](data:{PNG};base64,{data[PNG].strip()})"
    elif HTML in data:
        yield f'`````{{raw}} html\n<div class="output">\n{data[HTML]}\n</div>\n`````'
    else:
        printed = "".join(output.get("text", ())) or data.get(TEXT, "")
        yield f"`````{{code-block}} text\n:class: output\n\n{printed.rstrip()}\n`````"
