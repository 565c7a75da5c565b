from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Point:
    """A dot of a chart, where it is in its own chart, and what it says when pointed at."""

    x: float
    y: float
    name: str
    kind: str

    @property
    def hollow(self) -> bool:
        return "hollow" in self.kind.split()


class Drawn:
    """A figure file, read as XML; complains about one that a browser could not show."""

    def __init__(self, text: str) -> None:
        self.root = ElementTree.fromstring(text)
        assert self.root.tag == f"{SVG}svg"
        width, height = float(self.root.attrib["width"]), float(self.root.attrib["height"])
        assert self.root.attrib["viewBox"] == f"0 0 {width:g} {height:g}"
        assert min(width, height) > 50 or not self.root.findall(f"{SVG}svg")
        self.size = width, height
        self.style = str(self.root.findtext(f"{SVG}style"))
        assert "prefers-color-scheme: dark" in self.style
        assert "var(" not in self.style
        assert not re.search(r"@import|url\(|<script|href=", text)
        assert {"nan", "inf"}.isdisjoint(re.findall(r"[a-z]+", " ".join(self._numbers())))

    def _numbers(self) -> list[str]:
        names = ("x", "y", "cx", "cy", "x1", "y1", "x2", "y2", "width", "height", "points")
        return [
            each.attrib[name] for each in self.root.iter() for name in names if name in each.attrib
        ]

    @property
    def texts(self) -> list[str]:
        return [str(each.text) for each in self.root.iter(f"{SVG}text")]

    @property
    def charts(self) -> list[ElementTree.Element]:
        return [each for each in self.root.iter(f"{SVG}svg") if "role" in each.attrib]

    def points_of(self, chart: ElementTree.Element) -> list[Point]:
        return [
            Point(
                float(each.attrib["cx"]),
                float(each.attrib["cy"]),
                each.findtext(f"{SVG}title") or "",
                each.attrib["class"],
            )
            for each in chart.iter(f"{SVG}circle")
        ]

    @property
    def points(self) -> list[Point]:
        return [point for chart in self.charts for point in self.points_of(chart)]

    @property
    def lines(self) -> list[list[tuple[float, float]]]:
        found = []
        for each in self.root.iter(f"{SVG}polyline"):
            pairs = [pair.split(",") for pair in each.attrib["points"].split()]
            found.append([(float(x), float(y)) for x, y in pairs])
        return found

    def range_at(self, x: float) -> tuple[float, float]:
        """The lower and the upper end of the line that stands at x in a series."""
        (found,) = [
            each
            for each in self.root.iter(f"{SVG}line")
            if each.attrib["class"].startswith("line ")
            and float(each.attrib["x1"]) == float(each.attrib["x2"]) == x
        ]
        return float(found.attrib["y1"]), float(found.attrib["y2"])

    def titles(self, tag: str) -> dict[str, ElementTree.Element]:
        """Elements by what they say when pointed at."""
        found = {each.findtext(f"{SVG}title"): each for each in self.root.iter(f"{SVG}{tag}")}
        return {str(name): each for name, each in found.items() if name}
