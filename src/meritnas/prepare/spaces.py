from __future__ import annotations

from meritnas.data.tables.inputs import TableInputs
from meritnas.errors import UsageError
from meritnas.families.darts.family import DartsSpace, Stem, Variant, darts_space
from meritnas.families.family import Family
from meritnas.families.image_size import ImageShape
from meritnas.families.nasbench201.family import Nasbench201Space, nasbench201_space
from meritnas.plugins import is_own, load_own
from meritnas.settings.settings import SearchSettings
from meritnas.wording import did_you_mean

CellFamily = Nasbench201Space | DartsSpace

SPACES = {
    "tabular": "feed-forward networks for tables: which width for each hidden layer",
    "nasbench201": "image networks of equal cells: which operation on each of 6 edges",
    "darts": "image networks of two cells: which 2 inputs for each of 4 nodes, which operations",
    "darts-s1": "the same with two operations an edge, chosen by hand (RobustDARTS)",
    "darts-s2": "the same with skip connections and separable convolutions only",
    "darts-s3": "the same with skip connections, separable convolutions and zeros",
    "darts-s4": "the same with noise and separable convolutions",
    "darts-unique": "every cell has its own operations on all of its 14 edges (MANAS)",
    "recurrent": "language models: which activation on each edge of the recurrent cell",
    "fusion": "networks for several modalities: which features to join, and by which operations",
}
"""The spaces a search can be asked for by name, and what they decide."""

TABULAR = "tabular"
RECURRENT = "recurrent"
FUSION = "fusion"
_VARIANTS: dict[str, Variant | None] = {
    "darts": None,
    "darts-s1": "s1",
    "darts-s2": "s2",
    "darts-s3": "s3",
    "darts-s4": "s4",
    "darts-unique": "unique",
}
_STEMS: dict[str, Stem] = {"cifar": "cifar", "imagenet": "imagenet"}


def check_space(name: str) -> None:
    """Complain about a space that does not exist."""
    if name not in SPACES and not is_own(name):
        raise UsageError(
            f"no space '{name}';{did_you_mean(name, SPACES)} there are {', '.join(SPACES)}, and "
            "module:function for one of your own"
        )


def is_cell_space(name: str) -> bool:
    """Whether networks of this space are for images."""
    check_space(name)
    return name not in (TABULAR, RECURRENT, FUSION) and not is_own(name)


def own_family(name: str, inputs: TableInputs | ImageShape, outputs: int) -> Family:
    """The networks that a function of the user's makes: `module:function`.

    Args:
        name: of the function.
        inputs: what the networks read.
        outputs: how many numbers they give.
    """
    found = load_own(name, "space")(inputs, outputs)
    if not isinstance(found, Family):
        raise UsageError(
            f"{name} must make a space, a meritnas Family, got a {type(found).__name__}"
        )
    return found


def cell_family(settings: SearchSettings, image: ImageShape, outputs: int) -> CellFamily:
    """The networks for images that settings stand for."""
    cells = settings.cells
    assert cells is not None
    if settings.space == "nasbench201":
        return nasbench201_space(outputs, cells.channels, cells.cells, cells.zero, image)
    if cells.stem not in _STEMS:
        raise UsageError(f"the stem must be {' or '.join(_STEMS)}, got '{cells.stem}'")
    variant, stem = _VARIANTS[settings.space], _STEMS[cells.stem]
    return darts_space(outputs, cells.channels, cells.cells, variant, image, stem)


def name_of(family: CellFamily) -> str:
    """The name by which a search can be asked for such networks."""
    if isinstance(family, Nasbench201Space):
        return "nasbench201"
    return next(name for name, variant in _VARIANTS.items() if variant == family.variant)
