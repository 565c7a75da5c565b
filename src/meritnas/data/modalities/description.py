"""What each modality becomes, in plain terms."""

from __future__ import annotations

import math
from typing import Any

from sklearn.feature_extraction.text import TfidfVectorizer

from meritnas.data.columns.description import describe_table
from meritnas.data.modalities.encoder import Modality, ModalityEncoder
from meritnas.data.modalities.frozen import FrozenModality
from meritnas.data.modalities.picture import PictureModality
from meritnas.data.modalities.table import TableModality
from meritnas.data.modalities.vector import ScaledFeature, VectorModality
from meritnas.data.modalities.written import WrittenModality

_ROWS = (
    "one float32 tensor [n, row]. `row` says where each modality begins and ends in it: first a "
    "number that says whether the sample has it, 1 or 0, then its values. What a sample lacks is "
    "zeros: numbers that are all NaN, an empty text, columns without any value."
)
_SCALED = (
    "(value - low) / (high - low), clipped to 0..1; 0 where high is low; a NaN among numbers is "
    "mean, and so is what is `missing_from` or more, either sign, where there is such a list. "
    "Lists of one are for all values of a feature, others have one for each column. In `row` the "
    "values of a sample follow each other with the last axis running fastest"
)
_PICTURE = "channels come first: [channels, height, width]; "
_NAMED = (
    "the cells of `column` name files, in the folder of the table: the first frame, turned as EXIF "
    "says, on white, scaled to cover height x width (bilinear), what is too much cut off at both "
    "ends; what cannot be read, the sample lacks. "
)
_FROZEN = (
    "values become what `reads` says, each feature a tensor [n, *shape]; the network that "
    "`backbone` makes, in eval mode, gives the features; of each of these "
)
_TEXT = (
    "the columns of a table, or the one array of that name: without spaces around them, joined by "
    "a space, empty ones left out",
    "in lower case, its words are all that the regular expression `word` finds",
    "counted are words, and pairs of words that follow each other, with a space between them",
)
_COUNTED = (
    *_TEXT,
    "tf-idf: the number at a place of `vocabulary` is (1 + ln(count)) * weight, 0 where the count "
    "is 0; then all are divided by the square root of the sum of their squares",
)
_HASHED = (
    *_TEXT,
    "each counts at the place |h| modulo `places`, where h is MurmurHash3 (32 bits, signed, seed "
    "0) of its UTF-8 bytes; then all are divided by the square root of the sum of their squares "
    "(scikit-learn: HashingVectorizer(n_features=places, ngram_range=(1, 2), "
    "alternate_sign=False))",
)
_COLUMNS = (
    "of each column its values at `row` of an encoded row, as described; then the first ones, up "
    "to the number of `low`, are (value - low) / (high - low), clipped to 0..1, 0 where high is "
    "low",
    "of each category column as many numbers as `codes` says for it, 1 at the place of its code, "
    "from 0, else 0",
)


def describe_modalities(encoder: ModalityEncoder) -> dict[str, Any]:
    """What each modality becomes, and where it stands."""
    layout = encoder.layout
    return {
        "kind": "modalities",
        "inputs": _ROWS,
        "row": {
            name: [layout.flag(i), layout.values(i).stop] for i, name in enumerate(layout.names)
        },
        "modalities": [
            _modality(each, layout.values(i).start) for i, each in enumerate(encoder.modalities)
        ],
    }


def _modality(modality: Modality, start: int) -> dict[str, Any]:
    if isinstance(modality, WrittenModality):
        return _written(modality)
    if isinstance(modality, TableModality):
        return _columns(modality)
    found: dict[str, Any] = {"kind": "vector", "name": modality.name, "becomes": _SCALED}
    if isinstance(modality, PictureModality):
        found |= {"kind": "picture", "becomes": _PICTURE + _SCALED}
        if modality.columns:
            found |= {"column": modality.columns[0], "becomes": _NAMED + found["becomes"]}
    if isinstance(modality, FrozenModality):
        found |= {
            "kind": "frozen",
            "becomes": _FROZEN + _SCALED,
            "backbone": modality.backbone,
            "weights_sha256": modality.weights,
            "reads": _modality(modality.read, 0),
        }
    features = []
    for feature in _features(modality):
        end = start + math.prod(feature.shape)
        scaled = {"low": feature.low, "high": feature.high, "mean": feature.mean}
        lists: dict[str, list[Any]] = {name: list(values) for name, values in scaled.items()}
        if feature.far:
            lists["missing_from"] = [None if each is None else each.limit for each in feature.far]
        features.append({"shape": list(feature.shape), "row": [start, end], **lists})
        start = end
    return {**found, "features": features}


def _features(
    modality: VectorModality | PictureModality | FrozenModality,
) -> tuple[ScaledFeature, ...]:
    return (modality.feature,) if isinstance(modality, PictureModality) else modality.features


def _written(modality: WrittenModality) -> dict[str, Any]:
    found = {
        "kind": "written",
        "name": modality.name,
        "columns": list(modality.columns),
        "becomes": list(_COUNTED if modality.way == "counted" else _HASHED),
        "word": TfidfVectorizer().token_pattern,
        "places": modality.places,
    }
    if modality.way == "hashed":
        return found
    lists = {"vocabulary": list(modality.vocabulary), "weights": list(modality.weights)}
    return {**found, **lists}


def _columns(modality: TableModality) -> dict[str, Any]:
    described = describe_table(modality.encoder)
    return {
        "kind": "table",
        "name": modality.name,
        "becomes": list(_COLUMNS),
        "numbers": described["numbers"],
        "columns": described["columns"],
        "low": list(modality.low),
        "high": list(modality.high),
        "codes": dict(zip(described["codes"], modality.encoder.cardinalities, strict=True)),
    }
