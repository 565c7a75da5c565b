"""The set of architectures that keep every limit, as strategies use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np

from meritnas.cost.build import DiagramTooLarge, build_diagram
from meritnas.cost.diagram import Diagram, PathLaw
from meritnas.cost.maximum import Bound, Maximum
from meritnas.cost.reading import Reading, best_reading
from meritnas.cost.reduced import ReducedCost, cheapest, reduce_cost
from meritnas.cost.terms import CostTerms, Limit
from meritnas.errors import InfeasibleError, SpaceError
from meritnas.space.architecture import Architecture
from meritnas.space.rule import Levels, both
from meritnas.space.space import HyphenText, Space

_MAX_TRANSITIONS = 12_000_000
_COARSEST_SLACK = 64


class FeasibleSet:
    """The architectures that keep every limit, with exact counts, probabilities and samples.

    Where TabNAS (section 3.3) estimates P(V), the probability that a sampled network fits, by
    Monte Carlo, this holds V itself as a decision diagram. `logits` and `scores` are one row of
    numbers for each decision.

    Attributes:
        space: the space that the set is a part of.
        limits: what its architectures keep.
        exact: whether V is represented exactly. On spaces so large that it would not fit into
            memory, costs are rounded up to a grid: no limit is broken, but some architectures
            just below it are left out, and `note` says which.
    """

    def __init__(
        self,
        space: Space,
        costs: Mapping[str, CostTerms | Maximum],
        limits: Sequence[Limit] = (),
        max_transitions: int = _MAX_TRANSITIONS,
    ) -> None:
        self.space = space
        self.limits = tuple(limits)
        self._terms = [costs[limit.name] for limit in self.limits]
        bounds = [
            _bound(space, limit, terms)
            for limit, terms in zip(self.limits, self._terms, strict=True)
        ]
        found = _represented(space, bounds, max_transitions)
        self.diagram, sums = found
        self._missed = {
            limit.name: max(own, key=lambda cost: cost.missed)
            for limit, own in zip(self.limits, sums, strict=True)
            if any(cost.missed for cost in own)
        }
        if not len(self.diagram.levels[0]):
            self._complain(bounds, max_transitions)

    def _complain(self, bounds: Sequence[Bound], max_transitions: int) -> NoReturn:
        """Say which limit is too small by itself, or that they are together."""
        for limit, terms, bound in zip(self.limits, self._terms, bounds, strict=True):
            if isinstance(terms, CostTerms):
                continue  # it was looked at before
            alone, _ = _represented(self.space, [bound], max_transitions)
            if not len(alone.levels[0]):
                least, picks = _smallest(self.space, limit, terms, max_transitions)
                raise InfeasibleError(_below(self.space, limit, terms, least, picks))
        found = "no architecture" if self.exact else f"no architecture found ({self.note}) that"
        raise InfeasibleError(
            f"{found} keeps all limits at once: {self._limit_text()}; raise one of them"
        )

    @property
    def exact(self) -> bool:
        """Whether the set is represented exactly."""
        return not self._missed

    @property
    def note(self) -> str:
        """What an inexact representation leaves out; empty when exact."""
        return "; ".join(
            f"{name} counted in steps of {cost.grid:,}: architectures within "
            f"{cost.missed:,} of the limit may be left out"
            for name, cost in self._missed.items()
        )

    def count(self) -> int:
        """The number of feasible architectures."""
        return self.diagram.count()

    def share(self) -> float:
        """The feasible part of the space, 0 to 1."""
        return self.count() / self.space.count()

    def contains(self, picks: np.ndarray) -> np.ndarray:
        """For a pick matrix [n, decisions], which rows are valid and keep every limit: [n]."""
        fits = self.space.valid(picks)
        for limit, terms in zip(self.limits, self._terms, strict=True):
            fits &= terms.of(picks) <= limit.maximum
        return fits

    def admits(self, architecture: Architecture) -> bool:
        """Whether an architecture keeps every limit."""
        return bool(self.contains(np.array([self.space.picks(architecture)]))[0])

    def reachable(self) -> list[np.ndarray]:
        """For each decision the indices of the options that occur in a feasible architecture."""
        return self.diagram.reachable()

    def condition(self, logits: Sequence[np.ndarray]) -> PathLaw:
        """The law of architectures drawn by these logits, given that they are feasible."""
        law = self.diagram.condition(self._log_probs(logits))
        if law.log_probability == -np.inf:
            raise InfeasibleError(
                "these logits give no probability to any feasible architecture; "
                "give every option a finite logit"
            )
        return law

    def probability(self, logits: Sequence[np.ndarray]) -> float:
        """P(V): the probability that an architecture drawn by these logits is feasible."""
        return float(np.exp(self.diagram.condition(self._log_probs(logits)).log_probability))

    def marginals(self, logits: Sequence[np.ndarray]) -> list[np.ndarray]:
        """P(option | feasible), a row for each decision.

        The gradient of log P(y | V) with respect to the logits is onehot(y) minus these rows.
        """
        return self.condition(logits).marginals()

    def sample(
        self, logits: Sequence[np.ndarray], n: int, seed: int | np.random.Generator
    ) -> list[Architecture]:
        """Independent draws from P(. | V); none is rejected."""
        picks = self.condition(logits).sample(n, np.random.default_rng(seed))
        return [self.space.architecture(row) for row in picks]

    def best(self, scores: Sequence[np.ndarray]) -> Architecture:
        """The feasible architecture with the largest sum of scores."""
        return self.space.architecture(self.diagram.best(self._rows(scores)))

    def k_best(self, scores: Sequence[np.ndarray], k: int) -> list[Architecture]:
        """The k feasible architectures with the largest sums of scores, best first, exactly.

        Fewer where there are fewer. With logits or log-probabilities, these are the most probable
        ones. An option that scores minus infinity is only taken where there is no other way to k.
        """
        return [self.space.architecture(row) for row in self.diagram.k_best(self._rows(scores), k)]

    def mode(self, logits: Sequence[np.ndarray]) -> Architecture:
        """The most probable feasible architecture."""
        return self.space.architecture(self.diagram.best(self._log_probs(logits)))

    def _log_probs(self, logits: Sequence[np.ndarray]) -> list[np.ndarray]:
        rows = self._rows(logits)
        for decision, row in zip(self.space.decisions, rows, strict=True):
            if not np.isfinite(row.max()):
                raise SpaceError(
                    f"each row of logits needs a finite largest entry, got {row} for decision "
                    f"'{decision.name}'"
                )
        return [_log_softmax(row) for row in rows]

    def _rows(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        rows = [np.asarray(row, dtype=np.float64) for row in values]
        if tuple(len(row) for row in rows) != self.space.sizes:
            raise SpaceError(
                f"one row for each decision with sizes {self.space.sizes} is needed, got rows of "
                f"sizes {tuple(len(row) for row in rows)}"
            )
        return rows

    def _limit_text(self) -> str:
        return " and ".join(f"{limit.name} <= {limit.maximum:,}" for limit in self.limits)


def _log_softmax(row: np.ndarray) -> np.ndarray:
    shifted = row - row.max()
    return shifted - np.log(np.exp(shifted).sum())


def _bound(space: Space, limit: Limit, terms: CostTerms | Maximum) -> Bound:
    """What a limit asks; complains where a sum cannot keep it."""
    if not isinstance(terms, CostTerms):
        return terms.bound(limit.maximum)
    least, picks = cheapest(terms, space)
    if limit.maximum < least:
        raise InfeasibleError(_below(space, limit, terms, least, picks, terms.constant))
    return Bound(((terms, limit.maximum),))


def _below(
    space: Space,
    limit: Limit,
    terms: CostTerms | Maximum,
    least: int,
    picks: Sequence[int],
    always: int = 0,
) -> str:
    """That a limit is below the cheapest network.

    Args:
        space: where it is the cheapest.
        limit: which is smaller than what that costs.
        terms: the cost.
        least: what it costs.
        picks: the cheapest one.
        always: what all networks cost.
    """
    fixed = ""
    if 2 * always > least:
        fixed = f" ({terms.text(always)} of them in every network{_less(space, terms)})"
    return (
        f"the limit of {terms.text(limit.maximum)} {terms.unit} is below the cheapest network, "
        f"{space.architecture(picks)} with {terms.text(least)}{fixed}; set the limit to "
        f"{terms.text(least)} or more, or offer smaller options"
    )


def _smallest(
    space: Space, limit: Limit, terms: Maximum, max_transitions: int
) -> tuple[int, tuple[int, ...]]:
    """The smallest value of a maximum, and an architecture with it, by halving."""

    def found(most: int) -> Diagram:
        return _represented(space, [terms.bound(most)], max_transitions)[0]

    low, high = limit.maximum, terms.most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if len(found(middle).levels[0]) else (middle, high)
    picks = found(high).best([np.zeros(size) for size in space.sizes])
    return int(terms.of(np.array([picks]))[0]), picks


def _less(space: Space, terms: CostTerms | Maximum) -> str:
    """How what every network has can be made less."""
    if not isinstance(space.text, HyphenText):
        return ", less with fewer channels or cells, or a smaller vocabulary or width"
    return ", such as embeddings, which can be made narrower" if "parameters" in terms.unit else ""


def _represented(
    space: Space, bounds: Sequence[Bound], max_transitions: int
) -> tuple[Diagram, list[list[ReducedCost]]]:
    """The diagram of what keeps all bounds, and of each bound its sums as they were counted."""
    every = [sum_ for bound in bounds for sum_, _ in bound.sums]
    rule = space.levels
    for bound in bounds:
        if bound.rule is not None:
            rule = bound.rule if rule is None else both(rule, bound.rule)
    if rule is None:
        reading = best_reading(every, space.sizes)
    else:
        reading = Reading.of(every, space.sizes, space.order)
    costs: list[ReducedCost] = []
    moments: list[ReducedCost] = []
    for bound in bounds:
        kind = moments if bound.of_maximum else costs
        kind += [reduce_cost(terms, most, reading) for terms, most in bound.sums]
    if not costs:
        costs.append(reduce_cost(CostTerms(space.sizes, 0, (), "nothing"), 0, reading))
    diagram, fitted = _fit(costs, moments, max_transitions, reading.order, rule)
    parts = {True: fitted[len(costs) :], False: fitted[: len(costs)]}
    own = []
    for bound in bounds:
        count = len(bound.sums)
        own.append(parts[bound.of_maximum][:count])
        parts[bound.of_maximum] = parts[bound.of_maximum][count:]
    return diagram, own


def _fit(
    costs: Sequence[ReducedCost],
    moments: Sequence[ReducedCost],
    max_transitions: int,
    order: tuple[int, ...],
    rule: Levels | None,
) -> tuple[Diagram, list[ReducedCost]]:
    """Build the diagram, on a coarser grid where it would be too large, loosest limit first.

    The tightest limit stays exact for as long as the others can give way.
    """
    current, count = [*costs, *moments], len(costs)
    loosest_first = sorted(range(len(current)), key=lambda k: -current[k].tightness)
    while True:
        try:
            diagram = build_diagram(current[:count], max_transitions, order, rule, current[count:])
            return diagram, current
        except DiagramTooLarge:
            loose = [k for k in loosest_first if current[k].slack > _COARSEST_SLACK]
            coarse = loose[0] if loose else max(loosest_first, key=lambda k: current[k].slack)
            if current[coarse].slack < 2:
                raise InfeasibleError(
                    f"the space is too large for its limits ({len(costs[0].steps)} decisions); "
                    "use fewer limits or fewer options"
                ) from None
            current[coarse] = current[coarse].coarser(2)
