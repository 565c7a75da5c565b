"""Whatever table scikit-learn takes, as a data frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data


def as_frame(estimator: BaseEstimator, X: Any, *, reset: bool) -> pd.DataFrame:
    """Any table that scikit-learn takes as a data frame with one row for each sample.

    Sets or checks `n_features_in_` and `feature_names_in_` as all estimators do.

    Args:
        estimator: whose input it is.
        X: a data frame with columns of any kind, a sparse matrix, or what numpy can turn into a
            two-dimensional array, of numbers or of objects.
        reset: whether this is what the estimator is fitted to.
    """
    if isinstance(X, pd.DataFrame):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        _check_size(estimator, X.shape)
        # Other frames' row labels would be aligned by.
        return X.reset_index(drop=True)
    array = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse=("csr", "csc"),
        dtype=None,
        ensure_all_finite="allow-nan",
    )
    names = [f"x{i}" for i in range(array.shape[1])]
    if sparse.issparse(array):
        # Networks take dense rows; single precision is what they compute in, if it can hold them.
        single = not (np.abs(array.data) > np.finfo(np.float32).max).any()
        kind = np.float32 if single else np.float64
        return pd.DataFrame(array.astype(kind).toarray(), columns=names)
    frame = pd.DataFrame(array, columns=names)
    return frame.infer_objects() if array.dtype == object else frame


def _check_size(estimator: BaseEstimator, shape: tuple[int, int]) -> None:
    """Complain about a frame without rows or columns as scikit-learn does about an array."""
    if not all(shape):
        check_array(np.empty(shape), estimator=estimator, input_name="X")
