"""Windows of a text for several workers, each of which goes on with a stretch of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meritnas.data.bundle import Part
from meritnas.data.stream import Batch, ContinuingStream, check_saved
from meritnas.errors import UsageError


class SharedText:
    """Endless windows of a text whose windows are cut into as many stretches as there are workers.

    What a network remembers is carried on from window to window of a worker's stretch, and
    forgotten where the stretch begins again. Stretches differ by a window at most, so all windows
    are read equally often in the long run.

    Args:
        part: Pieces that continue each other.
        workers: How many there are.
    """

    def __init__(self, part: Part, workers: int) -> None:
        self._common = ContinuingStream(part)
        windows = self._common.steps_per_epoch
        if windows < workers:
            raise UsageError(
                f"workers must be at most {windows} for this text, got {workers}: each goes on "
                "with windows of its own, and there are no more; give fewer workers"
            )
        bounds = [v * windows // workers for v in range(workers + 1)]
        self._stretches = [ContinuingStream(part, bounds[v], bounds[v + 1]) for v in range(workers)]

    @property
    def steps_per_epoch(self) -> int:
        """Number of windows of the whole text."""
        return self._common.steps_per_epoch

    def next(self) -> Batch:
        """Returns a window on which all workers look together: of the text as it goes on."""
        return self._common.next()

    def of_workers(self, workers: int) -> list[Batch]:
        """Returns the next window of each worker's stretch."""
        assert workers == len(self._stretches)
        return [own.next() for own in self._stretches]

    def state_dict(self) -> dict[str, Any]:
        """Returns where all stretches stand and what is carried on in each."""
        return {
            "common": self._common.state_dict(),
            "stretches": [own.state_dict() for own in self._stretches],
            "workers": len(self._stretches),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues where the stream that gave `state` stood.

        Raises:
            DataError: That stream had another number of pieces or workers.
        """
        check_saved(state, workers=len(self._stretches))
        self._common.load_state_dict(state["common"])
        for own, saved in zip(self._stretches, state["stretches"], strict=True):
            own.load_state_dict(saved)
