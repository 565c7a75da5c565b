"""Settings that only a search has: training a network that is given has no use for them."""

from __future__ import annotations

SEARCH_ONLY = frozenset(
    {
        *("strategy", "pareto", "epochs", "minutes", "warmup"),
        *("candidates", "trials", "finalists", "plain", "workers"),
        *("supernet_channels", "supernet_cells", "partial_channels", "zero", "new_inputs"),
        *("search_dropout", "learn_on"),
    }
)
"""Names of fields. Of `Retraining`, epochs and seeds are what a training is asked for."""
