"""Pages of the API reference, one for every name that docs/api.md lists.

That page is the declaration: a line of its lists has a name, a sentence, and the members, if not
all that a class has itself are meant. The pages are written while the site is built.
"""

import inspect
import re
from pkgutil import resolve_name
from typing import NamedTuple

LINE = re.compile(
    r"^- `(?P<name>efcml[\w.]*)`: (?P<words>.*?)(?: Members: (?P<members>.*)\.)?$", re.M
)


class Entry(NamedTuple):
    """A line of the list."""

    name: str
    words: str
    members: str
    thing: object

    @property
    def kind(self):
        """Return which directive documents it."""
        for kind in ("module", "class", "function"):
            if getattr(inspect, f"is{kind}")(self.thing):
                return kind
        return "data"


def make_pages(text):
    """Return the pages of the names listed in a text, by file; data are on that of their module."""
    lines = (line.groupdict("") for line in LINE.finditer(text))
    entries = [Entry(**line, thing=resolve_name(line["name"])) for line in lines]
    return {
        f"{entry.name}.rst": page_of(entry, entries) for entry in entries if entry.kind != "data"
    }


def page_of(entry, entries):
    """Return the page of an entry; a module leaves out what has a page of its own."""
    title = entry.name if entry.kind == "module" else entry.name.rpartition(".")[2]
    lines = [title, "=" * len(title), "", f".. auto{entry.kind}:: {entry.name}"]
    if entry.kind in ("class", "module"):
        lines.append(f"   :members: {entry.members.replace('`', '')}")
    if entry.kind == "module":
        things = [other.thing for other in entries]
        names = vars(entry.thing).get("__all__", ())
        elsewhere = [name for name in names if getattr(entry.thing, name) in things]
        lines.append(f"   :exclude-members: {', '.join(elsewhere)}")
        for other in entries:
            module, _, name = other.name.rpartition(".")
            if other.kind == "data" and module == entry.name:
                words = other.words[0].upper() + other.words[1:]
                lines += ["", f".. py:data:: {name}", "", f"   {words}"]
    return "\n".join([*lines, ""])


def link_pages(text, folder):
    """Return the list with links to the pages in ``folder``, without members."""

    def link(line):
        name = line["name"]
        page = name if (folder / f"{name}.rst").exists() else name.rpartition(".")[0]
        return f"- [`{name}`]({folder.name}/{page}.rst): {line['words']}"

    return LINE.sub(link, text)
