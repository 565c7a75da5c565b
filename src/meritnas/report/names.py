"""How people write metrics, costs and amounts of costs."""

from __future__ import annotations

from meritnas.data.metric_names import QUANTILE
from meritnas.report.numbers import count_text

_COST_NAMES = {
    "params": "parameters",
    "params-paper": "parameters, as papers count",
    "flops": "multiply-adds",
    "flops-paper": "multiply-adds, as papers count",
    "size": "stored size",
    "size-int8": "stored size in int8",
    "latency": "latency",
    "peak": "activations at once",
    "file": "the whole file",
    "constants": "all constants",
}
_METRIC_NAMES = {
    "accuracy": "accuracy",
    "balanced_error": "balanced error",
    "log_loss": "log loss",
    "roc_auc": "ROC AUC",
    "r2": "R2",
    "rmse": "RMSE",
    "perplexity": "perplexity",
    "f1_weighted": "weighted F1",
    "f1_macro": "macro F1",
    "f1": "F1",
    "balanced_accuracy": "balanced accuracy",
    "average_precision": "average precision",
    "mae": "MAE",
}


def metric_name(metric: str) -> str:
    """How people write a metric."""
    if metric.startswith(QUANTILE):
        return f"quantile loss at {metric.removeprefix(QUANTILE)}"
    return _METRIC_NAMES.get(metric, metric)


def cost_name(cost: str) -> str:
    """How people call a cost."""
    return _COST_NAMES.get(cost, cost)


def amount_text(cost: str, amount: int) -> str:
    """A cost in the unit that its limit is given in."""
    if cost in ("size", "size-int8", "peak", "file", "constants"):
        return f"{amount / 1000:,.1f} kB"
    if cost == "latency":
        return f"{amount / 1000:,.3f} ms"
    return count_text(amount)
