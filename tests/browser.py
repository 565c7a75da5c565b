from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

SEEN = """
const boxes = [...document.querySelectorAll("main section")].map((each) => {
  const box = each.getBoundingClientRect();
  const heading = each.querySelector("h2");
  const shown = heading.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  return {name: each.id, left: box.left, right: box.right, height: box.height, shown: shown};
});
const cut = [];
for (const chart of document.querySelectorAll("svg[role]")) {
  const frame = chart.getBoundingClientRect();
  if (!chart.checkVisibility()) continue;  // folded
  for (const text of chart.querySelectorAll("text")) {
    const box = text.getBoundingClientRect();
    const out = Math.max(frame.left - box.left, box.right - frame.right,
                         frame.top - box.top, box.bottom - frame.bottom);
    if (out > 2) cut.push(`${chart.closest("section").id}: ${text.textContent} (${out})`);
  }
}
const sizes = [...document.querySelectorAll("svg[role] text")]
  .filter((each) => each.checkVisibility())
  .map((each) => each.getBoundingClientRect().height);
return {
  boxes: boxes, cut: cut,
  page: document.documentElement.scrollWidth,
  smallest: Math.min(...sizes, 99),
  back: getComputedStyle(document.body).backgroundColor,
  ink: getComputedStyle(document.body).color,
};
"""
"""What a person would see of a page: its sections, text that charts cut off, the page's width."""


class Browser:
    """Chromium without a window, and what it complained about."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def looks(self, width: int, *, dark: bool) -> None:
        """Become so wide, in dark or light colours."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, address: str) -> dict[str, Any]:
        """What is seen at an address."""
        self.complaints()
        self.driver.get(address)
        return self.seen()

    def seen(self) -> dict[str, Any]:
        """What is seen now."""
        found: dict[str, Any] = self.driver.execute_script(SEEN)
        return found

    def asked(self, script: str) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script)

    def press(self, key: str) -> None:
        """Press a key where the focus is."""
        self.driver.switch_to.active_element.send_keys(key)

    def colour(self, selector: str, right: int, top: int) -> str:
        """The colour so many pixels from the upper right corner of an element."""
        self.asked(f"document.querySelector('{selector}').scrollIntoView()")
        place = self.asked(
            f"const box = document.querySelector('{selector}').getBoundingClientRect();"
            "return [box.right, box.top];"
        )
        picture = Image.open(io.BytesIO(self.driver.get_screenshot_as_png())).convert("RGB")
        return str(picture.getpixel((int(place[0]) - right, int(place[1]) + top)))

    def complaints(self) -> list[str]:
        """What the console said since it was asked last."""
        return [each["message"] for each in self.driver.get_log("browser")]


@contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """Debian's chromium, driven by its own driver: nothing is fetched."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(PROGRAM)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (
        *("headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run"),
        *("disable-background-networking", "disable-component-update", "disable-sync"),
        *("disable-dev-shm-usage", f"user-data-dir={profile}"),
    ):
        options.add_argument(f"--{flag}")
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
