"""Reports in a real browser: phones, screens, paper. Skipped where Chromium is not installed."""

import base64
import io
import json
import re

import numpy as np
import pytest
from helpers.browser import open_page
from test_report import run, summarise

from efcml import ActiveLearner
from efcml.report import write_report

# Pixels on a phone and on a screen, where they are not those of most figures. Cards are taller than
# wide and only shrink.
SIZES = {
    "figure-importance": (384, 672),
    "figure-memberships": (384, 672),
    "figure-cards": (672, 672),
    "figure-reliability": (384, 518),
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a report and the summary that belongs to it."""
    folder = tmp_path_factory.mktemp("report")
    active = ActiveLearner(budget=0.3)
    ds, classifier, result = run(active, vigilance=0.4)
    summary = summarise(ds, classifier, result, seed=3, budget=0.3, unit="samples")
    line = {
        "pa": 0.5,
        "ap": 0.25,
        "rules": 3,
        "births": 100,
        "splits": 7,
        "merges": 99,
        "ms_per_sample": 0.125,
    }
    summary["models"] = {name: line | {"name": name} for name in ("EFC-ML, narrow rules", "plane")}
    (folder / "summary.json").write_text(json.dumps(summary))
    write_report(
        folder / "report.html",
        summary=summary,
        result=result,
        classifier=classifier,
        active=active,
        dataset=ds,
        rules=classifier.rules_,
    )
    return folder


@pytest.fixture
def show(browser, folder):
    """Open the report at some width; return the browser."""

    def open_at(width, *, scheme="light", media=""):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": media, "features": features}
        )
        open_page(browser, folder / "report.html", width)
        return browser

    return open_at


def pixels(element):
    from matplotlib.image import imread

    return imread(io.BytesIO(element.screenshot_as_png))[..., :3]


def messages(browser):
    """Return what the console has and what was asked for, as addresses."""
    told = [entry["message"] for entry in browser.get_log("browser")]
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    return told, sent


def test_nothing_is_reported_and_nothing_is_fetched(browser, show, folder):
    browser.get("about:blank")
    messages(browser)  # the browser's own first page fetches things
    show(1280)
    told, sent = messages(browser)
    assert told == []
    address = (folder / "report.html").as_uri()
    assert address in sent
    assert not [one for one in sent if one != address and not one.startswith("data:")]


def test_errors_would_be_seen(browser, folder):
    """The two lists above are empty because nothing happens, not because nobody listens."""
    messages(browser)
    text = (folder / "report.html").read_text()
    path = folder / "bad.html"
    path.write_text(text.replace("<main>", '<main><img src="http://127.0.0.1:9/a.png" alt="a">'))
    browser.get(path.as_uri())
    told, _ = messages(browser)
    assert any("Content Security Policy" in line for line in told)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_page_is_as_wide_as_the_window(show, width, scheme):
    browser = show(width, scheme=scheme)
    assert browser.execute_script("return document.scrollingElement.scrollWidth") <= width
    assert browser.execute_script("return document.scrollingElement.scrollHeight") > 844


@pytest.mark.parametrize("width", [390, 1280])
def test_figures_are_visible(show, width):
    browser = show(width)
    figures = browser.find_elements("css selector", "figure")
    assert len(figures) == 7
    for figure in figures:
        image = figure.find_element("css selector", "img")
        assert browser.execute_script("return arguments[0].complete", image)
        drawn = browser.execute_script("return arguments[0].naturalWidth", image)
        full = figure.get_attribute("id") == "figure-importance"
        narrow, wide = SIZES.get(figure.get_attribute("id"), (384, 720))
        assert drawn == (narrow if width == 390 else wide), figure.get_attribute("id")
        box = image.rect
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["width"] > 0.85 * min(width, drawn)
        assert box["height"] > 150
        seen = pixels(image)
        assert 0.01 < (seen.min(axis=2) < 0.9).mean() < (0.9 if full else 0.5)  # nor full
        assert len(np.unique(seen.reshape(-1, 3), axis=0)) > 20
        caption = figure.find_element("css selector", "figcaption")
        assert caption.rect["y"] >= box["y"] + box["height"] - 1
        assert len(caption.text) > 20


@pytest.mark.parametrize("width", [390, 1280])
def test_figures_come_before_the_long_tables(show, width):
    browser = show(width)
    places = [
        browser.find_element("css selector", name).rect["y"]
        for name in ("dl", "#figures", "#labels", "#rules table", "#numbers", "#parameters")
    ]
    assert places == sorted(places)
    assert places[1] < 1000


@pytest.mark.parametrize("width", [390, 1280])
def test_labels_and_rules_are_read_without_moving_anything(show, width):
    browser = show(width)
    for name in (".wide:has(#labels)", ".rule-table"):
        frame = browser.find_element("css selector", name)
        inner, outer = browser.execute_script(
            "return [arguments[0].scrollWidth, arguments[0].clientWidth]", frame
        )
        assert inner <= outer
        assert frame.rect["x"] >= 0
        assert frame.rect["x"] + frame.rect["width"] <= width


def test_a_rule_is_a_block_on_a_phone(show):
    cells = show(1280).find_elements("css selector", ".rule-table tbody tr:first-child td")
    assert len({cell.rect["y"] for cell in cells}) == 1
    browser = show(390)
    cells = browser.find_elements("css selector", ".rule-table tbody tr:first-child td")
    rule, share, rows, condition, conclusion = (cell.rect for cell in cells)
    assert rule["x"] < share["x"] < rows["x"]
    assert abs(rule["y"] - rows["y"]) < 5
    assert rows["y"] < condition["y"] < conclusion["y"]
    assert condition["width"] > 300
    said = browser.execute_script(
        "return [...arguments].map(cell => getComputedStyle(cell, '::before').content)", *cells
    )
    assert said == ['"rule "', "none", '"rows "', '"IF "', '"THEN "']


def test_tables_hold_the_summary(show, folder):
    browser = show(1280)
    summary = json.loads((folder / "summary.json").read_text())
    for name, wanted in (("numbers", summary), ("parameters", summary["parameters"])):
        rows = browser.find_elements("css selector", f"#{name} tbody tr")
        found = {
            row.get_attribute("data-key"): json.loads(
                row.find_element("css selector", "td").get_attribute("data-value")
            )
            for row in rows
        }
        plain = {key: value for key, value in wanted.items() if not isinstance(value, dict)}
        assert found == plain
    shown = browser.find_element("css selector", "#numbers tr[data-key=pa] td").text
    assert float(shown) == pytest.approx(summary["pa"], abs=5e-5)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_are_large_and_clear(show, scheme):
    browser = show(390, scheme=scheme)
    looks = browser.execute_script("""
        const paper = getComputedStyle(document.body).backgroundColor;
        return [...document.querySelectorAll("h1, h2, p, dt, strong, small, th, td, caption, " +
                                             "figcaption, pre")].map(element => {
            const style = getComputedStyle(element);
            return [paper, style.color, parseFloat(style.fontSize)];
        });
    """)
    assert len(looks) > 60
    for paper, ink, size in looks:
        assert contrast(paper, ink) >= 4.5
        assert size >= 11
    assert (luminance(looks[0][0]) < 0.1) == (scheme == "dark")


def luminance(color):
    parts = np.array([int(part) for part in re.findall(r"\d+", color)[:3]]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_paper_is_white_even_in_a_dark_room(show):
    browser = show(720, scheme="dark", media="print")
    body = browser.find_element("css selector", "body")
    assert body.value_of_css_property("background-color") == "rgba(255, 255, 255, 1)"
    for name in ("p", "td", "figcaption", "strong"):
        element = body.find_element("css selector", name)
        assert element.value_of_css_property("color") == "rgba(0, 0, 0, 1)"
    for name in ("figure", ".wide"):
        element = body.find_element("css selector", name)
        assert element.value_of_css_property("break-inside") == "avoid"


def test_the_page_can_be_printed(show):
    browser = show(1280)
    size = {"paperWidth": 8.27, "paperHeight": 11.69}
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", size)["data"])
    assert pdf.startswith(b"%PDF")
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 2 <= pages <= 10


def test_wide_tables_move_in_their_own_frame(show):
    browser = show(320)
    frame = browser.find_element("css selector", ".wide:has(#models)")
    inner, outer = browser.execute_script(
        "return [arguments[0].scrollWidth, arguments[0].clientWidth]", frame
    )
    assert inner > outer  # at this width it does not fit, and can be moved
    assert frame.value_of_css_property("overflow-x") == "auto"
    assert frame.get_attribute("tabindex") == "0"
