"""A headless Chromium for tests of pages, driven by Selenium. The test is skipped if either is missing."""

import base64
import contextlib
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@contextlib.contextmanager
def opened(
    url: str, *, size: tuple[int, int] = (1280, 900), dark: bool = False, arguments: Sequence[str] = ()
) -> Iterator[Any]:
    """A driver that shows the page. `messages` returns its errors."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="Selenium is not installed: pip install selenium.")
    browser = next((found for name in _CHROMIUM if (found := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("Chromium or its driver is not installed: apt-get install chromium chromium-driver.")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (
        "--headless=new",
        # A sandbox needs rights that containers often lack; the pages are our own.
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        f"--window-size={size[0]},{size[1]}",
        *arguments,
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    page = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        # A headless window is no narrower than some 500 pixels; what the page sees can be.
        page.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        page.get(url)
        yield page
    finally:
        page.quit()


def messages(page: Any, level: str = "SEVERE") -> list[str]:
    """The messages of this level on the console, each returned once."""
    return [entry["message"] for entry in page.get_log("browser") if entry["level"] == level]


def requests(page: Any) -> list[str]:
    """The addresses that were requested since the last call."""
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]


def picture(page: Any, path: str | Path, *, whole: bool = True) -> None:
    """The page as a PNG: the whole page, or the part that the window shows."""
    found = page.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": whole} | _clip(page, whole))
    Path(path).write_bytes(base64.b64decode(found["data"]))


def _clip(page: Any, whole: bool) -> dict[str, Any]:
    if not whole:
        return {}
    size = page.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
