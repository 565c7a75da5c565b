from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from meritnas.cli.main import main

SHORT = ["--epochs", "2", "--retrain-epochs", "2", "--retrain-seeds", "1", "--finalists", "2"]
"""Options of a search that ends at once."""

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Reads a page and complains about tags that do not match, and about ids given twice."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.sections: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.captions: list[str] = []
        self.charts = 0
        self.titles = 0
        self._caption = False
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given:
            self.ids.append(str(given["id"]))
        self.links += [str(given[name]) for name in ("href", "src") if name in given]
        if tag == "section":
            self.sections.append(str(given["id"]))
        if tag == "svg" and given.get("role") == "img":
            self.charts += 1
        if tag == "title" and self.open[-1] == "svg":
            self.titles += 1
        if tag == "figcaption":
            self._caption = True
            self.captions.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Elements of pictures that are closed at once."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._caption = self._caption and tag != "figcaption"

    def handle_data(self, data: str) -> None:
        if self._caption:
            self.captions[-1] += data


def elsewhere(text: str) -> list[str]:
    """Addresses on a page but for the name of SVG's own language."""
    found: list[str] = re.findall(r"https?://[^\s\"'<>]*|//[a-z][^\s\"'<>]*|@import|url\(", text)
    return [each for each in found if each not in ("http://www.w3.org/2000/svg",)]


def section(text: str, name: str) -> str:
    """One section of a page, without the marks of words that are not to be broken."""
    text = re.sub(r'<span(?: class="whole")?>([^<]*)</span>', r"\1", text)
    return text.split(f'<section id="{name}"')[1].split("</section>")[0]


def code(text: str, name: str) -> str:
    """What there is to copy in a section of a page."""
    shown = section(text, name).split("<code>")[1].split("</code>")[0]
    return unescape(re.sub(r"</?span>", "", shown))


def run(*arguments: str | Path) -> None:
    """The command line with these arguments, which must end well."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert not ended.value.code
