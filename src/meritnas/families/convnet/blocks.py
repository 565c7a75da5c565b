"""The blocks that stages are made of, and what each of them costs."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

LEAST_SQUEEZED = 4
SQUEEZE = 4
"""Channels are squeezed into a quarter, and at least into four."""

Kind = Literal["plain", "residual", "inverted"]


class Block(NamedTuple):
    """A kind of block.

    - `plain`: a convolution, batch norm, ReLU.
    - `residual`: two of them beside a shortcut (He et al., 2016). In the first block of a stage the
      shortcut is a 1x1 convolution with a norm, in others it is the input itself.
    - `inverted`: a 1x1 convolution to more channels, a convolution of each channel by itself, a 1x1
      convolution without activation (MobileNetV2, Sandler et al., 2018), beside a shortcut in all
      but the first block of a stage. Deviation: what is inside goes with what comes out, in the
      paper with what comes in; where a stage begins these differ.

    With `squeeze`, channels are scaled by what they are on average (squeeze-and-excitation, Hu et
    al., 2018): at the end of a plain or residual branch, between the last two convolutions of an
    inverted one.

    Attributes:
        kind: see above.
        kernel: pixels each way.
        expansion: how many times as many channels an inverted block has inside as come out.
        squeeze: see above.
    """

    kind: Kind
    kernel: int
    expansion: int = 1
    squeeze: bool = False


BLOCKS = {
    "plain3": Block("plain", 3),
    "plain5": Block("plain", 5),
    "plain3se": Block("plain", 3, squeeze=True),
    "residual3": Block("residual", 3),
    "residual5": Block("residual", 5),
    "residual3se": Block("residual", 3, squeeze=True),
    "inverted3x2": Block("inverted", 3, 2),
    "inverted3x4": Block("inverted", 3, 4),
    "inverted5x4": Block("inverted", 5, 4),
    "inverted3x4se": Block("inverted", 3, 4, True),
}
"""What a block's name stands for: its kind, kernel and expansion, `se` for squeeze."""


def squeezed(channels: int) -> int:
    """The units between so many channels and their factors."""
    return max(LEAST_SQUEEZED, channels // SQUEEZE)


def convolutions(
    block: Block, inputs: Any, width: Any, first: bool
) -> dict[str, tuple[Any, Any, int, Any]]:
    """(channels that come in, channels that go out, kernel, groups) of a block's convolutions.

    Each is followed by a batch norm. By their names in the network.

    Args:
        block: which one.
        inputs: channels that come in, decided or not.
        width: channels that go out, decided or not.
        first: whether it is the first of a stage.
    """
    if block.kind == "plain":
        return {"conv": (inputs, width, block.kernel, 1)}
    if block.kind == "residual":
        shortcut = {"shortcut": (inputs, width, 1, 1)} if first else {}
        return {
            "conv1": (inputs, width, block.kernel, 1),
            "conv2": (width, width, block.kernel, 1),
            **shortcut,
        }
    inside = block.expansion * width
    return {
        "expand": (inputs, inside, 1, 1),
        "each": (inside, inside, block.kernel, inside),
        "project": (inside, width, 1, 1),
    }


def squeezed_channels(block: Block, width: Any) -> Any:
    """The channels that are scaled by squeeze-and-excitation; 0 for none."""
    return block.expansion * width if block.squeeze else 0


def parameters(block: Block, inputs: int, width: int, first: bool) -> int:
    """The weights of a block, norms included."""
    total = 0
    for come, go, kernel, groups in convolutions(block, inputs, width, first).values():
        total += come // groups * go * kernel**2 + 2 * go
    channels = squeezed_channels(block, width)
    hidden = squeezed(channels)
    return total + (2 * channels * hidden + channels + hidden if channels else 0)


def multiply_adds(block: Block, inputs: int, width: int, first: bool) -> tuple[int, int]:
    """(multiply-adds for every pixel, those that do not depend on the number of pixels)."""
    each = sum(
        come // groups * go * kernel**2
        for come, go, kernel, groups in convolutions(block, inputs, width, first).values()
    )
    channels = squeezed_channels(block, width)
    return each, 2 * channels * squeezed(channels) if channels else 0
