"""The file that says how data becomes inputs and scores become answers."""

from __future__ import annotations

import json
from typing import Any

from meritnas.data.kinds import kind_of
from meritnas.data.task import Task
from meritnas.exporting.trained import Trained, network_input

FILE = "preprocessing.json"

_ANSWERS = {
    "binary": "one score, the logit of the second class, which is the answer where its "
    "probability is above `threshold`",
    "multiclass": "one score, a logit, for each class",
    "multilabel": "one score, a logit, for each label; each label is there above 0",
    "regression": "one score; score * scale + mean is the answer",
    "language": "one score, a logit, for each word that may follow",
}


def preprocessing_files(trained: Trained) -> dict[str, bytes]:
    """`preprocessing.json`: how data becomes inputs and scores become answers, in plain terms."""
    text = json.dumps(describe(trained), indent=1, ensure_ascii=False, allow_nan=False)
    return {FILE: (text + "\n").encode()}


def describe(trained: Trained) -> dict[str, Any]:
    """What `preprocessing.json` holds; the same for all forms of export."""
    encoder, task = trained.predictor.encoder, trained.predictor.task
    found = kind_of(encoder).description(encoder)
    shape, kind = network_input(trained)
    return {
        **found,
        "architecture": trained.architecture.text,
        "answers": _answers(task),
        "network_input": {"shape": shape, "type": kind},
        "limits": dict(trained.limits),
    }


def _answers(task: Task) -> dict[str, Any]:
    found: dict[str, Any] = {
        "target": task.target,
        "task": task.kind,
        "scores": _ANSWERS[task.kind],
    }
    if task.classes:
        found["classes"] = list(task.classes)
    if task.kind == "binary":
        found["threshold"] = task.threshold
    if task.kind == "regression":
        found |= {"mean": task.mean, "scale": task.scale}
    return found
