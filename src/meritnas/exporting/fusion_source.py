from __future__ import annotations

from collections.abc import Sequence

from meritnas.errors import UsageError
from meritnas.exporting.fusion_operation_source import CLASSES, fusion_operations_source
from meritnas.exporting.fusion_reader_source import escaped, quoted, reader_source
from meritnas.families.fusion.family import FusionSpace
from meritnas.families.fusion.text import CellPlan, ends
from meritnas.space.rule import X, Y

_WIDEST = 100


def fusion_source(family: FusionSpace, options: Sequence[str]) -> str:
    """The class `Network` for several modalities, its cells, its `Reader` and what they need.

    Layers of features that no cell reads are weights of the trained network and counted in its
    size; they are made, so that its weights fit, marked as such and never run.

    Raises:
        UsageError: A modality has a backbone of the user's own.
    """
    for number, backbone in family.backbones:
        if callable(backbone):
            raise UsageError(
                f"the backbone of '{family.layout.names[number]}' is a function of your own, whose "
                "source cannot be written as Python here; use --to onnx or --to torch-export"
            )
    inputs = [ends([options[i] for i in plan.edges]) for plan in family.plans]
    read = {k for pair in inputs for k in pair if k < len(family.features)}
    operations = {options[step.operation] for plan in family.plans for step in plan.steps}
    return (
        reader_source(family, read)
        + fusion_operations_source(family, operations)
        + _STEP
        + "".join(_cell(family, k, options) for k in range(family.cells))
        + _network(family, inputs)
    )


_STEP = '''class Step(nn.Module):
    """A step of a cell."""

    def __init__(self, operation: nn.Module) -> None:
        super().__init__()
        self.operation = operation

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Two features -> one of the same shape."""
        return self.operation(x, y)


'''


def _cell(family: FusionSpace, number: int, options: Sequence[str]) -> str:
    """The class of a cell, its steps spelled out."""
    plan, c, long = family.plans[number], family.channels, family.length
    x, y = (family.sources[k] for k in ends([options[i] for i in plan.edges]))
    names = [options[step.operation] for step in plan.steps]
    made = "".join(
        f"                Step({CLASSES[name]}()),  # step{count}\n"
        for count, name in enumerate(names, start=1)
    )
    outputs = [f"step{count}" for count in range(1, len(names) + 1)]
    join, end = "", "step1 + x"
    if len(outputs) > 1:
        join = f"""        self.join = nn.Sequential(
            nn.Conv1d({len(outputs) * c}, {c}, 1),
            nn.BatchNorm1d({c}),
            nn.ReLU(),
        )
"""
        end = "self.join(torch.cat(steps, dim=1)) + x"
    listed = _line("steps = ", "[", outputs, "]") if join else ""
    return f'''class Cell{number + 1}(nn.Module):
    """Fuses {escaped(x)} (x) with {escaped(y)} (y)."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.ModuleList(
            [
{made}            ]
        )
{join}        self.norm = nn.LayerNorm(({c}, {long}))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Two of [n, {c}, {long}] -> the same."""
{_steps(plan, options)}{listed}        return self.norm({end})


'''


def _steps(plan: CellPlan, options: Sequence[str]) -> str:
    states, found = [X, Y], ""
    for place, step in enumerate(plan.steps):
        first, second = ends([options[i] for i in step.edges])
        states.append(f"step{place + 1}")
        found += f"        {states[-1]} = self.steps[{place}]({states[first]}, {states[second]})\n"
    return found


def _network(family: FusionSpace, inputs: Sequence[tuple[int, int]]) -> str:
    c, long, cells = family.channels, family.length, family.cells
    states = [f"features[{quoted(name)}]" for name in family.sources[: len(family.features)]]
    outputs = [f"cell{number}" for number in range(1, cells + 1)]
    states += outputs
    run = "".join(
        _line(f"{outputs[k]} = self.cells[{k}]", "(", (states[x], states[y]), ")")
        for k, (x, y) in enumerate(inputs)
    )
    run += _line("cells = ", "[", outputs, "]")
    made = "".join(f"                Cell{number}(),\n" for number in range(1, cells + 1))
    width = family.layout.width
    return f'''class Network(nn.Module):
    """Cells that fuse features of several modalities, and a linear layer on all they give."""

    def __init__(self) -> None:
        super().__init__()
        self.reader = Reader()
        self.cells = nn.ModuleList(
            [
{made}            ]
        )
        self.norm = nn.LayerNorm(({cells * c}, {long}))
        self.output = nn.Linear({cells * c * long}, {family.outputs})

    def forward(self, rows: Tensor) -> Tensor:
        """Rows [n, {width}], whose columns `Reader` lists, -> scores [n, {family.outputs}]."""
        features = self.reader(rows)
{run}        state = torch.relu(self.norm(torch.cat(cells, dim=1)))
        return self.output(state.flatten(1))
'''


def _line(start: str, opening: str, items: Sequence[str], closing: str) -> str:
    """`start(a, b)`, one item a line where it would be too long."""
    line = f"        {start}{opening}{', '.join(items)}{closing}\n"
    if len(line) <= _WIDEST:
        return line
    rows = "".join(f"            {item},\n" for item in items)
    return f"        {start}{opening}\n{rows}        {closing}\n"
