"""A second device for machines that have none: its tensors are real, and meet no others.

They are kept on the CPU and wear another device's name. Operations that read tensors of both
complain, as they do on a GPU, and so do random numbers from a generator of the CPU. So whatever
runs here has each tensor where it belongs; nothing is said about speed, memory or rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "pretend"

_BETWEEN = ("_to_copy", "copy_")
"""Operations that may read from one device and write to the other."""

_setup_privateuseone_for_python_backend(NAME)


class There(Tensor):
    """A tensor on the pretended device."""

    here: Tensor

    @staticmethod
    def __new__(cls, here: Tensor) -> There:
        """Wrap what is kept on the CPU."""
        found = Tensor._make_wrapper_subclass(
            cls,
            here.size(),
            strides=here.stride(),
            storage_offset=here.storage_offset(),
            dtype=here.dtype,
            device=torch.device(NAME, 0),
        )
        found.here = here
        return found

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        return _run(func, args, kwargs or {})

    def tolist(self) -> Any:
        """Its numbers, which any device gives."""
        return self.here.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:  # noqa: ARG002 (as torch has it)
        """Numpy reads the CPU's memory only."""
        raise TypeError("tensors of another device are no numpy arrays; use Tensor.cpu() first")


class SecondDevice(TorchDispatchMode):
    """While it lasts, tensors can be made on the device `pretend`."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        return _run(func, args, kwargs or {})


def _run(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    tensors = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
    there = any(isinstance(one, There) for one in tensors)
    elsewhere = any(not isinstance(one, There) and one.dim() for one in tensors)
    name = func.overloadpacket.__name__
    if there and elsewhere and name not in _BETWEEN:
        raise RuntimeError(f"{func}: expected all tensors to be on the same device")
    asked = kwargs.get("device")
    if asked is not None:
        goes_there = torch.device(asked).type == NAME
    else:
        goes_there = isinstance(args[0], There) if name == "copy_" else there
    if goes_there and kwargs.get("generator") is not None:
        raise RuntimeError(f"{func}: expected a generator of the device {NAME}")
    inner_args, inner = tree_map(_here, (args, dict(kwargs)))
    if asked is not None and goes_there:
        inner["device"] = torch.device("cpu")
    found = func(*inner_args, **inner)
    if not goes_there:
        return found
    return return_and_correct_aliasing(func, args, kwargs, tree_map(_there, found))


def _here(one: Any) -> Any:
    return one.here if isinstance(one, There) else one


def _there(one: Any) -> Any:
    return There(one) if isinstance(one, Tensor) else one
