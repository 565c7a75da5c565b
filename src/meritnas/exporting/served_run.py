"""A run as the service of `alone/service.py` knows networks."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
from torch import Tensor

from meritnas.data.kinds import kind_of
from meritnas.errors import UsageError
from meritnas.prediction.predictor import Predictor
from meritnas.prediction.writer import write_text


def check_server() -> None:
    """Complain where the package that listens is missing, before a run is loaded for it."""
    if find_spec("uvicorn") is None:
        raise UsageError(
            "the package uvicorn is not installed; install it with pip install 'meritnas[serve]'"
        )


class ServedRun:
    """A run's network, with the names that programs of exported folders have.

    Args:
        predictor: the run's.
    """

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        self.encoder = predictor.encoder.to_json()
        self.task = predictor.task

    def read(self, path: Path) -> tuple[Any, list[str] | None]:
        """What is in a file, and the names of its rows where they have some."""
        found = kind_of(self._predictor.encoder).read_new(
            str(path), self._predictor.encoder, self.task
        )
        return found.data, found.names

    def outputs(self, data: Any) -> Tensor:
        """What the network says; a list of dicts is a table."""
        rows = pd.DataFrame(data) if isinstance(data, list) else data
        return self._predictor.outputs(rows)

    def write(self, **asked: Any) -> str:
        """What a language model goes on with."""
        return write_text(self._predictor, **asked)
