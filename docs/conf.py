"""The site: Markdown pages by MyST, docstrings by autodoc, nothing from the network.

The pages are plain Markdown and read as well without the site. What Sphinx needs beside that is
added while a page is read: tables of contents, made of the links of the index pages, and the files
of the top folder.
"""

import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))

from efcml import __version__  # noqa: E402

project = "efcml"
author = "the efcml developers"
project_copyright = author
release = __version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
default_role = "code"  # single backticks in docstrings

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the numpy docstrings say it
napoleon_google_docstring = False
napoleon_use_ivar = True  # attributes as a list
# Types in docstrings are words for readers; only our own names must lead somewhere.
nitpick_ignore_regex = [("py:.*", r"(?!efcml\.).*")]

html_theme = "furo"
html_title = f"efcml {release}"
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_theme_options = {"top_of_page_buttons": []}

# Pages of the site that are files of the top folder.
TOP_FILES = {"contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}
LINK = re.compile(r"\]\((?:\./)?([\w/-]+)\.md(?:#[\w-]*)?\)")


def complete_page(app, name, content):
    """Give a page what the site needs and plain Markdown does not have."""
    text = content[0]
    if name in TOP_FILES:
        path = DOCS.parent / TOP_FILES[name]
        app.env.note_dependency(path)
        text = path.read_text(encoding="utf-8").replace("](docs/", "](")
    for page, file in (*TOP_FILES.items(), ("index", "README.md")):
        text = text.replace(f"](../{file})", f"]({page}.md)")
    if name.rpartition("/")[2] == "index":
        folder = name.rpartition("/")[0]
        text += "\n".join(["", *contents(text, pages_of(folder))])
    content[0] = text


def pages_of(folder):
    """Return the names of the pages that the index of a folder has to list."""
    pages = {path.stem for path in (DOCS / folder).glob("*.md")} - {"index"}
    if not folder:
        pages |= {f"{path.parent.name}/index" for path in DOCS.glob("*/index.md")}
    return pages


def contents(text, pages):
    """Yield tables of contents: one for each heading of an index page, with the pages it links.

    Pages that are linked nowhere come last.
    """
    left = set(pages)
    for section in re.split(r"^## ", text, flags=re.M):
        listed = [page for page in dict.fromkeys(LINK.findall(section)) if page in left]
        left -= set(listed)
        yield from table(section.partition("\n")[0].strip("# "), listed)
    yield from table("More", sorted(left))


def table(caption, pages):
    """Yield the lines of one table of contents."""
    if pages:
        yield from ("", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```")


def skip_routing(app, what, name, member, skip, options):
    """Leave out the methods that scikit-learn adds to every estimator."""
    return skip or bool(re.fullmatch(r"set_\w+_request|get_metadata_routing", name))


def setup(app):
    """Tell Sphinx when to call which function."""
    app.connect("source-read", complete_page)
    app.connect("autodoc-skip-member", skip_routing)
    return {"parallel_read_safe": True}
