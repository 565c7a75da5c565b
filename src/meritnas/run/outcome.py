"""What a user should know about how trainings went and how good their network is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.data.bundle import Bundle
from meritnas.training.race import has_diverged
from meritnas.training.retrain import Retrained
from meritnas.training.trivial import is_worse, telling_metrics, trivial_scores

_INSTEAD = {
    "binary": "always answering the most frequent class",
    "multiclass": "always answering the most frequent class",
    "regression": "always answering the mean",
    "language": "guessing words by their frequency",
    "multilabel": "guessing labels by their frequency",
}
_NAMES = {
    "accuracy": "accuracy",
    "balanced_error": "balanced error",
    "log_loss": "log loss",
    "r2": "R2",
    "perplexity": "perplexity",
    "f1_weighted": "weighted F1",
}


def outcome_notes(
    bundle: Bundle[Any],
    trained: Retrained,
    ladder: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
) -> list[str]:
    """A sentence each: trainings that diverged, limits without a network, a network of no use.

    Args:
        bundle: the data.
        trained: the winner.
        ladder: the smaller limits that networks were to be trained for.
        rows: of the networks that there are.
    """
    found = [_diverged(trained), _missing_rungs(ladder, rows), _no_use(bundle, trained)]
    return [note for note in found if note]


def _diverged(trained: Retrained) -> str:
    count = sum(map(has_diverged, trained.results))
    if not count:
        return ""
    return (
        f"{count} of {len(trained.results)} trainings diverged and are in no score; a smaller "
        "learning rate would help"
    )


def _missing_rungs(ladder: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> str:
    there = {int(row["limit"]) for row in rows}
    missing = [f"{int(rung['limit']):,}" for rung in ladder if int(rung["limit"]) not in there]
    if not missing:
        return ""
    return f"there is no network for at most {', '.join(missing)} parameters: training diverged"


def _no_use(bundle: Bundle[Any], trained: Retrained) -> str:
    task, scores = bundle.task, trained.test
    if not scores:
        return ""
    trivial = trivial_scores(task, bundle.train.sample, bundle.test)
    metrics = telling_metrics(task, fair=bundle.test.weights is None)
    if not is_worse(metrics, scores, trivial):
        return ""
    against = ", ".join(
        f"{_NAMES[metric]} {scores[metric]:.3g} against {trivial[metric]:.3g}" for metric in metrics
    )
    return (
        f"the network is no better than {_INSTEAD[task.kind]} ({against} on held-out data): do not "
        "use it as it is; train it longer with meritnas retrain RUN --epochs N, or search anew "
        "with more epochs or a smaller learning rate"
    )
