"""Layers of a supernet: as wide as the widest network, run on the leading units that are active."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.nn.switch import Switch
from meritnas.nn.values import Size, Units, Width, extent
from meritnas.supernet.supernet import leading_block


class Sliced(nn.Module):
    """A layer whose sizes may be decided; its weights have the names that a plain one's have."""

    def __init__(self, switch: Switch, whole: nn.Module) -> None:
        super().__init__()
        self._switch = switch
        self._full: dict[str, str] = {}
        for name, param in whole.named_parameters(recurse=False):
            self.register_parameter(name, param)
        self._biased = "bias" in self._parameters

    @property
    def decisions(self) -> set[str]:
        """The decisions that its sizes follow."""
        sizes = (size for size in vars(self).values() if isinstance(size, Width))
        return {name for size in sizes for name in size.names}

    def stand_at(self, place: str) -> None:
        """Learn the layer's full name in the supernet."""
        self._full = {name: f"{place}.{name}" for name in self._parameters}

    @abstractmethod
    def extents(self, units: Units) -> dict[str, tuple[int, ...]]:
        """The leading blocks of its weights where widths are these."""

    def cut(self, name: str, *extents: int) -> Tensor:
        """A weight as far as it is active: the supernet's own, or what is in its place."""
        held = self._switch.held
        own = held.get(self._full[name]) if held else None
        if own is None:
            own = self._parameters[name]
        assert own is not None
        return own if own.shape == extents else leading_block(own, extents)

    def cut_bias(self, units: int) -> Tensor | None:
        """The bias as far as it is active, if the layer has one."""
        return self.cut("bias", units) if self._biased else None

    def _with_bias(
        self, units: int, extents: Mapping[str, tuple[int, ...]]
    ) -> dict[str, tuple[int, ...]]:
        return {**extents, **({"bias": (units,)} if self._biased else {})}


class SlicedLinear(Sliced):
    """A linear layer with decided inputs, outputs or both."""

    def __init__(self, switch: Switch, whole: nn.Linear, inputs: Size, outputs: Size) -> None:
        super().__init__(switch, whole)
        self._inputs, self._outputs = inputs, outputs

    def forward(self, inputs: Tensor) -> Tensor:
        """[..., inputs] -> [..., outputs]."""
        units = self._switch.extent(self._outputs)
        weight = self.cut("weight", units, inputs.shape[-1])
        found = F.linear(inputs, weight, self.cut_bias(units))
        return self._switch.weighted(found, self._outputs, -1)

    def extents(self, units: Units) -> dict[str, tuple[int, ...]]:
        """Rows of what goes out, columns of what comes in."""
        out = extent(self._outputs, units)
        return self._with_bias(out, {"weight": (out, extent(self._inputs, units))})


class SlicedConv(Sliced):
    """A convolution over one or two dimensions with decided channels, and perhaps groups."""

    def __init__(
        self,
        switch: Switch,
        whole: nn.Conv1d | nn.Conv2d,
        inputs: Size,
        outputs: Size,
        groups: Size,
    ) -> None:
        super().__init__(switch, whole)
        self._inputs, self._outputs, self._groups = inputs, outputs, groups
        self._kernel = tuple(whole.kernel_size)
        self._mode = whole.padding_mode
        self._around = whole._reversed_padding_repeated_twice
        self._options: dict[str, Any] = {
            "stride": whole.stride,
            "padding": whole.padding if whole.padding_mode == "zeros" else 0,
            "dilation": whole.dilation,
        }
        self._convolve: Any = F.conv1d if isinstance(whole, nn.Conv1d) else F.conv2d

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, channels, ...] -> [n, channels, ...]."""
        units, groups = self._switch.extent(self._outputs), self._switch.extent(self._groups)
        weight = self.cut("weight", units, inputs.shape[1] // groups, *self._kernel)
        if self._mode != "zeros":
            inputs = F.pad(inputs, self._around, mode=self._mode)
        found = self._convolve(inputs, weight, self.cut_bias(units), groups=groups, **self._options)
        return self._switch.weighted(found, self._outputs, 1)

    def extents(self, units: Units) -> dict[str, tuple[int, ...]]:
        """Channels; kernels whole."""
        out, come = extent(self._outputs, units), extent(self._inputs, units)
        block = (out, come // extent(self._groups, units), *self._kernel)
        return self._with_bias(out, {"weight": block})


class SlicedEmbedding(Sliced):
    """Embeddings of a decided width."""

    def __init__(self, switch: Switch, whole: nn.Embedding, width: Size) -> None:
        super().__init__(switch, whole)
        self._rows, self._width, self._padding = whole.num_embeddings, width, whole.padding_idx

    def forward(self, inputs: Tensor) -> Tensor:
        """Codes [...] -> [..., width]."""
        table = self.cut("weight", self._rows, self._switch.extent(self._width))
        found = F.embedding(inputs, table, self._padding)
        return self._switch.weighted(found, self._width, -1)

    def extents(self, units: Units) -> dict[str, tuple[int, ...]]:
        """All rows as far as they are wide."""
        return {"weight": (self._rows, extent(self._width, units))}


class SlicedLayerNorm(Sliced):
    """A norm over the active units alone; of a mixture, each width over its own."""

    def __init__(self, switch: Switch, whole: nn.LayerNorm, width: Size) -> None:
        super().__init__(switch, whole)
        self._width, self._eps = width, whole.eps
        self._affine = whole.elementwise_affine

    def forward(self, inputs: Tensor) -> Tensor:
        """[..., width] -> the same."""
        if not isinstance(self._width, Width) or self._switch.plain(self._width):
            return self._normal(inputs, inputs.shape[-1])
        if self._switch.silent(self._width):
            return torch.zeros_like(inputs)
        raw = getattr(inputs, "unweighted", inputs)
        total = torch.zeros_like(raw)
        for units, weight in self._switch.combinations(self._width):
            own = self._normal(raw[..., :units], units)
            own = F.pad(own, (0, raw.shape[-1] - units))
            total = total + (own if weight is None else own * weight.to(own))
        return total

    def _normal(self, values: Tensor, units: int) -> Tensor:
        weight = self.cut("weight", units) if self._affine else None
        return F.layer_norm(values, (units,), weight, self.cut_bias(units), self._eps)

    def extents(self, units: Units) -> dict[str, tuple[int, ...]]:
        """Of the active units."""
        out = extent(self._width, units)
        return self._with_bias(out, {"weight": (out,)} if self._affine else {})


class SlicedBatchNorm(Sliced):
    """Batch normalisation of the active channels, by the statistics of the batch.

    Attributes:
        alone: the weights that a network alone has here, and this has not.
    """

    def __init__(
        self,
        switch: Switch,
        whole: nn.BatchNorm1d | nn.BatchNorm2d,
        width: Size,
        weights_alone: bool = False,
    ) -> None:
        super().__init__(switch, nn.Identity() if weights_alone else whole)
        self.alone = tuple(whole._parameters) if weights_alone and whole.affine else ()
        self._width, self._eps = width, whole.eps
        self._affine = whole.affine and not weights_alone

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, channels, ...] -> the same."""
        decided = isinstance(self._width, Width) and not self._switch.plain(self._width)
        raw = getattr(inputs, "unweighted", inputs) if decided else inputs
        units = raw.shape[1]
        weight = self.cut("weight", units) if self._affine else None
        found = F.batch_norm(
            raw, None, None, weight, self.cut_bias(units), training=True, eps=self._eps
        )
        if not decided:
            return found
        assert isinstance(self._width, Width)
        return self._switch.times_weights(found, self._width, 1)

    def extents(self, units: Units) -> dict[str, tuple[int, ...]]:
        """Of the active channels."""
        out = extent(self._width, units)
        return self._with_bias(out, {"weight": (out,)} if self._affine else {})
