from __future__ import annotations

import json
from typing import Any

from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.task import Task
from meritnas.data.texts.encoder import TextEncoder
from meritnas.data.texts.words import WORD
from meritnas.exporting.modality_description import describe_modalities
from meritnas.exporting.table_description import describe_table
from meritnas.exporting.trained import Trained

FILE = "preprocessing.json"

_PICTURES = (
    "the first frame, turned as its EXIF orientation says",
    "what is transparent is put on white; 16-bit grey becomes round(value / 257)",
    "in colours of 8 bits, red, green, blue; large JPEGs may be decoded at a fraction of their "
    "size, at least twice the longer side",
    "another size than height by width: scaled bilinearly until both sides are covered, and what "
    "is then too much of one side cut off at both ends alike (Pillow: ImageOps.fit)",
    "for 1 channel, red, green and blue become (19595 r + 38470 g + 7471 b + 32768) // 65536",
    "arrays: numbers from 0 to 1 times 255, 16-bit ones times 255 / 65535, rounded; grey ones "
    "repeated for 3 channels",
)
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
_ANSWERS = {
    "binary": "one score, the logit of the second class",
    "multiclass": "one score, a logit, for each class",
    "multilabel": "one score, a logit, for each label; each label is there above 0",
    "regression": "one score; score * scale + mean is the answer",
    "language": "one score, a logit, for each word that may follow",
}


def preprocessing_files(trained: Trained) -> dict[str, bytes]:
    """`preprocessing.json`: how data becomes inputs and scores become answers, in plain terms."""
    text = json.dumps(describe(trained), indent=1, ensure_ascii=False, allow_nan=False)
    return {FILE: (text + "\n").encode()}


def describe(trained: Trained) -> dict[str, Any]:
    """What `preprocessing.json` holds; the same for all forms of export."""
    encoder, task = trained.predictor.encoder, trained.predictor.task
    found: dict[str, Any]
    if isinstance(encoder, TableEncoder):
        found = describe_table(encoder)
    elif isinstance(encoder, ImageEncoder):
        found = _images(encoder)
    elif isinstance(encoder, TextEncoder):
        found = _text(encoder)
    else:
        found = describe_modalities(encoder)
    return {**found, "architecture": trained.architecture.text, "answers": _answers(task)}


def _images(encoder: ImageEncoder) -> dict[str, Any]:
    return {
        "kind": "images",
        "inputs": "model.onnx and model.pt2 take `pixels`, uint8 [n, height, width, channels]. "
        "model.py takes float32 [n, channels, height, width], (pixel / 255 - mean) / std of each "
        "channel.",
        "pictures": list(_PICTURES),
        "height": encoder.height,
        "width": encoder.width,
        "channels": encoder.channels,
        "mean": list(encoder.mean),
        "std": list(encoder.std),
    }


def _text(encoder: TextEncoder) -> dict[str, Any]:
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


def _answers(task: Task) -> dict[str, Any]:
    found: dict[str, Any] = {
        "target": task.target,
        "task": task.kind,
        "scores": _ANSWERS[task.kind],
    }
    if task.classes:
        found["classes"] = list(task.classes)
    if task.kind == "regression":
        found |= {"mean": task.mean, "scale": task.scale}
    return found
