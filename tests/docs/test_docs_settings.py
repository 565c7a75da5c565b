from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from all_flags import all_flags

import meritnas
from meritnas.data.kinds import KINDS
from meritnas.families.catalogue import space_specs
from meritnas.settings.fields import settings_of

PAGE = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
ROWS = re.findall(r"^\| [^|]*\| (`[A-Z][^|]*) \| (`[a-z][^|]*) \|$", PAGE, re.MULTILINE)
TABLE = {re.findall(r"`(\w+)`", name)[0]: re.findall(r"`(\w+)`", own) for name, own in ROWS}
LISTED = list(TABLE)


@pytest.mark.parametrize("name", LISTED)
def test_the_table_has_all_fields_of_a_class(name: str) -> None:
    own = settings_of(getattr(meritnas, name))
    assert TABLE[name] == [setting.name for setting in own if not setting.hidden]


def test_the_table_has_all_classes() -> None:
    variants = {"DartsS1", "DartsS2", "DartsS3", "DartsS4", "DartsUnique"}
    spaces = {spec.__name__ for spec in space_specs().values()} - variants
    readings = {kind.reading.__name__ for kind in KINDS}
    assert set(LISTED) == spaces | readings | {"Training", "Retraining", "RunOptions"}


def test_every_field_has_the_flag_that_the_page_says() -> None:
    flags = all_flags("search")
    for name in LISTED:
        for setting in settings_of(getattr(meritnas, name)):
            assert setting.hidden or {f"--{setting.flag}", f"--{setting.flag}/"} & flags
            renamed = setting.flag != setting.name.replace("_", "-")
            assert not renamed or f"`--{setting.flag}`" in PAGE


def test_the_file_on_the_page_is_toml() -> None:
    (shown,) = re.findall(r"```text\n(data = .*?)```", PAGE, re.DOTALL)
    found = tomllib.loads(shown.replace("...\n", ""))
    assert found["space"] == {"name": "tabular", "layers": 2}
