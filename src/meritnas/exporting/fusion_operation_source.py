from __future__ import annotations

from collections.abc import Callable, Collection

from meritnas.exporting.sparse_coding_source import sparse_coding_source, sparse_map_source
from meritnas.families.fusion.family import FusionSpace

CLASSES = {
    "sum": "Sum",
    "glu": "Gated",
    "concat": "Joined",
    "se": "SqueezeExcite",
    "attention": "Attention",
    "bm_glu": "GatedTogether",
    "sparse_attention": "SparseAttention",
    "sparse_glu": "SparseGated",
    "sparse_concat": "SparseJoined",
    "sparse_se": "SparseSqueezeExcite",
}
"""Which class an operation that fuses two features is, in the order they are written."""

_SPARSE = "sparse_"
_REDUCTION = 16


def fusion_operations_source(family: FusionSpace, names: Collection[str]) -> str:
    """The classes of these operations, and sparse coding if one of them is sparse."""
    used = [name for name in CLASSES if name in names]
    kernels = _kernels(family, used)
    found = ""
    if kernels:
        found += sparse_coding_source(kernels, family.l1, family.l2)
        found += sparse_map_source(kernels) if _mapped(used) else ""
    return found + "".join(_operation(family, name, kernels) for name in used)


def _mapped(names: Collection[str]) -> bool:
    """Whether there is a map whose place sparse coding takes."""
    return any(name.startswith(_SPARSE) and name != "sparse_attention" for name in names)


def _kernels(family: FusionSpace, names: Collection[str]) -> set[int]:
    """The lengths of atoms in these operations; maps of one position have 1."""
    found = set()
    if "sparse_attention" in names:
        found.add(family.kernel)
    if _mapped(names):
        found.add(family.kernel if family.length > 1 else 1)
    if "sparse_se" in names:
        found.add(1)
    return found


def _operation(family: FusionSpace, name: str, kernels: Collection[int]) -> str:
    """The class of an operation; `kernels` are the lengths of atoms in all of the network."""
    what, made, run = _parts(family, name, kernels)
    if _mapped([name]):
        what += "; each W is a sparse coding"
    if made:
        made = f"""    def __init__(self) -> None:
        super().__init__()
{made}
"""
    return f'''class {CLASSES[name]}(nn.Module):
    """{what}."""

{made}    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Two of [n, {family.channels}, {family.length}] -> the same."""
{run}

'''


_Parts = tuple[str, str, str]
"""What an operation is, the lines that make its layers, those that run them."""


def _parts(family: FusionSpace, name: str, kernels: Collection[int]) -> _Parts:
    c, length = family.channels, family.length

    def coding(kind: str, inputs: int, outputs: int, kernel: int) -> str:
        last = f", {kernel}" if max(kernels) > 1 else ""
        return f"{kind}({inputs}, {outputs}{last})"

    def maps(inputs: int, outputs: int, long: int) -> str:
        if not name.startswith(_SPARSE):
            return f"nn.Conv1d({inputs}, {outputs}, 1)"
        return coding("SparseMap", inputs, outputs, family.kernel if long > 1 else 1)

    hidden = max(1, 2 * c // _REDUCTION)
    makers: dict[str, Callable[[], _Parts]] = {
        "sum": lambda: ("z = x + y", "", "        return x + y\n"),
        "attention": lambda: _attention(c, length),
        "sparse_attention": lambda: _sparse_attention(
            c, length, coding("SparseCoding", c, c, family.kernel)
        ),
        "bm_glu": lambda: _gated_together(c),
        "glu": lambda: _gated(c, maps(c, c, length)),
        "concat": lambda: _joined(c, maps(2 * c, c, length)),
        "se": lambda: _squeeze_excite(
            maps(2 * c, hidden, 1), maps(hidden, 2 * c, 1), maps(2 * c, c, length)
        ),
    }
    return makers[name if name in makers else name.removeprefix(_SPARSE)]()


def _gated(channels: int, one: str) -> _Parts:
    return (
        "z = (W1 x + b1) * sigmoid(W2 y + b2), with batch norms",
        f"""        self.value = {one}
        self.value_norm = nn.BatchNorm1d({channels})
        self.gate = {one}
        self.gate_norm = nn.BatchNorm1d({channels})
""",
        """        gate = torch.sigmoid(self.gate_norm(self.gate(y)))
        return self.value_norm(self.value(x)) * gate
""",
    )


def _gated_together(channels: int) -> _Parts:
    return (
        "z = a * sigmoid(b), [a; b] = W [x; y] + b0, with a batch norm",
        f"""        self.map = nn.Conv1d({2 * channels}, {2 * channels}, 1)
        self.norm = nn.BatchNorm1d({2 * channels})
""",
        """        both = torch.cat([x, y], dim=1)
        return nn.functional.glu(self.norm(self.map(both)), dim=1)
""",
    )


def _joined(channels: int, one: str) -> _Parts:
    return (
        "z = ReLU(W [x; y] + b), with a batch norm before the ReLU",
        f"""        self.map = {one}
        self.norm = nn.BatchNorm1d({channels})
""",
        """        both = torch.cat([x, y], dim=1)
        return torch.relu(self.norm(self.map(both)))
""",
    )


def _squeeze_excite(squeeze: str, excite: str, one: str) -> _Parts:
    return (
        "z = W (u * sigmoid(W2 ReLU(W1 mean(u) + b1) + b2)) + b, u = [x; y]",
        f"""        self.squeeze = {squeeze}
        self.excite = {excite}
        self.map = {one}
""",
        """        both = torch.cat([x, y], dim=1)
        hidden = torch.relu(self.squeeze(both.mean(dim=2, keepdim=True)))
        return self.map(both * torch.sigmoid(self.excite(hidden)))
""",
    )


def _attention(channels: int, length: int) -> _Parts:
    return (
        f"z = y softmax(x^T y / sqrt({channels})) over positions, and a layer norm",
        f"        self.norm = nn.LayerNorm(({channels}, {length}))\n",
        f"""        shares = torch.softmax(x.transpose(1, 2) @ y / {channels}**0.5, dim=2)
        return self.norm(y @ shares.transpose(1, 2))
""",
    )


def _sparse_attention(channels: int, length: int, coding: str) -> _Parts:
    return (
        f"z = V softmax(Q^T K / sqrt({channels})), sparse codes Q of x, K, V of y; a layer norm",
        f"""        self.query = {coding}
        self.key = {coding}
        self.value = {coding}
        self.norm = nn.LayerNorm(({channels}, {length}))
""",
        f"""        scores = self.query(x).transpose(1, 2) @ self.key(y) / {channels}**0.5
        return self.norm(self.value(y) @ torch.softmax(scores, dim=2).transpose(1, 2))
""",
    )
