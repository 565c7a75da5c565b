"""The bases of specs: frozen dataclasses that say which space, or which strategy, and its options.

Torch is not needed to write a spec down; it is when one is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from meritnas.errors import UsageError
from meritnas.plugins import is_own
from meritnas.settings.checks import check_fields
from meritnas.settings.fields import settings_of
from meritnas.settings.halving import Halving

if TYPE_CHECKING:
    from meritnas.settings.preset import Facts, Preset


Learnt = Literal["valid", "train"]
"""A part of the data."""


@dataclass(frozen=True)
class Spec:
    """A choice with its options.

    Attributes of every one of its classes: `name`, by which it is asked for.
    """

    name: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        """A class of a user's that has no name is asked for as `module:Class`."""
        super().__init_subclass__()
        if "name" not in cls.__dict__:
            cls.name = f"{cls.__module__}:{cls.__qualname__}"

    def __post_init__(self) -> None:
        """Complain about an option that is not of its type, or beyond its bounds."""
        check_fields(self)

    def options(self) -> dict[str, Any]:
        """The options that are not as they are by default, by name."""
        usual = {setting.name: setting.default for setting in settings_of(type(self))}
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value != usual[name]}

    def with_options(self, **changed: Any) -> Self:
        """The same with other options."""
        return replace(self, **changed)

    def to_json(self) -> dict[str, Any]:
        """Plain data: the name and all options."""
        return {"name": self.name, **asdict(self)}

    @property
    def own_names(self) -> frozenset[str]:
        """What it has imported of a user's own, as `module:name`."""
        return frozenset([self.name]) if is_own(self.name) else frozenset()

    @property
    def own_code(self) -> frozenset[Any]:
        """The same; of what has no name to import it by, the thing itself."""
        return self.own_names

    def _lacks(self, method: str) -> UsageError:
        """What to say about a class of a user's that leaves out what it needs."""
        return UsageError(f"{type(self).__name__} has no {method}, which it needs; define it")


class SpaceSpec(Spec):
    """Which networks to search: a frozen dataclass with a field for each option.

    Attributes of every one of its classes:
        data: the kind of data that its networks read, such as `images`.
        networks: what its networks are called in messages.
        channels_in_parts: whether operations may see a part of the channels (PC-DARTS).
        usual_parts: K, where mixtures of all options would take too long with all channels.
        halving: how the race of what was found divides its time.
    """

    data: ClassVar[str] = ""
    networks: ClassVar[str] = ""
    channels_in_parts: ClassVar[bool] = False
    usual_parts: ClassVar[int] = 1
    halving: ClassVar[Halving] = Halving()

    def preset(self, name: str | None, facts: Facts, partial_channels: int) -> Preset:
        """This space with all sizes filled in, and how its networks are trained by default.

        Args:
            name: `quick` or `paper`; None for the usual one.
            facts: what there is to learn from.
            partial_channels: K of PC-DARTS, as the strategy usually has it.
        """
        del name, facts, partial_channels
        raise self._lacks("preset(name, facts, partial_channels)")

    def build(self, inputs: Any, outputs: int, limits: Mapping[str, int]) -> Any:
        """The family of networks for these inputs.

        Args:
            inputs: what comes in, as the data's encoder describes it.
            outputs: how many numbers come out.
            limits: what networks may cost; sizes that are left open follow from them.
        """
        del inputs, outputs, limits
        raise self._lacks("build(inputs, outputs, limits)")

    def supernet(self, family: Any, seed: int) -> Any:
        """Fresh shared weights, as large as this spec says."""
        return family.supernet(seed)

    def learnt_on(self) -> Learnt:
        """The part of the data whose batches beliefs learn on."""
        return "valid"

    def small(self, family: Any) -> Any:
        """The family with networks as small as the supernet is, for short trainings."""
        return family

    def shared_weights(self, family: Any) -> int:
        """About how many weights the supernet has: at least those of the largest network."""
        found: int = family.largest()
        return found

    def most_codes(self, family: Any, limits: Mapping[str, int]) -> int | None:
        """How many categories a column may keep within the limits; None for all."""
        del family, limits
        return None

    def remarks(self, limits: Mapping[str, int]) -> tuple[str, ...]:
        """What a user should know about what follows from limits, a sentence each."""
        del limits
        return ()

    def check_reading(self, reading: Any) -> None:
        """Complain about what does not go together with how the data is read."""
        del reading

    def of_architecture(self, text: str) -> Self:
        """The space with sizes as an architecture's text has them, where nobody gave others."""
        del text
        return self


class StrategySpec(Spec):
    """How to search: a frozen dataclass with a field for each option.

    Attributes of every one of its classes:
        usual_warmup: the share of a search that trains weights only, unless a user decides; None
            for that of the preset.
        believes: whether what it chooses follows from its beliefs, so that uniform ones mean that
            it is undecided; not where networks or options are judged at the end.
    """

    usual_warmup: ClassVar[float | None] = None
    believes: ClassVar[bool] = True

    def make(self, problem: Any) -> Any:
        """The strategy at its first step."""
        del problem
        raise self._lacks("make(problem)")

    def partial_channels(self, space: SpaceSpec) -> int:
        """K of PC-DARTS that this strategy has by default on a space; 1 for all channels."""
        del space
        return 1
