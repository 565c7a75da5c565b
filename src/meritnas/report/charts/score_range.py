"""From where to where a score can vary, by its metric."""

from __future__ import annotations

import math

_BOUNDS = {
    **dict.fromkeys(("accuracy", "balanced_error", "roc_auc"), (0.0, 1.0)),
    **dict.fromkeys(("f1_weighted", "f1_macro"), (0.0, 1.0)),
    "r2": (-math.inf, 1.0),
    "rmse": (0.0, math.inf),
    "log_loss": (0.0, math.inf),
    "perplexity": (1.0, math.inf),
}


def score_range(metric: str | None, mean: float, spread: float) -> tuple[float, float]:
    """From where to where a score varies: nowhere beyond what the metric can be."""
    least, most = _BOUNDS.get(str(metric), (-math.inf, math.inf))
    return max(least, mean - spread), min(most, mean + spread)
