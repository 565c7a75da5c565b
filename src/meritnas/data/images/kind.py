"""Images as a kind of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from meritnas.data.images.reading import ImageReading
from meritnas.data.kind import DataKind, GraphInputs, NewRows
from meritnas.errors import UsageError
from meritnas.settings.preset import Facts
from meritnas.settings.reading import MAX_UNPACKED_MB

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from torch import Tensor

    from meritnas.data.bundle import Bundle, Outline
    from meritnas.data.images.encoder import ImageEncoder
    from meritnas.data.images.source import ImageSource
    from meritnas.data.task import Task


class ImageKind(DataKind):
    """Pictures of one size, of which the class is predicted."""

    name = "images"
    many = elsewhere = "images"
    this = "these are images"
    rows = "images"
    asks_target = False
    stored = "image"
    reading = ImageReading
    refused: Mapping[str, str] = {
        "task": "task is for tables; images have their classes, leave it out",
    }
    space = "convnet"
    strategy = "manas-ls"
    least_judged_rows = 1

    def predict_with(self, location: str | None) -> str:
        """Pictures, whatever the images came in."""
        del location
        return "pictures/"

    def recognises(self, data: Any) -> bool:
        """A pair of arrays, pictures, or files of well-known data sets."""
        from meritnas.data.images.formats import is_image_data

        return is_image_data(data)

    def impossible(self, data: Any) -> str:
        """A frame is a table."""
        import pandas as pd

        if isinstance(data, pd.DataFrame):
            return "a table cannot be searched with a space for images; use tabular"
        return ""

    def load(self, data: Any, target: str | None, reading: ImageReading) -> ImageSource:
        """A bundled name, a path, or images with their labels."""
        from meritnas.data.images.source import load_images

        # It says so if these are no images.
        source = load_images(
            data, reading.image_size, reading.max_unpacked_mb, skip_bad_rows=reading.skip_bad_rows
        )
        if target is not None:
            raise UsageError("target is for tables; images have their classes, leave it out")
        return source

    def load_again(
        self, data: Any, kept: Mapping[str, Any], run: str, reading: ImageReading
    ) -> ImageSource:
        """At the size that they had then."""
        import pandas as pd

        from meritnas.data.images.source import load_images

        if isinstance(data, pd.DataFrame | Mapping):
            raise UsageError(f"run {run} was made on images, not on a table; give those")
        size = kept.get("image_size")
        return load_images(
            data,
            tuple(size) if size else None,
            reading.max_unpacked_mb,
            skip_bad_rows=reading.skip_bad_rows,
        )

    def remembered(self, source: ImageSource, reading: ImageReading | None) -> dict[str, Any]:
        """The size they were brought to, however that was found."""
        del reading
        size = list(source.images.shape[1:3])
        return {"kind": self.name, "target": source.labels.name, "image_size": size}

    def outline(self, source: ImageSource, reading: ImageReading, seed: int) -> Outline:
        """The classes, and a split of each alike."""
        from meritnas.data.images.bundle import outline_images

        return outline_images(source, seed, reading.class_weight)

    def facts(self, source: ImageSource, outline: Outline, reading: ImageReading) -> Facts:
        """Training images and their shape."""
        del reading
        height, width, channels = source.images.shape[1:]
        return Facts(self.name, len(outline.split.train), (channels, height, width))

    def encode(
        self,
        source: ImageSource,
        outline: Outline,
        reading: ImageReading,
        *,
        encoding: str,
        batch_size: int,
        most_codes: int | None = None,
    ) -> Bundle[ImageEncoder]:
        """Each channel standardised."""
        from meritnas.data.images.bundle import encode_images

        del reading, encoding, batch_size, most_codes
        return encode_images(source, outline)

    def encoder_from_json(self, found: dict[str, Any]) -> ImageEncoder:
        """The shape and the colours of the training images."""
        from meritnas.data.images.encoder import ImageEncoder

        return ImageEncoder.from_json(found)

    def new_inputs(self, encoder: ImageEncoder, data: Any) -> Tensor:
        """A file, a folder or an array -> float32 [n, channels, h, w]."""
        import pandas as pd

        from meritnas.data.images.pictures import read_pictures

        if isinstance(data, pd.DataFrame | Mapping):
            raise UsageError("this network was trained on images; give it images, not a table")
        return encoder.transform(read_pictures(data, encoder).images)

    def read_new(
        self, file: str, encoder: ImageEncoder, task: Task, max_unpacked_mb: int = MAX_UNPACKED_MB
    ) -> NewRows:
        """A picture, or pictures, with their classes where folders or files tell."""
        from meritnas.data.images.pictures import read_pictures

        found = read_pictures(file, encoder, max_unpacked_mb)
        truth = _as_classes(found.labels, task.classes)
        return NewRows(found.images, found.names, truth, found.notes, "images with known class")

    def pictures(self, encoder: ImageEncoder, inputs: Tensor) -> Mapping[str, np.ndarray]:
        """The images themselves."""
        return {"image": encoder.pixels(inputs)}

    def program(self, encoder: ImageEncoder) -> str:
        """The program for images."""
        del encoder
        return "images"

    def graph_inputs(self, encoder: ImageEncoder) -> GraphInputs:
        """Pixels."""
        from meritnas.data.images.graph import image_graph_inputs

        return image_graph_inputs(encoder)

    def description(self, encoder: ImageEncoder) -> dict[str, Any]:
        """What pictures become."""
        from meritnas.data.images.description import describe_images

        return describe_images(encoder)


def _as_classes(labels: pd.Series | None, classes: Sequence[Any]) -> pd.Series | None:
    """Labels as the network knows them: folders have names, and classes may be numbers."""
    known = {str(label): label for label in classes}
    return None if labels is None else labels.map(lambda label: known.get(str(label), label))


IMAGES = ImageKind()
