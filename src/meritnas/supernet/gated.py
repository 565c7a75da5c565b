"""A supernet made from a network that has `Mixed` modules inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property

from torch import Tensor, nn
from torch.func import functional_call

from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.memory import remembering


class GatedSupernet(nn.Module):
    """The supernet of a network whose choices are `Mixed` modules.

    A child has its operations at the paths where the body has the `Mixed` modules, and everything
    else at the same paths as the body; that is all that `extract` relies on.

    Args:
        body: `body(inputs, gates)` -> outputs.
        edges: the path of every `Mixed` module in the body -> the decision that it answers;
            several may answer the same one.
        child: picks -> a fresh child.
    """

    def __init__(
        self,
        body: nn.Module,
        edges: Mapping[str, int],
        child: Callable[[Sequence[int]], nn.Module],
    ) -> None:
        super().__init__()
        self.body = body
        self._edges = dict(edges)
        self._child = child

    def forward(
        self, inputs: Tensor, gates: Gates, weights: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """[n, channels, h, w] -> [n, outputs] of the network that the gates select or mix."""
        if weights is None:
            found: Tensor = self.body(inputs, gates)
            return found
        # No weight has two names here, and looking for such takes longer than a small step.
        swapped: Tensor = functional_call(self, dict(weights), (inputs, gates), tie_weights=False)
        return swapped

    def each(self, inputs: Tensor, picks: Sequence[Sequence[int]]) -> list[Tensor]:
        """Outputs [n, outputs] of several architectures on one batch."""
        return [self.body(inputs, one_path(row)) for row in picks]

    def blocks(self, gates: Gates) -> dict[str, tuple[int, ...]]:
        """What is not searched, and the active options; all of them whole."""
        blocks = dict(self._fixed)
        for decision, options in self._searched.items():
            for option in gates[decision].active:
                blocks.update(options.get(option, {}))
        return blocks

    def remembering(self) -> AbstractContextManager[None]:
        """The body keeps what it can."""
        return remembering(self.body)

    def whole(self) -> Gates | None:
        """None: an option's weights are no part of another's, each is trained on its own paths."""
        return None

    def extract(self, picks: Sequence[int]) -> dict[str, Tensor]:
        """One architecture's weights by the names of its child.

        What the supernet does not have, the weights and statistics of norms in cells, is as in a
        fresh child.
        """
        own = self.body.state_dict()
        found = {}
        for name, fresh in self._child(picks).state_dict().items():
            source = own.get(self._own_name(name, picks), fresh)
            if source.shape != fresh.shape:
                raise ValueError(
                    f"the child's {name} has shape {tuple(fresh.shape)}, the supernet's "
                    f"{tuple(source.shape)}: only a supernet as large as the child, with whole "
                    "channels, can be taken apart"
                )
            found[name] = source.detach().clone()
        return found

    def _own_name(self, name: str, picks: Sequence[int]) -> str:
        for path, decision in self._edges.items():
            if name.startswith(path + "."):
                rest = name[len(path) + 1 :]
                return f"{path}.options.{picks[decision]}.{rest}"
        return name

    @cached_property
    def _fixed(self) -> dict[str, tuple[int, ...]]:
        searched = {
            name for options in self._searched.values() for o in options.values() for name in o
        }
        return {
            name: tuple(param.shape)
            for name, param in self.named_parameters()
            if name not in searched
        }

    @cached_property
    def _searched(self) -> dict[int, dict[int, dict[str, tuple[int, ...]]]]:
        """Decision -> option -> the names and shapes of its weights in all cells."""
        found: dict[int, dict[int, dict[str, tuple[int, ...]]]] = {}
        paths = {f"body.{path}.options.": decision for path, decision in self._edges.items()}
        for name, param in self.named_parameters():
            head, mark, rest = name.partition(".options.")
            decision = paths.get(head + mark)
            if decision is not None:
                option = int(rest.partition(".")[0])
                names = found.setdefault(decision, {}).setdefault(option, {})
                names[name] = tuple(param.shape)
        return found
