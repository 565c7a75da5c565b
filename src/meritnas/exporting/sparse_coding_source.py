from __future__ import annotations

from collections.abc import Collection


def sparse_coding_source(kernels: Collection[int], l1: float, l2: float) -> str:
    """The class `SparseCoding` and its functions, for atoms of these lengths and no others.

    It takes the length of its atoms as its last argument if one of them is longer than 1.
    """
    typed, kernel = (", kernel: int", "kernel") if max(kernels) > 1 else ("", "1")
    squaring = "largest_by_squaring(atoms.detach())"
    iteration = "largest_by_iteration(atoms.detach(), signals.shape[2])"
    largest = f"        step = 0.9 / {squaring if max(kernels) == 1 else iteration}\n"
    if len(set(kernels)) > 1:
        largest = f"""        if atoms.shape[2] == 1:
            step = 0.9 / {squaring}
        else:
            step = 0.9 / {iteration}
"""
    price, shrunk = f"{l1!r} |z|_1", f"torch.relu(codes - step * {l1!r})"
    if l2:
        price += f" + {l2!r} |z|^2"
        shrunk += f" / (1 + 2 * step * {l2!r})"
    return f'''class SparseCoding(nn.Module):
    """The code z of a signal x, z >= 0: argmin .5|x - A(z)|^2 + {price}.

    Two steps of FISTA approach it, which have no momentum yet. Atoms, what A adds up, have unit
    norm; a step is .9 / lambda_max(A^T A). No gradient flows through either size.
    """

    def __init__(self, inputs: int, codes: int{typed}) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(codes, inputs, {kernel}))

    def forward(self, signals: Tensor) -> Tensor:
        """[n, inputs, length] -> [n, codes, length]."""
        norms = torch.linalg.vector_norm(self.weight.detach(), dim=(1, 2), keepdim=True)
        atoms = self.weight / norms.clamp_min(1e-12)
{largest}        codes = shrunk(step * analysis(signals, atoms), step)
        rest = signals - synthesis(codes, atoms)
        return shrunk(codes + step * analysis(rest, atoms), step)


def shrunk(codes: Tensor, step: Tensor) -> Tensor:
    """Codes less what their size costs, not negative."""
    return {shrunk}


{_PLAIN_MAPS if max(kernels) == 1 else _LONG_MAPS}{_SQUARING if 1 in kernels else ""}\
{_ITERATION if max(kernels) > 1 else ""}'''


def sparse_map_source(kernels: Collection[int]) -> str:
    """The class `SparseMap`, whose arguments are those of `SparseCoding`."""
    typed, kernel = (", kernel: int", ", kernel") if max(kernels) > 1 else ("", "")
    return f'''class SparseMap(nn.Module):
    """Sparse coding and a bias, in the place of a linear map."""

    def __init__(self, inputs: int, outputs: int{typed}) -> None:
        super().__init__()
        self.coding = SparseCoding(inputs, outputs{kernel})
        self.bias = nn.Parameter(torch.zeros(outputs, 1))

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, inputs, length] -> [n, outputs, length]."""
        return self.coding(inputs) + self.bias


'''


_PLAIN_MAPS = '''def analysis(signals: Tensor, atoms: Tensor) -> Tensor:
    """A^T(x): [n, inputs, length] -> [n, codes, length]."""
    return atoms[:, :, 0] @ signals


def synthesis(codes: Tensor, atoms: Tensor) -> Tensor:
    """A(z): [n, codes, length] -> [n, inputs, length]."""
    return atoms[:, :, 0].T @ codes


'''
_LONG_MAPS = '''def analysis(signals: Tensor, atoms: Tensor) -> Tensor:
    """A^T(x): [n, inputs, length] -> [n, codes, length]."""
    return nn.functional.conv1d(signals, atoms, padding=atoms.shape[2] // 2)


def synthesis(codes: Tensor, atoms: Tensor) -> Tensor:
    """A(z): [n, codes, length] -> [n, inputs, length]."""
    return nn.functional.conv_transpose1d(codes, atoms, padding=atoms.shape[2] // 2)


'''
_SQUARING = '''def largest_by_squaring(atoms: Tensor) -> Tensor:
    """lambda_max(A^T A) of atoms of length 1: eigenvalues' mean, weighted by 64th powers."""
    plain = atoms[:, :, 0]
    products = plain @ plain.T if plain.shape[0] <= plain.shape[1] else plain.T @ plain
    power = products
    for _ in range(3):
        power = power / power.trace().clamp_min(1e-12)
        power = power @ power
        power = power @ power
    return ((products * power).sum() / power.trace().clamp_min(1e-12)).clamp_min(1.0)


'''
_ITERATION = '''def largest_by_iteration(atoms: Tensor, length: int) -> Tensor:
    """lambda_max(A^T A) for signals of this length, by power iteration."""
    places = torch.arange(len(atoms) * length, dtype=atoms.dtype, device=atoms.device)
    after = torch.cos(places.square()).reshape(1, len(atoms), length)
    for _ in range(25):
        before = after / torch.linalg.vector_norm(after).clamp_min(1e-12)
        after = analysis(synthesis(before, atoms), atoms)
    return (before * after).sum().clamp_min(1.0)


'''
