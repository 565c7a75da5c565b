"""Networks of your own as spaces: decisions for build functions, layers that follow widths.

    import meritnas.nn as mn

    def build(pick, inputs, outputs):
        width = pick.width("width", 8, 16, 32)
        return nn.Sequential(mn.Linear(inputs, width), nn.ReLU(), mn.Linear(width, outputs))

It may import `supernet` and what comes before. In a network alone all of these are torch's own
modules. Start reading at `choice.py`, then `sliced.py`.
"""

from __future__ import annotations

from meritnas.nn.choice import Choice as Choice
from meritnas.nn.choice import Pick as Pick
from meritnas.nn.choice import Stack as Stack
from meritnas.nn.layers import BatchNorm1d as BatchNorm1d
from meritnas.nn.layers import BatchNorm2d as BatchNorm2d
from meritnas.nn.layers import Conv1d as Conv1d
from meritnas.nn.layers import Conv2d as Conv2d
from meritnas.nn.layers import Embedding as Embedding
from meritnas.nn.layers import LayerNorm as LayerNorm
from meritnas.nn.layers import Linear as Linear
from meritnas.nn.prune import prunable as prunable
from meritnas.nn.values import maximum as maximum
from meritnas.nn.words import Words as Words
