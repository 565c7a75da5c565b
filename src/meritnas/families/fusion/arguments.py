"""What a space for several modalities is made from, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from torch import nn

from meritnas.data.modalities.row_layout import RowLayout, Shape
from meritnas.errors import SpaceError, whole_number
from meritnas.families.fusion.backbone import Backbone, measured
from meritnas.families.fusion.child import Feature
from meritnas.families.fusion.convolutions import Convolutions
from meritnas.families.fusion.operations import BM_NAS, EVERY, NORMAL, SPARSE
from meritnas.families.fusion.spec import CONV
from meritnas.families.fusion.text import EITHER, FORBIDDEN, NONE
from meritnas.space.decision import SPARSE as SPARSE_TAG
from meritnas.space.decision import TOGETHER
from meritnas.space.rule import ABSENT, X, Y
from meritnas.wording import did_you_mean

_SETS = {"all": (*NORMAL, *SPARSE), "normal": NORMAL, "sparse": SPARSE, "bm-nas": BM_NAS}


def check_sizes(**sizes: int) -> None:
    """Complain about a size below 1, by its name."""
    for name, value in sizes.items():
        if whole_number(name, value) < 1:
            raise SpaceError(f"{name} must be at least 1, got {value}")


def check_sparse(l1: float, l2: float, kernel: int, fista_steps: int) -> None:
    """Complain about what sparse operations cannot work with."""
    check_sizes(kernel=kernel, fista_steps=fista_steps)
    if kernel % 2 == 0:
        raise SpaceError(f"kernel must be odd, got {kernel}; take {kernel - 1} or {kernel + 1}")
    for name, cost in (("l1", l1), ("l2", l2)):
        if not 0 <= cost < math.inf:
            raise SpaceError(f"{name} must be at least 0 and finite, got {cost}")


def as_layout(modalities: Mapping[str, Sequence[Shape]]) -> RowLayout:
    """Where the numbers of each modality stand; an error names a bad name or shape."""
    for name, shapes in modalities.items():
        marked = any(letter in FORBIDDEN for letter in name) or not name.isprintable()
        if not name or name != name.strip() or marked:
            raise SpaceError(
                f"the name of a modality must not be empty or have any of {' '.join(FORBIDDEN)}, "
                f"what cannot be printed, or blanks around it, because it is part of texts; got "
                f"{name!r}"
            )
        if not isinstance(shapes, Sequence) or any(not isinstance(s, Sequence) for s in shapes):
            raise SpaceError(
                f"modality '{name}' must have a list of shapes, one for each of its features, "
                f"such as [(5,)] for one of 5 columns; got {shapes}"
            )
        if not shapes:
            raise SpaceError(f"modality '{name}' has no features; give at least one shape")
        for shape in shapes:
            sides = [whole_number(f"a side of a feature of '{name}'", side) for side in shape]
            if not 1 <= len(sides) <= 3 or min(sides) < 1:
                raise SpaceError(
                    f"a feature of '{name}' must have shape (columns,), (channels, length) or "
                    f"(channels, height, width), got {tuple(shape)}"
                )
    return RowLayout(
        tuple(
            (name, tuple(tuple(int(side) for side in shape) for shape in shapes))
            for name, shapes in modalities.items()
        )
    )


def numbered_backbones(
    layout: RowLayout, backbones: Mapping[str, str | Backbone]
) -> tuple[tuple[int, str | Backbone], ...]:
    """By number of the modality."""
    shapes = dict(layout.modalities)
    for name, backbone in backbones.items():
        if name not in shapes:
            raise SpaceError(
                f"a backbone for '{name}', which is no modality;{did_you_mean(name, shapes)} "
                f"there are {', '.join(shapes)}"
            )
        if isinstance(backbone, nn.Module):
            raise SpaceError(
                f"the backbone of '{name}' must be a function that makes a torch Module, a fresh "
                f"one at every call, got a {type(backbone).__name__} itself; give its class, or a "
                "function that returns one"
            )
        if callable(backbone):
            continue
        if backbone != CONV:
            raise SpaceError(
                f"the backbone of '{name}' must be '{CONV}' or a function that makes a torch "
                f"Module, got {backbone!r};{did_you_mean(str(backbone), [CONV])}"
            )
        if len(shapes[name]) != 1 or len(shapes[name][0]) != 3:
            raise SpaceError(
                f"the backbone '{CONV}' reads one feature (channels, height, width), but '{name}' "
                f"has {', '.join(map(str, shapes[name]))}; leave it out or give a function"
            )
    return tuple(
        (number, backbones[name]) for number, name in enumerate(layout.names) if name in backbones
    )


def read_features(
    layout: RowLayout, backbones: Sequence[tuple[int, str | Backbone]]
) -> tuple[Feature, ...]:
    """What cells may read: features as they come in, or as backbones give them."""
    found = []
    for number, (name, own) in enumerate(layout.modalities):
        backbone = dict(backbones).get(number)
        if callable(backbone):
            shapes = measured(backbone, own, name).shapes
        else:
            shapes = own if backbone is None else Convolutions.shapes(own[0])
        found += [Feature(number, place, shape) for place, shape in enumerate(shapes)]
    return tuple(found)


def chosen_operations(operations: str | Sequence[str]) -> tuple[str, ...]:
    """The names of the operations in a set, or of those that were listed."""
    if isinstance(operations, str):
        if operations not in _SETS:
            raise SpaceError(
                f"operations must be {', '.join(_SETS)} or a list of names, got '{operations}';"
                f"{did_you_mean(operations, _SETS)}"
            )
        return _SETS[operations]
    for name in operations:
        if name not in EVERY:
            raise SpaceError(
                f"no fusion operation '{name}';{did_you_mean(name, EVERY)} there are "
                f"{', '.join(EVERY)}"
            )
    if not operations or len(set(operations)) != len(operations):
        raise SpaceError(f"operations must be different ones, at least 1, got {list(operations)}")
    return tuple(operations)


def option_tags(name: str) -> frozenset[str]:
    """What strategies may know about an option."""
    if name == NONE:
        return frozenset({"zero", ABSENT})
    if name in (X, Y):
        return frozenset({TOGETHER})
    if name == EITHER:
        return frozenset()
    return frozenset({SPARSE_TAG if name in SPARSE else "normal"})
