"""What a text becomes, in plain terms."""

from __future__ import annotations

from typing import Any

from meritnas.data.texts.encoder import TextEncoder
from meritnas.data.texts.words import WORD

_SPLIT = {
    ("character", False): ("a text is its characters, line ends included",),
    ("character", True): ("a text is its characters, line ends included",),
    ("word", True): (
        "every line that is not blank is split at spaces and followed by <eos>",
        "the last <eos> is left out where the text is to go on",
    ),
    ("word", False): (
        "without spaces around it, the text is cut into paragraphs at blank lines; without any, "
        "into its lines, blank ones left out",
        "each is put into lower case and followed by <eos>; its words and marks are all that the "
        "regular expression `word` finds in it, one after the other",
        "the last <eos> is left out where the text is to go on",
    ),
}


def describe_text(encoder: TextEncoder) -> dict[str, Any]:
    """What a text becomes."""
    found = {
        "kind": "text",
        "inputs": "`words`, int64 [n, steps], the places of words in the list below, 0 for any "
        "other; `state`, float32 [n, width], zeros at the beginning of a text, then what came "
        "out.",
        "level": encoder.level,
        "tokenised": encoder.tokenised,
        "split": list(_SPLIT[encoder.level, encoder.tokenised]),
        "beginning": encoder.beginning,
        "before": "where there is no text to go on with, `words` is the number `beginning`",
        "words": list(encoder.words),
    }
    if encoder.level == "word" and not encoder.tokenised:
        found["word"] = WORD.pattern
    return found
