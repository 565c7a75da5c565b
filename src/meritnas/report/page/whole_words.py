"""Words of a page that a browser must not break, such as networks: 32-144-24."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_LONGEST = 36
"""What is longer may be broken: it would be wider than a phone."""

_BREAKABLE = re.compile(rf"(?<!\S)\S*[-|+]\S{{0,{_LONGEST}}}(?!\S)")


def whole(text: str) -> Markup:
    """A text as markup in which words with hyphens and the like stay on one line."""
    parts, last = [], 0
    for found in _BREAKABLE.finditer(text):
        if len(found[0]) <= _LONGEST:
            parts += [escape(text[last : found.start()]), _kept(found[0])]
            last = found.end()
    return Markup("").join([*parts, escape(text[last:])])


def _kept(word: str) -> Markup:
    return Markup('<span class="whole">{}</span>').format(word)
