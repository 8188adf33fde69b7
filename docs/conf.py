"""The site: Markdown pages by MyST, docstrings by autodoc, nothing from the network.

The pages are plain Markdown and read as well without the site. What Sphinx needs beside that is
added while a page is read: tables of contents, made of the links of the front page and of the API
reference. Before that, pages are made of docstrings, notebooks and files of the top folder.
"""

import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent), str(DOCS / "tools")]

import api_pages  # noqa: E402
import notebook_pages  # noqa: E402
from sphinx.addnodes import pending_xref  # noqa: E402

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
html_css_files = ["site.css"]
html_theme_options = {"top_of_page_buttons": []}

MADE = DOCS / "made"  # pages that are made while the site is built
LINK = re.compile(r"\]\(([\w/.-]+)\.(?:md|rst)(?:#[\w-]*)?\)")
TO_MADE = re.compile(r"\]\(\.\./(?:notebooks/)?(\w+)\.(?:md|ipynb)")
PAIR = re.compile(r"(?<=[\d*]) ([/±]) (?=[\d*.])")  # two numbers of a cell


def complete_page(app, name, content):
    """Give a page what the site needs and plain Markdown does not have."""
    text = content[0]
    if "/" not in name:
        text = TO_MADE.sub(lambda link: f"](made/{link[1].lower()}.md", text)
    if name == "api":
        text = api_pages.link_pages(text, MADE)
    lines = (keep_pairs(line) if line.startswith("|") else line for line in text.splitlines())
    content[0] = "\n".join([*lines, "", *contents(text, pages_below(name))])


def keep_pairs(line):
    """Return a line of a table in which pairs of numbers are not broken in two."""
    return PAIR.sub("\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", line)


def put_pages(app):
    """Write the pages that are made of something else; those that have not changed stay."""
    pages = api_pages.make_pages((DOCS / "api.md").read_text(encoding="utf-8"))
    top = DOCS.parent
    for path in (top / "CONTRIBUTING.md", top / "CHANGELOG.md", *top.glob("notebooks/*.ipynb")):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            text = notebook_pages.to_markdown(text)
        text = re.sub(r"\]\((\.\./)?docs/", "](../", text).replace(".ipynb)", ".md)")
        pages[f"{path.stem.lower()}.md"] = text
    MADE.mkdir(exist_ok=True)
    for path in MADE.iterdir():
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = MADE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def pages_below(name):
    """Return the names of the pages that a page has to list; none if it is no index."""
    if name == "api":
        return {f"made/{path.stem}" for path in MADE.glob("*.rst")}
    if name == "index":
        pages = {*DOCS.glob("*.md"), *MADE.glob("*.md")} - {DOCS / "index.md"}
        return {path.relative_to(DOCS).with_suffix("").as_posix() for path in pages}
    return set()


def contents(text, pages):
    """Yield tables of contents: one for each part of an index page, with the pages it links.

    Pages that are linked nowhere come last.
    """
    left = set(pages)
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        listed = [page for page in dict.fromkeys(LINK.findall(section)) if page in left]
        left -= set(listed)
        yield from table(section.partition("\n")[0].strip("# "), listed)
    yield from table("More", sorted(left))


def table(caption, pages):
    """Yield the lines of one table of contents."""
    if pages:
        yield from ("", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```")


def skip_added(app, what, name, member, skip, options):
    """Leave out what scikit-learn adds to every estimator, and the fields of named tuples."""
    added = re.fullmatch(r"set_\w+_request|get_metadata_routing", name)
    return skip or bool(added) or str(member.__doc__).startswith("Alias for field number")


def drop_false_links(app, doctree):
    """Take links from words that stand for types: what begins small is no class of ours."""
    for link in list(doctree.findall(pending_xref)):
        word = link["reftarget"]
        if link.get("reftype") == "class" and word[:1].islower() and not word.startswith("efcml."):
            link.replace_self(link.children)


def setup(app):
    """Tell Sphinx when to call which function."""
    app.connect("builder-inited", put_pages)
    app.connect("source-read", complete_page)
    app.connect("autodoc-skip-member", skip_added)
    app.connect("doctree-read", drop_false_links)
    return {"parallel_read_safe": True}
