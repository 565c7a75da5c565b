from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn import datasets

from meritnas.data.suggest import did_you_mean
from meritnas.errors import DataError

BUNDLED: tuple[str, ...] = ("digits", "breast_cancer", "wine", "diabetes")


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
