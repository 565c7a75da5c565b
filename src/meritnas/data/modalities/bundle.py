"""Several modalities ready to train on: their task, their split, their rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from torch import Tensor

from meritnas.data.bundle import Bundle, Outline, bundle_parts, weigh_classes
from meritnas.data.labels import guess_note
from meritnas.data.modalities.disturbance import robust_bundle
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.source import ModalitySource
from meritnas.data.modalities.written import Way
from meritnas.data.multilabel import label_notes
from meritnas.data.split import Split, split_few, split_rows
from meritnas.data.task import Task
from meritnas.errors import DataError
from meritnas.wording import listed

_VALID_SHARE = 0.25
_LEAST_ROWS = 10


def outline_modalities(
    source: ModalitySource, seed: int, kind: str | None = None, class_weight: str | None = None
) -> Outline:
    """Finds the task and splits the samples, each class alike.

    Of samples without a test part, 60 % are for training, 20 % for validation and 20 % for testing.
    Samples that the data keeps for testing are for testing; of the others, 75 % are for training
    and 25 % for validation. Samples with several labels are split at random.

    Args:
        source: The samples.
        seed: Seed of the split.
        kind: "classification" or "regression" to settle the task, "multilabel" for several labels
            a row, None to find out.
        class_weight: "balanced" for classes that count alike however many samples they have.

    Raises:
        DataError: The target cannot be learned, or is not of this kind.
    """
    values = source.target
    if isinstance(values, pd.DataFrame):
        return _outline_labels(source, values, seed, kind, class_weight)
    if kind == "multilabel":
        raise DataError(
            f"the target '{values.name}' has one value a row, not several labels; give 0 and 1 "
            "[n, labels], lists of text, or text with '|' between labels"
        )
    task = Task.find(values, np.arange(len(values)), kind)
    codes = None if task.kind == "regression" else task.codes(values)
    split = _split(source, codes, seed)
    if codes is None:
        task = Task.find(values, split.train, kind)
    else:
        _check_trained(source, values, split)
    weights, rarity = weigh_classes(values, codes, class_weight)
    guess = guess_note(values, task.classes) if kind is None else ""
    return Outline(task, split, weights, tuple(note for note in (guess, rarity) if note))


def encode_modalities(
    source: ModalitySource,
    outline: Outline,
    text: Way = "counted",
    words: int = 1024,
    frozen: Mapping[str, str] | None = None,
    *,
    robust: bool = False,
) -> Bundle[ModalityEncoder]:
    """Encodes the samples by what the train rows say; inputs are rows as `RowLayout` says.

    Args:
        source: The samples.
        outline: Their task and split.
        text: How written text becomes numbers.
        words: Most numbers for a text.
        frozen: Networks that read modalities first and are not trained, by `module:function`.
        robust: Whether networks learn on and are chosen by disturbed samples.

    Raises:
        DataError: A modality has nothing to learn from.
    """
    encoder = ModalityEncoder.fit(source.views, outline.split.train, text, words, frozen)

    def inputs(rows: np.ndarray) -> Tensor:
        return encoder.transform(source.views, rows)

    found = bundle_parts(source.name, outline, encoder, inputs, source.target)
    if not robust:
        return found
    assert isinstance(outline.split, Split)
    return robust_bundle(found, source.views, outline.split)


def _outline_labels(
    source: ModalitySource,
    values: pd.DataFrame,
    seed: int,
    kind: str | None,
    class_weight: str | None,
) -> Outline:
    target = str(values.columns.name)
    if kind not in (None, "multilabel"):
        raise DataError(
            f"the target '{target}' has several labels a row, which is neither classification nor "
            f"regression, got '{kind}'; leave the kind out"
        )
    if class_weight is not None:
        raise DataError(
            f"class_weight weighs classes, but the target '{target}' has several labels a row; "
            "leave it out"
        )
    task = Task.find_multilabel(values)
    return Outline(task, _split(source, None, seed), None, label_notes(values, target))


def _split(source: ModalitySource, codes: np.ndarray | None, seed: int) -> Split:
    if source.test is None:
        return split_rows(len(source.target), codes, seed)
    others = np.flatnonzero(~source.test)
    if len(others) < _LEAST_ROWS:
        raise DataError(
            f"{source.name} has {len(others)} rows besides those kept for testing, too few to "
            f"learn from; give at least {_LEAST_ROWS}"
        )
    own = None if codes is None else codes[others]
    split = split_few(len(others), own, seed, valid=_VALID_SHARE, test=0.0)
    return Split(others[split.train], others[split.valid], np.flatnonzero(source.test))


def _check_trained(source: ModalitySource, values: pd.Series, split: Split) -> None:
    lacking = set(values) - set(values.iloc[split.train])
    if lacking:
        raise DataError(
            f"{source.name} has classes without train rows: {listed(sorted(lacking, key=str))}; "
            "add train rows or remove these classes"
        )
