from __future__ import annotations

from collections.abc import Sequence

from meritnas.families.recurrent.family import NONE, RecurrentSpace

_ACTS = {"relu": "torch.relu", "tanh": "torch.tanh", "sigmoid": "torch.sigmoid"}


def recurrent_source(family: RecurrentSpace, options: Sequence[str]) -> str:
    """The class `Network` of a language model, the step of its cell spelled out."""
    width, words = family.width, family.vocabulary
    present = [i for i, name in enumerate(options) if name != NONE]
    mapped = [i for i in present if options[i] != "zero"]
    steps = ""
    for number in range(1, family.nodes_count + 1):
        terms = [
            _edge(i, source, options[i])
            for i, (node, source) in enumerate(family.edges)
            if node == number and options[i] != NONE
        ]
        steps += _mean(f"node{number}", terms)
    nodes = [f"node{number}" for number in range(1, family.nodes_count + 1)]
    used = {options[i] for i in present}
    ways = [way for name, way in _WAYS.items() if name in used or (name == "act" and used - _OTHER)]
    return f'''class Network(nn.Module):
    """A language model with the found recurrent cell."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding({words}, {width})
        self.from_words = nn.Linear({width}, {2 * width}, bias=False)
        self.from_state = nn.Linear({width}, {2 * width}, bias=False)
{_maps("gates", present, width)}{_maps("maps", mapped, width)}\
        self.output = nn.Linear({width}, {words})

    def forward(self, words: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Words [n, steps] and a state [n, {width}], zeros if None, -> scores and the state after.

        Scores are [n, steps, {words}], of what follows each word.
        """
        if state is None:
            state = self.output.weight.new_zeros(len(words), {width})
        outputs = []
        for projected in self.from_words(self.words(words)).unbind(dim=1):
            state = self.step(projected, state)
            outputs.append(state)
        return self.output(torch.stack(outputs, dim=1)), state

    def step(self, projected: Tensor, state: Tensor) -> Tensor:
        """The found cell: a word, mapped, and the state before it -> the state after it."""
        opening, mapped = (projected + self.from_state(state)).chunk(2, dim=1)
        node0 = torch.lerp(state, torch.tanh(mapped), torch.sigmoid(opening))
{steps}        return torch.stack([{", ".join(nodes)}]).mean(dim=0)
{"".join(ways)}'''


_OTHER = {"zero", "identity"}
_WAYS = {
    "act": '''
    def edge(self, number: str, source: Tensor, act: Callable[[Tensor], Tensor]) -> Tensor:
        """An edge opens by its gate from what it reads to an activation of its map."""
        opened = torch.sigmoid(self.gates[number](source))
        return source - opened * source + opened * act(self.maps[number](source))
''',
    "identity": '''
    def linear_edge(self, number: str, source: Tensor) -> Tensor:
        """An edge that opens by its gate from what it reads to its map."""
        opened = torch.sigmoid(self.gates[number](source))
        return source - opened * source + opened * self.maps[number](source)
''',
    "zero": '''
    def closing_edge(self, number: str, source: Tensor) -> Tensor:
        """An edge that opens by its gate from what it reads to zero."""
        return source - torch.sigmoid(self.gates[number](source)) * source
''',
}


def _edge(number: int, source: int, name: str) -> str:
    if name == "zero":
        return f'self.closing_edge("{number}", node{source})'
    if name == "identity":
        return f'self.linear_edge("{number}", node{source})'
    return f'self.edge("{number}", node{source}, {_ACTS[name]})'


def _mean(name: str, terms: Sequence[str]) -> str:
    """A node is the mean of its edges; one without any is zeros."""
    if not terms:
        return f"        {name} = torch.zeros_like(node0)\n"
    if len(terms) == 1:
        return f"        {name} = {terms[0]}\n"
    rows = "".join(f"            {term},\n" for term in terms)
    return f"        edges = [\n{rows}        ]\n        {name} = torch.stack(edges).mean(dim=0)\n"


def _maps(name: str, numbers: Sequence[int], width: int) -> str:
    if not numbers:
        return f"        self.{name} = nn.ModuleDict()\n"
    rows = "".join(
        f'                "{i}": nn.Linear({width}, {width}, bias=False),\n' for i in numbers
    )
    return (
        f"        self.{name} = nn.ModuleDict(\n            {{\n{rows}            }}\n        )\n"
    )
