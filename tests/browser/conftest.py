"""One headless Chromium and one server of pages for all tests."""

import shutil

import pytest
from browser.walk import Collector, Respondent


@pytest.fixture(scope="session")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def driver(downloads):
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs the extra browser")
    from selenium.webdriver.chrome.service import Service

    chromium, tool = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or tool is None:
        pytest.skip("needs chromium and chromedriver (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(tool))
    how = {"behavior": "allow", "downloadPath": str(downloads)}
    found.execute_cdp_cmd("Browser.setDownloadBehavior", how)
    try:
        yield found
    finally:
        found.quit()


@pytest.fixture(scope="session")
def server():
    made = Collector()
    yield made
    made.close()


@pytest.fixture
def collector(server):
    """The server, as new."""
    server.show("")
    return server


@pytest.fixture
def respondent(driver, collector):
    """A respondent in a window of her own, whose browser has kept nothing."""
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    made = Respondent(driver)
    made.width(1280)
    place = {"origin": collector.url.rstrip("/"), "storageTypes": "local_storage"}
    driver.execute_cdp_cmd("Storage.clearDataForOrigin", place)
    driver.get_log("browser")  # of other tests
    yield made
    for window in driver.window_handles:
        if window != first:
            driver.switch_to.window(window)
            driver.close()
    driver.switch_to.window(first)
