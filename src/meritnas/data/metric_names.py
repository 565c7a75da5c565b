"""The metrics that finalists may be chosen by: their names, and what they are for."""

from __future__ import annotations

from meritnas.errors import UsageError, told

OF_CLASSES = ("accuracy", "balanced_accuracy", "log_loss", "roc_auc", "average_precision", "f1")
OF_NUMBERS = ("r2", "rmse", "mae")
QUANTILE = "quantile="
"""Followed by the quantile, as in quantile=0.9."""

THRESHOLDED = ("accuracy", "balanced_accuracy", "f1")
"""For two classes these depend on the probability from which on it is the second."""

_LOSSES = ("log_loss", "rmse", "mae")


def is_loss(metric: str) -> bool:
    """Whether less is better."""
    return metric in _LOSSES or metric.startswith(QUANTILE)


def quantile_of(metric: str) -> float:
    """The quantile of a quantile loss."""
    return float(metric.removeprefix(QUANTILE))


def check_metric(metric: str) -> None:
    """Complain about a name that is none."""
    if metric in (*OF_CLASSES, *OF_NUMBERS):
        return
    try:
        if metric.startswith(QUANTILE) and 0 < quantile_of(metric) < 1:
            return
    except ValueError:
        pass
    raise UsageError(
        f"metric must be one of {', '.join(OF_CLASSES)} for classes, {', '.join(OF_NUMBERS)} or a "
        f"quantile loss such as quantile=0.9 for numbers; got {told(metric)}"
    )


def is_of_classes(metric: str) -> bool:
    """Whether it is for classes, and not for numbers."""
    return metric in OF_CLASSES
