from __future__ import annotations

import re

from meritnas.errors import SpaceError

CLASSES = {
    "ReluConvNorm": '''class ReluConvNorm(nn.Sequential):
    """ReLU, convolution without bias, batch norm."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
''',
    "Depthwise": '''class Depthwise(nn.Sequential):
    """ReLU, a convolution of each channel by itself, a 1x1 convolution, batch norm."""

    def __init__(self, channels: int, kernel: int, stride: int, dilation: int) -> None:
        padding = dilation * (kernel // 2)
        super().__init__(
            nn.ReLU(),
            nn.Conv2d(
                channels, channels, kernel, stride, padding, dilation, groups=channels, bias=False
            ),
            nn.Conv2d(channels, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        )
''',
    "SeparableConv": '''class SeparableConv(nn.Sequential):
    """Two depthwise convolutions; the stride is in the first."""

    def __init__(self, channels: int, kernel: int, stride: int) -> None:
        super().__init__(
            Depthwise(channels, kernel, stride, dilation=1),
            Depthwise(channels, kernel, 1, dilation=1),
        )
''',
    "FactorizedReduce": '''class FactorizedReduce(nn.Module):
    """Half the size: ReLU, two 1x1 convolutions of every other pixel, batch norm."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.even = nn.Conv2d(inputs, outputs // 2, 1, bias=False)
        self.odd = nn.Conv2d(inputs, outputs - outputs // 2, 1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, inputs, h, w] -> [n, outputs, ceil(h / 2), ceil(w / 2)]."""
        active = torch.relu(inputs)
        even = active[:, :, ::2, ::2]
        odd = nn.functional.pad(active, (-1, 1, -1, 1))[:, :, ::2, ::2]
        return self.norm(torch.cat([self.even(even), self.odd(odd)], dim=1))
''',
    "Noise": '''class Noise(nn.Module):
    """Normal noise of the shape that an operation would give."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.stride = stride

    def forward(self, inputs: Tensor) -> Tensor:
        """N(0, 1), drawn from torch's own generator."""
        return torch.randn_like(inputs[:, :, :: self.stride, :: self.stride])
''',
    "Residual": '''class Residual(nn.Module):
    """Half the size, twice the channels: two convolutions beside pooling and a 1x1 one."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = ReluConvNorm(inputs, outputs, 3, stride=2)
        self.second = ReluConvNorm(outputs, outputs, 3)
        self.pool = nn.AvgPool2d(2, 2, ceil_mode=True, count_include_pad=False)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, bias=False)

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, inputs, h, w] -> [n, outputs, ceil(h / 2), ceil(w / 2)]."""
        return self.shortcut(self.pool(inputs)) + self.second(self.first(inputs))
''',
}
"""Source of the parts of networks of cells; each uses only those before it."""


def used_classes(source: str) -> str:
    """The source of all classes that a source makes objects of, and of those they need."""
    found: list[str] = []
    for name in reversed(CLASSES):
        if re.search(rf"\b{name}\(", "".join([source, *found])):
            found.insert(0, CLASSES[name] + "\n\n")
    return "".join(found)


def operation_source(name: str, stride: int) -> str | None:
    """The expression that makes an operation of so many `channels`; None if it does nothing."""
    sources = {
        "skip_connect": None if stride == 1 else "FactorizedReduce(channels, channels)",
        "avg_pool_3x3": f"nn.AvgPool2d(3, {stride}, 1, count_include_pad=False)",
        "max_pool_3x3": f"nn.MaxPool2d(3, {stride}, 1)",
        "nor_conv_1x1": f"ReluConvNorm(channels, channels, 1, stride={stride})",
        "nor_conv_3x3": f"ReluConvNorm(channels, channels, 3, stride={stride})",
        "sep_conv_3x3": f"SeparableConv(channels, 3, stride={stride})",
        "sep_conv_5x5": f"SeparableConv(channels, 5, stride={stride})",
        "dil_conv_3x3": f"Depthwise(channels, 3, stride={stride}, dilation=2)",
        "dil_conv_5x5": f"Depthwise(channels, 5, stride={stride}, dilation=2)",
        "noise": f"Noise(stride={stride})",
    }
    if name not in sources:
        raise SpaceError(f"no operation '{name}'; there are {', '.join(sources)}")
    return sources[name]
