"""A browser without a window, for tests of pages. Skipped where Chromium is not installed."""

import shutil
import time

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    helper = shutil.which("chromedriver")
    if found is None or helper is None:
        pytest.skip("needs a browser: install chromium and chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = found
    profile = tmp_path_factory.mktemp("profile")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(executable_path=helper))
    yield driver
    driver.quit()


def open_page(browser, path, width, height=844):
    """Open a file in a window of some size, on a phone if it is narrow; wait until it is read."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    browser.get(path.as_uri())
    until = time.monotonic() + 30.0  # a busy machine may still be reading the page
    while browser.execute_script("return document.readyState") != "complete":
        assert time.monotonic() < until
        time.sleep(0.05)
