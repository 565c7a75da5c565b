from __future__ import annotations

import textwrap

from meritnas.errors import UsageError
from meritnas.exporting.cell_source import darts_source, nasbench201_source
from meritnas.exporting.fusion_reader_source import escaped
from meritnas.exporting.fusion_source import fusion_source
from meritnas.exporting.recurrent_source import recurrent_source
from meritnas.exporting.table_source import table_source
from meritnas.exporting.trained import Trained
from meritnas.families.darts.family import DartsSpace
from meritnas.families.fusion.family import FusionSpace
from meritnas.families.nasbench201.family import Nasbench201Space
from meritnas.families.recurrent.family import RecurrentSpace
from meritnas.families.tabular.family import TabularSpace

_LOAD = '''

def load(path: str | Path | None = None) -> Network:
    """The trained network, ready to use; None for the weights beside this file."""
    from safetensors.torch import load_file

    network = Network()
    network.load_state_dict(load_file(path or Path(__file__).with_name("model.safetensors")))
    return network.eval()
'''


def python_source(trained: Trained) -> str:
    """A Python file with the network as a torch Module, spelled out; it needs no MeritNAS.

    Raises:
        UsageError: Networks of this space have no such form.
    """
    body = _body(trained)
    imports = "from collections.abc import Callable\n" if "Callable[" in body else ""
    # Names of modalities are in it, which may hold what would end a docstring.
    text = escaped(trained.architecture.text)
    wrapped = textwrap.fill(text, 96, break_long_words=False, break_on_hyphens=False)
    return f'''"""A network that MeritNAS found; needs torch, and safetensors to load weights.

{wrapped}

preprocessing.json says how data becomes inputs, and what scores stand for.
"""

from __future__ import annotations

{imports}from pathlib import Path

import torch
from torch import Tensor, nn


{body}{_LOAD}'''


def _body(trained: Trained) -> str:
    family, options = trained.family, trained.architecture.options
    if isinstance(family, TabularSpace):
        return table_source(trained.predictor.module)
    if isinstance(family, Nasbench201Space):
        return nasbench201_source(family, options)
    if isinstance(family, DartsSpace):
        return darts_source(family, options)
    if isinstance(family, RecurrentSpace):
        return recurrent_source(family, options)
    if isinstance(family, FusionSpace):
        return fusion_source(family, options)
    raise UsageError(
        "networks of a space of your own cannot be written as Python, because their source is "
        "yours; use --to onnx or --to torch-export"
    )
