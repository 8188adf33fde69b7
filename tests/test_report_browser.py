"""A report in a real browser, on phones and screens. Skipped where Chromium is not installed."""

import json
import shutil

import pytest

from efcml import ActiveLearner, EFCMLClassifier, datasets, prequential
from efcml.report import write_report

pytestmark = pytest.mark.long
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
    helper = shutil.which("chromedriver")
    if found is None or helper is None:
        pytest.skip("needs a browser: install chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = found
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=helper)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_a_report_is_read_at_any_width_and_loads_nothing(browser, tmp_path, width):
    ds, active = datasets.load("drifting-clusters", n=100, n_initial=40), ActiveLearner(budget=0.3)
    clf = EFCMLClassifier(prior=1.0, vigilance=0.4).fit(*ds.initial)
    result = prequential(clf, *ds.stream, active=active)
    run = {"result": result, "classifier": clf, "active": active, "dataset": ds}
    path = write_report(tmp_path / "r.html", **run)
    size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)  # the browser's own first page fetches things
    browser.get(path.as_uri())
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"].endswith("WillBeSent")]
    assert [one for one in asked if not one.startswith("data:")] == [path.as_uri()]
    assert browser.execute_script("return document.scrollingElement.scrollWidth") <= width
    images = browser.find_elements("css selector", "figure img")
    assert len(images) == 6
    for image in images:
        assert browser.execute_script("return arguments[0].naturalWidth", image) > 300
        assert image.rect["x"] >= 0 and image.rect["x"] + image.rect["width"] <= width
    for frame in browser.find_elements("css selector", ".wide:has(#labels), #rules"):
        sizes = "return [arguments[0].scrollWidth, arguments[0].clientWidth]"
        inner, outer = browser.execute_script(sizes, frame)
        assert inner <= outer or width == 320  # there, tables scroll in their frames
