from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import EpsImagePlugin, Image

from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.images.pictures import read_pictures
from meritnas.data.pictures.picture import read_picture
from meritnas.errors import DataError

COLOUR = ImageEncoder(3, 6, 8, (0.5,) * 3, (0.2,) * 3)
GREY = ImageEncoder(1, 6, 8, (0.5,), (0.2,))


def save(path: Path, colour: tuple[int, int, int] = (10, 20, 30)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((12, 12, 3), colour, dtype=np.uint8)).save(path)
    return path


@pytest.mark.parametrize("encoder", [COLOUR, GREY])
def test_one_picture(tmp_path: Path, encoder: ImageEncoder) -> None:
    found = read_pictures(str(save(tmp_path / "a.png")), encoder)
    assert found.names == ["a.png"]
    assert found.labels is None
    assert found.images.shape == (1, 6, 8, encoder.channels)
    expected = [10, 20, 30] if encoder.channels == 3 else [18]
    assert found.images[0, 0, 0].tolist() == expected
    assert encoder.transform(found.images).shape == (1, *encoder.shape)


def test_flat_folder(tmp_path: Path) -> None:
    for name in ("b.png", "a.jpg", ".hidden.png"):
        save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    found = read_pictures(tmp_path, GREY)
    assert found.names == ["a.jpg", "b.png"]
    assert found.labels is None


def test_folder_for_each_class(tmp_path: Path) -> None:
    save(tmp_path / "cat" / "1.png", (7, 7, 7))
    save(tmp_path / "dog" / "1.png")
    found = read_pictures(tmp_path, COLOUR)
    assert found.names == [str(Path("cat", "1.png")), str(Path("dog", "1.png"))]
    assert found.labels is not None
    assert found.labels.tolist() == ["cat", "dog"]
    assert found.images[0, 0, 0].tolist() == [7, 7, 7]


def test_grey_pictures_for_a_network_of_colours(tmp_path: Path) -> None:
    found = read_pictures(save(tmp_path / "a.png", (9, 9, 9)), COLOUR)
    assert found.images.shape == (1, 6, 8, 3)
    assert (found.images == 9).all()


@pytest.mark.parametrize("labelled", [False, True])
def test_arrays_on_disk_need_no_labels(tmp_path: Path, labelled: bool) -> None:
    images = np.full((3, 4, 4), 5, dtype=np.uint8)
    np.savez(tmp_path / "a.npz", images=images, **({"labels": [1, 2, 1]} if labelled else {}))
    found = read_pictures(tmp_path / "a.npz", COLOUR)
    assert found.names == ["0", "1", "2"]
    assert found.images.shape == (3, 6, 8, 3)
    assert (found.images == 5).all()
    assert (None if found.labels is None else found.labels.tolist()) == (
        [1, 2, 1] if labelled else None
    )


def test_arrays_and_bundled_images() -> None:
    images = np.full((3, 4, 4, 3), 5, dtype=np.uint8)
    assert read_pictures(images, GREY).images.shape == (3, 6, 8, 1)
    assert read_pictures(images, GREY).labels is None
    labels = read_pictures((images, np.array(["a", "b", "a"])), GREY).labels
    assert labels is not None
    assert labels.tolist() == ["a", "b", "a"]
    assert read_pictures("digits", GREY).images.shape == (1797, 6, 8, 1)


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file or folder .*gone\.png"):
        read_pictures(tmp_path / "gone.png", GREY)
    (tmp_path / "bad.png").write_bytes(b"x")
    with pytest.raises(DataError, match=r"bad\.png is damaged or no picture"):
        read_pictures(tmp_path / "bad.png", GREY)
    with pytest.raises(DataError, match=r"bad\.png is damaged or no picture"):
        read_pictures(tmp_path, GREY)
    (tmp_path / "bad.png").unlink()
    with pytest.raises(DataError, match="no pictures in sub-folders"):
        read_pictures(tmp_path, GREY)


def test_a_picture_never_runs_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow would give a PostScript file to Ghostscript, whatever the ending."""
    ran = []
    monkeypatch.setattr(
        EpsImagePlugin, "Ghostscript", lambda *given, **more: ran.append((given, more))
    )
    path = tmp_path / "a.png"
    path.write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF\n"
    )
    with pytest.raises(DataError, match="no picture"):
        read_picture(path, "a.png", (4, 4))
    with Image.open(path) as found, suppress(AssertionError, AttributeError):
        found.load()
    assert len(ran) == 1  # by Pillow itself, to show that it would
