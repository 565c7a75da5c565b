"""Files that are damaged, hostile or merely odd, through the front door."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType

import pytest
from bad_files.archives import ARCHIVES
from bad_files.case import Case, written
from bad_files.images import IMAGES
from bad_files.modalities import MODALITIES
from bad_files.parquets import PARQUETS
from bad_files.places import EXPECTED, PLACES
from bad_files.tables import TABLES
from bad_files.texts import TEXTS
from cli_helpers import Outcome

from meritnas.data.files.loaded import load_table
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.images.pictures import read_pictures
from meritnas.data.images.source import load_images
from meritnas.data.modalities.new_samples import load_views, read_samples
from meritnas.data.modalities.source import load_modalities, load_target
from meritnas.data.texts.source import load_text
from meritnas.errors import DataError

Command = Callable[..., Outcome]

_SECONDS = 60


@pytest.fixture(autouse=True)
def _nothing_hangs() -> Iterator[None]:
    """What is read forever ends as a failure."""

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise TimeoutError("this file is read forever")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def check(outcome: Outcome, case: Case) -> None:
    """An error is one line, and nothing is written."""
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert len(outcome.err) < 2_500
    assert "Traceback" not in outcome.err
    assert case.says in outcome.err
    assert outcome.err.strip().isprintable()


@pytest.mark.parametrize("case", (TABLES | PARQUETS).values(), ids=(TABLES | PARQUETS).keys())
def test_a_table(meritnas: Command, tmp_path: Path, case: Case) -> None:
    path = case.make(tmp_path)
    outcome = meritnas("columns", path, *case.options)
    if case.reads is None:
        check(outcome, case)
        return
    assert outcome.code == 0, outcome.err
    assert "\x1b" not in outcome.out
    assert "\u202e" not in outcome.out
    assert case.reads(load_table(path).frame)


@pytest.mark.parametrize("case", (ARCHIVES | IMAGES).values(), ids=(ARCHIVES | IMAGES).keys())
def test_images(meritnas: Command, tmp_path: Path, case: Case) -> None:
    path = case.make(tmp_path)
    if case.reads is None:
        check(meritnas("search", path, *case.options), case)
    else:
        assert case.reads(load_images(path))


@pytest.mark.parametrize("name", TEXTS)
def test_a_text(meritnas: Command, tmp_path: Path, name: str) -> None:
    case = TEXTS[name]
    path = case.make(tmp_path)
    if case.reads is None:
        check(meritnas("search", path, "--space", "recurrent", *case.options), case)
    else:
        assert case.reads(load_text(path))


@pytest.mark.parametrize("name", MODALITIES)
def test_modalities(meritnas: Command, tmp_path: Path, name: str) -> None:
    case = MODALITIES[name]
    path = case.make(tmp_path)
    if case.reads is None:
        given = ("--space", "fusion", "--target", "y", *case.options)
        check(meritnas("search", path, *given), case)
    else:
        assert case.reads(load_modalities(path, "y"))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_no_file_is_refused_at_once(
    meritnas: Command, tmp_path: Path, name: str, place: str
) -> None:
    make, says = PLACES[place]
    make(tmp_path / name)
    outcome = meritnas(*EXPECTED[name], name)
    check(outcome, Case(written("", ""), says))
    assert name in outcome.err


@pytest.mark.parametrize("place", PLACES)
def test_predict_refuses_what_is_no_file(
    meritnas: Command, tmp_path: Path, trained: Path, place: str
) -> None:
    make, says = PLACES[place]
    make(tmp_path / "new.csv")
    check(meritnas("predict", trained, "new.csv"), Case(written("", ""), says))


@pytest.mark.parametrize("name", [name for name, case in TABLES.items() if not case.options][::3])
def test_predict_answers_or_refuses(
    meritnas: Command, tmp_path: Path, trained: Path, name: str
) -> None:
    """None of these tables has the columns of the run."""
    check(meritnas("predict", trained, TABLES[name].make(tmp_path)), Case(written("", "")))


@pytest.mark.parametrize("name", [*IMAGES, *ARCHIVES])
def test_new_images_are_read_or_refused(tmp_path: Path, name: str) -> None:
    path = {**ARCHIVES, **IMAGES}[name].make(tmp_path)
    encoder = ImageEncoder(1, 4, 5, (0.5,), (0.1,))
    with suppress(DataError):
        assert read_pictures(path, encoder, 3).images.shape[1:] == (4, 5, 1)


@pytest.mark.parametrize("name", MODALITIES)
def test_new_samples_are_read_or_refused(tmp_path: Path, name: str) -> None:
    path = MODALITIES[name].make(tmp_path)
    with suppress(DataError):
        samples, _ = read_samples(path, 3)
        assert samples is not None
        load_views(samples, {"sound": (), "look": (), "n": ("n.a",)})
        load_target(samples, "y")


def test_there_are_enough_kinds_of_bad_files() -> None:
    groups = (TABLES, PARQUETS, ARCHIVES, IMAGES, TEXTS, MODALITIES)
    assert sum(map(len, groups)) >= 350
    assert len(PLACES) * len(EXPECTED) >= 90
    every = [case for group in groups for case in group.values()]
    assert sum(case.reads is None for case in every) >= 230
    assert all(case.says or case.reads for case in every)
