from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from meritnas import NASClassifier, Retraining, Tabular
from meritnas.estimators import base
from meritnas.run.local_ranks import cores
from meritnas.settings.request import RunOptions
from meritnas.tasks.crew import Crew
from meritnas.tasks.hire import hired


def test_trainings_of_a_fit_are_done_by_who_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(80, 3)), np.arange(80) % 2
    small = NASClassifier(
        space=Tabular(layers=2, widths=(4, 8)),
        epochs=1,
        retraining=Retraining(epochs=2, finalists=2, dropout=0.0),
        random_state=0,
    )
    alone = small.fit(rows, labels)
    asked: list[int | None] = []

    @contextmanager
    def by_threads(options: RunOptions) -> Iterator[Crew]:
        asked.append(options.jobs)
        with ThreadPoolExecutor(2) as pool, hired(RunOptions(executor=pool)) as crew:
            yield crew

    monkeypatch.setattr(base, "hired", by_threads)
    shared = NASClassifier(**{**small.get_params(deep=False), "n_jobs": 2}).fit(rows, labels)
    assert asked == [2]
    assert shared.architecture_ == alone.architecture_
    for one, other in zip(shared.module_.parameters(), alone.module_.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(("given", "jobs"), [(None, None), (3, 3), (-1, cores())])
def test_jobs_are_as_everywhere_in_scikit_learn(given: int | None, jobs: int | None) -> None:
    assert NASClassifier(n_jobs=given)._request(0).run.jobs == jobs
