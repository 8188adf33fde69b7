"""The site: Markdown pages by MyST, docstrings by autodoc, nothing from the network.

The pages are plain Markdown and read as well without the site. What Sphinx needs beside that is
added while a page is read: tables of contents, made of the links of the index pages, and the files
of the top folder. Before that, the pages of the API reference and copies of the notebooks are put
where Sphinx looks for them.
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
source_suffix = {".md": "markdown", ".rst": "restructuredtext", ".ipynb": "markdown"}
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

# Pages of the site that are files of the top folder.
TOP_FILES = {"contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}
LINK = re.compile(r"\]\((?:\./)?([\w/.-]+)\.(?:md|rst|ipynb)(?:#[\w-]*)?\)")
PAIR = re.compile(r"(?<=[\d*]) ([/±]) (?=[\d*.])")  # two numbers of a cell
API, NOTEBOOKS = DOCS / "api", DOCS / "notebooks"  # made while the site is built


def complete_page(app, name, content):
    """Give a page what the site needs and plain Markdown does not have."""
    text = content[0]
    if app.env.doc2path(name).suffix == ".ipynb":
        text = notebook_pages.to_markdown(text)
    if name in TOP_FILES:
        path = DOCS.parent / TOP_FILES[name]
        app.env.note_dependency(path)
        text = path.read_text(encoding="utf-8").replace("](docs/", "](")
    for page, file in (*TOP_FILES.items(), ("index", "README.md")):
        text = text.replace(f"](../{file})", f"]({page}.md)")
    up = "../" * name.count("/")
    text = text.replace(f"](../{up}notebooks/", f"]({up}notebooks/")
    if name == "api":
        text = api_pages.link_pages(text, API)
    if name == "notebooks":
        for path in NOTEBOOKS.glob("*.ipynb"):
            app.env.note_dependency(path)
        text = notebook_pages.add_pictures(text, NOTEBOOKS)
    lines = (keep_pairs(line) if line.startswith("|") else line for line in text.splitlines())
    content[0] = "\n".join([*lines, "", *contents(text, pages_below(name))])


def keep_pairs(line):
    """Return a line of a table in which pairs of numbers are not broken in two."""
    return PAIR.sub("\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", line)


def put_pages(app):
    """Write the pages that are made of something else."""
    keep(API, api_pages.make_pages((DOCS / "api.md").read_text(encoding="utf-8")))
    notebooks = (DOCS.parent / "notebooks").glob("*.ipynb")
    keep(NOTEBOOKS, {path.name: path.read_text(encoding="utf-8") for path in notebooks})


def keep(folder, files):
    """Let a folder hold these files and no others; those that have not changed are left alone."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.is_file() and path.name not in files:
            path.unlink()
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def pages_below(name):
    """Return the names of the pages that a page has to list; none if it is no index."""
    if name in ("api", "notebooks"):
        return {f"{name}/{path.stem}" for path in (DOCS / name).iterdir()}
    folder, _, last = name.rpartition("/")
    if last != "index":
        return set()
    pages = {path.stem for path in (DOCS / folder).glob("*.md")} - {"index"}
    if not folder:
        pages |= {f"{path.parent.name}/index" for path in DOCS.glob("*/index.md")}
    return pages


def contents(text, pages):
    """Yield tables of contents: one for each part of an index page, with the pages it links.

    What stands above the first heading counts if there is no other. Pages that are linked nowhere
    come last.
    """
    left = set(pages)
    above, *parts = re.split(r"^## ", text, flags=re.M)
    for section in parts or [above]:
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
