"""What a supernet is: shared weights of all options that take gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from torch import Tensor, nn

from meritnas.supernet.gates import Gates


class Supernet(Protocol):
    """The shared weights of all options; an `nn.Module` that knows no policy and no strategy."""

    def __call__(
        self, inputs: Tensor, gates: Gates, weights: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """Outputs [n, outputs] of the network that the gates select or mix.

        Args:
            inputs: a batch.
            gates: one for each decision.
            weights: tensors in place of the parameters of these names, cut to the `blocks` of
                the gates or whole; None for the supernet's own.
        """
        ...

    def each(self, inputs: Tensor, picks: Sequence[Sequence[int]]) -> list[Tensor]:
        """Outputs of several architectures on one batch; what they share is computed once."""
        ...

    def blocks(self, gates: Gates) -> dict[str, tuple[int, ...]]:
        """The weights that these gates use.

        For each parameter's name the extents of its leading block. Parameters that are not named,
        and what lies beyond a block, take no part.
        """
        ...

    def remembering(self) -> AbstractContextManager[None]:
        """Inside, what the same inputs and gates give is computed once; weights must not change."""
        ...

    def whole(self) -> Gates | None:
        """The gates under which all weights take part (the warm-up of TabNAS, section 3.1).

        None where the options' weights have nothing in common, so that this helps nobody.
        """
        ...

    def extract(self, picks: Sequence[int]) -> dict[str, Tensor]:
        """Copies of one architecture's weights under the names of its stand-alone child."""
        ...


@runtime_checkable
class Recurrent(Protocol):
    """A supernet that reads words in order and remembers."""

    def advance(
        self,
        inputs: Tensor,
        gates: Gates,
        weights: Mapping[str, Tensor] | None = None,
        state: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """(outputs, the state after the last word), from a state or a fresh one."""
        ...


@runtime_checkable
class Remembering(Recurrent, Protocol):
    """One whose state has the same size for all networks, so that workers can exchange it."""

    @property
    def remembered(self) -> int:
        """How many numbers it remembers of each row."""
        ...


def leading_block(tensor: Tensor, extents: Sequence[int]) -> Tensor:
    """The view of a tensor's first `extents[d]` entries along every dimension d."""
    for dimension, extent in enumerate(extents):
        if tensor.shape[dimension] != extent:
            tensor = tensor.narrow(dimension, 0, extent)
    return tensor


def module_of(supernet: Supernet) -> nn.Module:
    """The supernet as the torch Module that it is."""
    assert isinstance(supernet, nn.Module)
    return supernet
