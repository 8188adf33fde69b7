"""The site of the documentation: it builds without a warning, and nothing on it leads nowhere."""

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from helpers.browser import open_page

import efcml

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MODULES = ("datasets", "measures", "plots", "report", "rivals", "saving", "studies", "tuning")
# One page of every kind, and those with the widest tables.
LOOKED_AT = (
    "index.html",
    "notebooks.html",
    "notebooks/01_quick_start.html",
    "api.html",
    "api/efcml.EFCMLClassifier.html",
    "pictures.html",
    "parameters.html",
    "notation.html",
    "speed.html",
    "results/paper.html",
)

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """Links, ids and pictures of one page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.sources, self.text = [], set(), [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids.add(found.get("id"))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("img", "script") and "src" in found:
            self.sources.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon"):
            self.sources.append(found["href"])

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html"]
    result = subprocess.run(
        [*command, "-d", str(folder / "trees"), str(DOCS), str(folder / "html")],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"NO_COLOR": "1"},
    )
    assert result.returncode == 0, result.stderr
    html = folder / "html"
    pages = {str(path.relative_to(html)): Page(path) for path in html.rglob("*.html")}
    return html, {name: page for name, page in pages.items() if "_static" not in name}


def target_of(name, link):
    """Return the file and the id that a link of a page leads to; None if it leaves the site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    path = os.path.normpath(Path(name).parent / unquote(parts.path)) if parts.path else name
    return path, unquote(parts.fragment)


def test_every_page_is_built_and_reached(site):
    _, pages = site
    sources = {str(path.relative_to(DOCS).with_suffix(".html")) for path in DOCS.rglob("*.md")}
    sources |= {f"notebooks/{path.stem}.html" for path in (ROOT / "notebooks").glob("*.ipynb")}
    sources |= {f"api/efcml.{name}.html" for name in efcml.__all__}
    assert sources <= set(pages)
    reached, waiting = set(), ["index.html"]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in pages:
            continue
        reached.add(name)
        targets = (target_of(name, link) for link in pages[name].links)
        waiting += [target[0] for target in targets if target]
    assert sources <= reached


def test_pages_that_no_index_links_come_last():
    spec = importlib.util.spec_from_file_location("conf", DOCS / "conf.py")
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    text = "# T\n\n## One\n[a](a.md), [b](b/index.md), [a](a.md#x)\n\n## Two\n[c](c.md) [z](z.md)\n"
    lines = list(conf.contents(text, {"a", "b/index", "c", "new"}))
    captions = [line.partition(": ")[2] for line in lines if "caption" in line]
    assert captions == ["One", "Two", "More"]
    assert [line for line in lines if line[:1].isalpha()] == ["a", "b/index", "c", "new"]


def test_links_lead_somewhere(site):
    html, pages = site
    for name, page in pages.items():
        for link in page.links:
            target = target_of(name, link)
            if target is None:
                assert urlsplit(link).scheme in ("https", "mailto"), (name, link)
                continue
            path, fragment = target
            assert (html / path).is_file(), (name, link)
            if fragment and path in pages:
                assert fragment in pages[path].ids, (name, link)


def test_pictures_and_styles_are_there_and_nothing_comes_from_the_network(site):
    html, pages = site
    found = 0
    for name, page in pages.items():
        for source in page.sources:
            target = target_of(name, source)
            if source.startswith("data:image/png;base64,"):
                continue
            assert target, (name, source[:100])
            assert (html / target[0]).is_file(), (name, source)
            found += source.endswith((".svg", ".png"))
    assert found > 5
    for style in html.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style


def test_no_path_of_a_machine(site):
    html, _ = site
    for path in html.rglob("*"):
        if path.suffix in (".html", ".js", ".txt", ".svg"):
            text = path.read_text(encoding="utf-8")
            for folder in (ROOT, Path.home(), html):
                if len(folder.parts) > 2:  # "/root" alone may be any word
                    assert str(folder) not in text, (path, folder)


def test_files_of_the_top_folder_are_pages(site):
    _, pages = site
    assert "Rules of kernels" in pages["contributing.html"].text
    assert efcml.__version__ in pages["changelog.html"].text
    assert "contributing.html" in pages["index.html"].links


def test_reference_has_every_public_name(site):
    ids = set().union(*(page.ids for name, page in site[1].items() if name.startswith("api/")))
    for name in efcml.__all__:
        assert {f"efcml.{name}", f"module-efcml.{name}"} & ids, name
    for module in MODULES:
        for name in importlib.import_module(f"efcml.{module}").__all__:
            assert {f"efcml.{module}.{name}", f"efcml.{name}"} & ids, (module, name)
    assert "efcml.compat.river.RiverEFCML" in ids
    for method in ("fit", "partial_fit", "predict", "explain", "paper"):
        assert f"efcml.EFCMLClassifier.{method}" in ids
    study = site[1]["api/efcml.Study.html"].links  # "value" is a word there, no `Running.value`
    assert any("#efcml.datasets.Dataset" in link for link in study)
    assert not any("#efcml.measures" in link for link in study)


def test_notebooks_are_shown_with_what_they_printed(site):
    _, pages = site
    gallery = [source for source in pages["notebooks.html"].sources if source.startswith("data:")]
    paths = sorted((ROOT / "notebooks").glob("*.ipynb"))
    for path, first in zip(paths, gallery, strict=True):
        page = pages[f"notebooks/{path.stem}.html"]
        outputs = [
            output
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
            for output in cell.get("outputs", ())
        ]
        pictures = [
            f"data:image/png;base64,{''.join(output['data']['image/png']).strip()}"
            for output in outputs
            if "image/png" in output.get("data", ())
        ]
        assert [source for source in page.sources if source.startswith("data:")] == pictures
        assert first == pictures[0]
        printed = ["".join(output["text"]) for output in outputs if "text" in output]
        assert printed
        assert all(text.strip() in page.text for text in printed)


@pytest.mark.parametrize("name", LOOKED_AT)
def test_no_page_is_wider_than_a_phone(site, browser, name):
    open_page(browser, site[0] / name, 390)
    browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    content = browser.find_element("css selector", ".content")  # the theme moves this, not the page
    inner = browser.execute_script("return arguments[0].scrollWidth", content)
    assert inner <= content.rect["width"] <= 390


def test_the_front_page_is_one_screen(site, browser):
    open_page(browser, site[0] / "index.html", 1280, 800)
    for part in ("h1", "p > img", ".highlight-python", "ul"):
        box = browser.find_element("css selector", f"section#efcml > {part}").rect
        assert box["height"] > 20
        assert box["y"] + box["height"] <= 800
