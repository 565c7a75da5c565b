from __future__ import annotations

import json
from typing import Any

import pytest

from meritnas.data.images.reading import ImageReading
from meritnas.data.kinds import KINDS
from meritnas.data.modalities.reading import ModalityReading
from meritnas.data.tables.reading import TableReading
from meritnas.data.texts.reading import TextReading
from meritnas.errors import UsageError
from meritnas.settings.fields import settings_of


@pytest.mark.parametrize(
    "reading",
    [
        *(kind.reading() for kind in KINDS),
        TableReading("regression", "balanced", "quantile", skip_bad_rows=True),
        ImageReading((8, 12), "balanced", crop=4, flip=False, cutout=0),
        ImageReading(8),
        TextReading("character", 50, 20),
        ModalityReading("classification", None, ["sound", "look"], "hashed", 64),
        ModalityReading(
            modalities={"text": ["title", "review"]}, frozen_backbones={"look": "encoders:Encoder"}
        ),
    ],
)
def test_json_and_back(reading: Any) -> None:
    assert type(reading).from_json(json.loads(json.dumps(reading.to_json()))) == reading


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_setting_has_a_help_text(kind: Any) -> None:
    for setting in settings_of(kind.reading):
        assert setting.help.endswith("."), setting
        assert not setting.hidden


def test_same_settings_of_several_kinds_are_described_alike() -> None:
    """One flag serves them all."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        for setting in settings_of(kind.reading):
            assert found.setdefault(setting.name, setting) == setting


def test_flags_of_what_may_be_repeated() -> None:
    flags = {setting.name: setting for setting in settings_of(ModalityReading)}
    assert flags["modalities"].flag == "modality"
    assert flags["frozen_backbones"].flag == "frozen-backbone"
    assert flags["frozen_backbones"].metavar == "NAME=MODULE:FUNCTION"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: TableReading(scaling="log"),  # type: ignore[arg-type]
            "scaling must be one of auto, standard, quantile, got 'log'",
        ),
        (lambda: ImageReading(3), "image_size must be at least 4, got 3"),
        (lambda: ImageReading((8, 2)), "image_size must be at least 4, got 2"),
        (lambda: ImageReading(crop=-1), "crop must be at least 0, got -1"),
        (
            lambda: ImageReading(flip="yes"),  # type: ignore[arg-type]
            "flip must be True or False, got 'yes'",
        ),
        (
            lambda: TextReading("letter"),  # type: ignore[arg-type]
            "level must be one of word, character, got 'letter'",
        ),
        (lambda: TextReading(vocabulary=1), "vocabulary must be at least 2, got 1"),
        (lambda: TextReading(window=0), "window must be at least 1, got 0"),
        (
            lambda: ModalityReading(text_form="spoken"),  # type: ignore[arg-type]
            "text_form must be one of counted, hashed, got 'spoken'",
        ),
        (lambda: ModalityReading(text_columns=0), "text_columns must be at least 1, got 0"),
        (
            lambda: ModalityReading(frozen_backbones={"look": lambda: None}),
            "a backbone must be a function or a class in a module of its own",
        ),
    ],
)
def test_what_is_no_reading(make: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        make()
    assert message in str(error.value)


def test_a_backbone_is_kept_by_its_name() -> None:
    found = ModalityReading(frozen_backbones={"look": ImageReading})
    assert found.to_json()["frozen_backbones"] == {
        "look": "meritnas.data.images.reading:ImageReading"
    }
