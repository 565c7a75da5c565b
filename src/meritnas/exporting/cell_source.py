from __future__ import annotations

from collections.abc import Sequence

from meritnas.exporting.operation_source import operation_source, used_classes
from meritnas.families.darts.family import DartsSpace
from meritnas.families.darts.genotype import EDGES as DARTS_EDGES
from meritnas.families.darts.genotype import NODES
from meritnas.families.darts.network import CellPlan
from meritnas.families.nasbench201.family import EDGES, STAGES, Nasbench201Space
from meritnas.families.operations import NONE

_WIDEST = 100


def nasbench201_source(family: Nasbench201Space, options: Sequence[str]) -> str:
    """Classes `Cell` and `Network`, and those they need, of a network of NAS-Bench-201's space."""
    operations = [operation_source(n, 1) if n != NONE else None for n in options]
    steps = []
    for number in (1, 2, 3):
        terms = [
            _term(i, f"node{source}", operations[i])
            for i, (node, source) in enumerate(EDGES)
            if node == number and options[i] != NONE
        ]
        steps.append(_sum(f"node{number}", terms, "torch.zeros_like(node0)"))
    notes = [f"node {node} from node {source}" for node, source in EDGES]
    cell = f'''class Cell(nn.Module):
    """The found cell: node 0 is its input, node 3 its output."""

    def __init__(self, channels: int) -> None:
        super().__init__()
{_edges(operations, notes)}
    def forward(self, node0: Tensor) -> Tensor:
        """[n, channels, h, w] -> the same shape."""
{"".join(steps)}        return node3


'''
    text = cell + _nasbench201_network(family)
    return used_classes(text) + text


def _nasbench201_network(family: Nasbench201Space) -> str:
    width, parts = family.channels, []
    for stage in range(1, STAGES + 1):
        if stage > 1:
            parts.append((f"reduce{stage - 1}", f"Residual({width}, {2 * width})"))
            width *= 2
        parts += [(f"stage{stage}cell{c}", f"Cell({width})") for c in range(1, family.cells + 1)]
    made = "".join(f"        self.{name} = {source}\n" for name, source in parts)
    run = "".join(f"        state = self.{name}(state)\n" for name, _ in parts)
    depth, height, wide = family.image
    return f'''class Network(nn.Module):
    """Three stages of equal cells, and a linear layer on what they give on average."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential()
        self.stem.conv = nn.Conv2d({depth}, {family.channels}, 3, padding=1, bias=False)
        self.stem.norm = nn.BatchNorm2d({family.channels})
{made}        self.norm = nn.BatchNorm2d({width})
        self.output = nn.Linear({width}, {family.classes})

    def forward(self, images: Tensor) -> Tensor:
        """Images [n, {depth}, {height}, {wide}] -> scores [n, {family.classes}]."""
        state = self.stem(images)
{run}        state = torch.relu(self.norm(state))
        return self.output(state.mean(dim=(2, 3)))
'''


def darts_source(family: DartsSpace, options: Sequence[str]) -> str:
    """The classes of its cells, `Network` and those they need, of a network of DARTS' space."""
    names: dict[tuple[bool, tuple[str, ...]], str] = {}
    cells = []
    for plan, start in zip(family.plans, family.starts, strict=True):
        key = plan.reduction, tuple(options[start : start + len(DARTS_EDGES)])
        if key not in names:
            kind = "ReductionCell" if plan.reduction else "NormalCell"
            same = sum(reduction == plan.reduction for reduction, _ in names)
            names[key] = f"{kind}{same + 1}" if same else kind
            cells.append(_darts_cell(names[key], plan, key[1]))
    made = [
        names[plan.reduction, tuple(options[start : start + len(DARTS_EDGES)])]
        + f"({plan.before[0]}, {plan.before[1]}, {plan.channels}, shrink={plan.shrink})"
        for plan, start in zip(family.plans, family.starts, strict=True)
    ]
    text = "".join(cells) + _darts_network(family, made)
    return used_classes(text) + text


def _darts_cell(name: str, plan: CellPlan, options: Sequence[str]) -> str:
    operations = [
        operation_source(option, plan.stride(i)) if option != NONE else None
        for i, option in enumerate(options)
    ]
    stride = "[:, :, ::2, ::2]" if plan.reduction else ""
    steps = []
    for number in range(NODES):
        terms = [
            _term(i, f"state{source}", operations[i])
            for i, (node, source) in enumerate(DARTS_EDGES)
            if node == number and options[i] != NONE
        ]
        steps.append(_sum(f"state{number + 2}", terms, f"torch.zeros_like(state0{stride})"))
    size = "half the size" if plan.reduction else "the same size"
    notes = [f"state {node + 2} from state {source}" for node, source in DARTS_EDGES]
    return f'''class {name}(nn.Module):
    """The found cell: states 0 and 1 are its inputs, states 2 to 5 side by side its output."""

    def __init__(self, first: int, second: int, channels: int, shrink: bool) -> None:
        super().__init__()
        self.inputs = nn.Module()
        self.inputs.first = ReluConvNorm(first, channels, 1)
        if shrink:
            self.inputs.first = FactorizedReduce(first, channels)
        self.inputs.second = ReluConvNorm(second, channels, 1)
{_edges(operations, notes)}
    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """What the two cells before gave -> [n, 4 * channels, h, w], {size}."""
        state0 = self.inputs.first(first)
        state1 = self.inputs.second(second)
{"".join(steps)}        return torch.cat([state2, state3, state4, state5], dim=1)


'''


def _darts_network(family: DartsSpace, cells: Sequence[str]) -> str:
    depth, height, wide = family.image
    c = family.channels
    stem = f"""nn.Sequential(
                    nn.Conv2d({depth}, {3 * c}, 3, 1, 1, bias=False),
                    nn.BatchNorm2d({3 * c}),
                ),
"""
    second = "first"
    if family.stem == "imagenet":
        second = "self.stem[1](first)"
        stem = f"""nn.Sequential(
                    nn.Conv2d({depth}, {c // 2}, 3, 2, 1, bias=False),
                    nn.BatchNorm2d({c // 2}),
                    nn.ReLU(),
                    nn.Conv2d({c // 2}, {c}, 3, 2, 1, bias=False),
                    nn.BatchNorm2d({c}),
                ),
                nn.Sequential(
                    nn.ReLU(),
                    nn.Conv2d({c}, {c}, 3, 2, 1, bias=False),
                    nn.BatchNorm2d({c}),
                ),
"""
    listed = "".join(f"                {cell},\n" for cell in cells)
    return f'''class Network(nn.Module):
    """A stem, cells that read the two before them, and a linear layer on the mean."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.ModuleList(
            [
                {stem}            ]
        )
        self.cells = nn.ModuleList(
            [
{listed}            ]
        )
        self.output = nn.Linear({NODES * family.plans[-1].channels}, {family.classes})

    def forward(self, images: Tensor) -> Tensor:
        """Images [n, {depth}, {height}, {wide}] -> scores [n, {family.classes}]."""
        first = self.stem[0](images)
        second = {second}
        for cell in self.cells:
            first, second = second, cell(first, second)
        return self.output(second.mean(dim=(2, 3)))
'''


def _edges(operations: Sequence[str | None], notes: Sequence[str]) -> str:
    """The line that makes a cell's operations; what does nothing is not among them."""
    rows = [
        f'                "{i}": {source},  # {notes[i]}\n'
        for i, source in enumerate(operations)
        if source is not None
    ]
    if not rows:
        return "        self.edges = nn.ModuleDict()\n"
    return f"""        self.edges = nn.ModuleDict(
            {{
{"".join(rows)}            }}
        )
"""


def _term(edge: int, source: str, operation: str | None) -> str:
    return source if operation is None else f'self.edges["{edge}"]({source})'


def _sum(name: str, terms: Sequence[str], nothing: str) -> str:
    """`name = a + b`, one term a line where it would be too long."""
    line = f"        {name} = {' + '.join(terms) or nothing}\n"
    if len(line) <= _WIDEST:
        return line
    rows = "\n            + ".join(terms)
    return f"        {name} = (\n            {rows}\n        )\n"
