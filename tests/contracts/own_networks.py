"""Networks of a user's own for the batteries: build functions, and a module with choices."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import meritnas.nn as mn


class ResidualLayers(nn.Module):
    """Norm, two layers and what came in."""

    def __init__(self, pick: mn.Pick, width: Any, number: int) -> None:
        super().__init__()
        hidden = pick.width(f"hidden{number}", 3, 6)
        self.norm = mn.LayerNorm(width)
        self.up = mn.Linear(width, hidden)
        self.act = pick.one("act", gelu=nn.GELU, prelu=nn.PReLU)()
        self.down = mn.Linear(hidden, width)

    def forward(self, units: Tensor) -> Tensor:
        found: Tensor = units + self.down(self.act(self.up(self.norm(units))))
        return found


def layers(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
    """A residual network for a table."""
    width = pick.width("width", 4, 6, 9)
    depth = pick.depth("blocks", 0, 1, 2)
    return nn.Sequential(
        mn.Linear(inputs, width),
        mn.Stack(depth, lambda number: ResidualLayers(pick, width, number)),
        nn.LeakyReLU(0.3),  # no unit is off for every row
        mn.Linear(width, outputs),
    )


class ResidualMaps(nn.Module):
    """Two convolutions and what came in; how large the first is is decided."""

    def __init__(self, pick: mn.Pick, width: Any, number: int) -> None:
        super().__init__()
        hidden = pick.width(f"hidden{number}", 2, 5)
        kernel = pick.one(f"kernel{number}", 1, 3)
        self.first = mn.Conv2d(width, hidden, kernel, padding=kernel // 2, bias=False)
        self.norm = mn.BatchNorm2d(hidden)
        self.each = mn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden)
        self.second = mn.Conv2d(hidden, width, 1)

    def forward(self, maps: Tensor) -> Tensor:
        found: Tensor = maps + self.second(self.each(torch.tanh(self.norm(self.first(maps)))))
        return found


class Maps(nn.Module):
    """A small residual network for images."""

    def __init__(self, pick: mn.Pick, inputs: tuple[int, ...], outputs: int) -> None:
        super().__init__()
        stem, width = pick.width("stem", 3, 4), pick.width("width", 4, 6)
        self.stem = mn.Conv2d(inputs[0], stem, 3, padding=1)
        self.wider = mn.Conv2d(stem, width * 2, 3, stride=2, padding=1)
        depth = pick.depth("blocks", 1, 2)
        self.blocks = mn.Stack(depth, lambda number: ResidualMaps(pick, width * 2, number))
        self.head = mn.Linear(width * 2, outputs)

    def forward(self, images: Tensor) -> Tensor:
        maps = self.blocks(self.wider(torch.tanh(self.stem(images))))
        found: Tensor = self.head(maps.mean((2, 3)))
        return found


def maps(pick: mn.Pick, inputs: tuple[int, ...], outputs: int) -> nn.Module:
    return Maps(pick, inputs, outputs)


class Attention(nn.Module):
    """What words say to each other, by so many heads."""

    def __init__(self, width: Any, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ask, self.key, self.value = (mn.Linear(width, width) for _ in range(3))
        self.out = mn.Linear(width, width)

    def forward(self, words: Tensor) -> Tensor:
        n, steps, _ = words.shape

        def split(values: Tensor) -> Tensor:
            return values.view(n, steps, self.heads, -1).transpose(1, 2)

        ask, key, value = (split(part(words)) for part in (self.ask, self.key, self.value))
        scores = ask @ key.transpose(2, 3)
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
        heard = (scores / ask.shape[3] ** 0.5).softmax(3) @ value
        found: Tensor = self.out(heard.transpose(1, 2).reshape(n, steps, -1))
        return found


class Layer(nn.Module):
    """A layer of a transformer."""

    def __init__(self, pick: mn.Pick, width: Any, number: int) -> None:
        super().__init__()
        hidden = pick.width(f"hidden{number}", 4, 8)
        heads = {"one": lambda: Attention(width, 1), "two": lambda: Attention(width, 2)}
        self.attention = pick.one(f"heads{number}", **heads)()
        self.norm, self.second = mn.LayerNorm(width), mn.LayerNorm(width)
        self.up, self.down = mn.Linear(width, hidden), mn.Linear(hidden, width)

    def forward(self, words: Tensor) -> Tensor:
        words = words + self.attention(self.norm(words))
        found: Tensor = words + self.down(F.gelu(self.up(self.second(words))))
        return found


class Transformer(nn.Module):
    """Words -> what follows each of them."""

    def __init__(self, pick: mn.Pick, words: int, outputs: int) -> None:
        super().__init__()
        width = pick.width("width", 4, 8)
        self.words = mn.Embedding(words, width)
        depth = pick.depth("layers", 1, 2)
        self.layers = mn.Stack(depth, lambda number: Layer(pick, width, number))
        self.out = mn.Linear(width, outputs)

    def forward(self, words: Tensor) -> Tensor:
        found: Tensor = self.out(self.layers(self.words(words)))
        return found


def transformer(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
    return Transformer(pick, inputs, outputs)


def ready(inputs: int, outputs: int) -> nn.Module:
    """A module with choices; one of them is inside another."""
    torch.manual_seed(0)
    deep = nn.Sequential(
        nn.Linear(6, 4), mn.Choice("inner", tanh=nn.Tanh(), prelu=nn.PReLU()), nn.Linear(4, 6)
    )
    return nn.Sequential(
        nn.Linear(inputs, 6),
        mn.Choice("act", gelu=nn.GELU(), prelu=nn.PReLU(6)),
        mn.Choice("middle", linear=nn.Linear(6, 6), deep=deep, none=nn.Identity()),
        mn.Choice("act", gelu=nn.GELU(), prelu=nn.PReLU(6)),
        nn.Linear(6, outputs),
    )
