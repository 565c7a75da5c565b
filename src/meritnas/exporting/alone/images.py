"""The program of a network for images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from meritnas.data.images.arrays import as_images
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.pictures.picture import PICTURE_ENDINGS, is_picture
from meritnas.data.pictures.picture_stack import stack_pictures
from meritnas.data.pictures.shape import with_channels, with_size
from meritnas.errors import DataError
from meritnas.exporting.alone.program import Program


class Predictor(Program):
    """A network for images: an array [n, h, w] or [n, h, w, channels], or pictures -> answers."""

    def read(self, path: Path) -> tuple[Any, list[str] | None]:
        """A picture, or the pictures of a folder in the order of their names."""
        files = [path] if path.is_file() else pictures_in(path)
        size = self.encoder["height"], self.encoder["width"]
        images, _ = stack_pictures(files, [str(file) for file in files], size)
        inner = path if path.is_dir() else path.parent
        return images, [file.relative_to(inner).as_posix() for file in files]

    def inputs(self, data: Any) -> Tensor:
        """Images float32 [n, channels, h, w]; paths of pictures are read first."""
        if isinstance(data, str | Path):
            data = self.read(Path(data))[0]
        encoder = ImageEncoder.from_json(self.encoder)
        images = with_size(as_images(data, "the array of images")[0], encoder.shape[1:])
        return encoder.transform(with_channels(images, encoder.channels))


def pictures_in(folder: Path) -> list[Path]:
    """The pictures in a folder and below, without hidden ones, in the order of their names."""
    if not folder.is_dir():
        raise DataError(f"no file or folder {folder}; check the path")
    inside = (path for path in folder.rglob("*") if path.is_file() and is_picture(path))
    hidden = set(folder.rglob(".*"))
    files = sorted(p for p in inside if p not in hidden and not hidden & set(p.parents))
    if not files:
        endings = ", ".join(PICTURE_ENDINGS)
        raise DataError(f"{folder} has no pictures; pictures end in {endings}")
    return files
