"""Small spaces with random costs, and everything about their feasible sets by enumeration."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.maximum import LargestSum
from meritnas.cost.terms import CostTerms, Factor, Limit, chain_terms
from meritnas.space.decision import Decision, Option
from meritnas.space.rule import ABSENT, PresentEdges
from meritnas.space.space import HyphenText, Space

Picks = tuple[int, ...]


@dataclass(frozen=True)
class Problem:
    """A space, its costs, its limits."""

    space: Space
    costs: dict[str, CostTerms | LargestSum]
    limits: tuple[Limit, ...]

    def product(self) -> list[Picks]:
        """All combinations of options, valid or not."""
        return list(itertools.product(*(range(size) for size in self.space.sizes)))

    def all_picks(self) -> list[Picks]:
        """All valid ones."""
        return [picks for picks in self.product() if keeps_rule(self.space, picks)]

    def fits(self, picks: Picks) -> bool:
        return all(cost_of(self.costs[e.name], picks) <= e.maximum for e in self.limits)

    def fitting(self) -> list[Picks]:
        return [picks for picks in self.all_picks() if self.fits(picks)]

    def feasible(self, **options: int) -> FeasibleSet:
        return FeasibleSet(self.space, self.costs, self.limits, **options)


def keeps_rule(space: Space, picks: Picks) -> bool:
    """The definition, one node after the other."""
    if space.rule is None:
        return True
    assert isinstance(space.rule, PresentEdges)
    chosen = [d.options[pick] for d, pick in zip(space.decisions, picks, strict=True)]
    there = iter([ABSENT not in option.tags for option in chosen])
    return all(sum(itertools.islice(there, n)) == space.rule.count for n in space.rule.groups)


def cost_of(terms: CostTerms | LargestSum, picks: Picks) -> int:
    """The definition, one term after the other."""
    if isinstance(terms, LargestSum):
        return max(cost_of(one, picks) for one in terms.moments)
    total = terms.constant
    for factor in terms.factors:
        total += int(factor.table[tuple(picks[i] for i in factor.decisions)])
    return total


def plain_space(sizes: tuple[int, ...]) -> Space:
    decisions = tuple(
        Decision(f"d{i}", tuple(Option(f"o{j}") for j in range(size)))
        for i, size in enumerate(sizes)
    )
    return Space(decisions, HyphenText())


def ruled_space(present: list[list[bool]], groups: tuple[int, ...], count: int) -> Space:
    """A space of edges; `present` says which of their options mean that an edge is there."""
    decisions = tuple(
        Decision(
            f"d{i}",
            tuple(Option(f"o{j}", frozenset(() if p else (ABSENT,))) for j, p in enumerate(row)),
        )
        for i, row in enumerate(present)
    )
    return Space(decisions, HyphenText(), PresentEdges(groups, count))


def random_terms(
    sizes: tuple[int, ...],
    rng: np.random.Generator,
    scale: int,
    most: int,
    pairs: float,
    groups: int = 0,
) -> CostTerms:
    """Terms of single decisions, of some neighbours, and of so many groups of any decisions."""
    single = tuple(rng.integers(-3, most, size) * scale for size in sizes)
    pair = tuple(
        rng.integers(-3, most, shape) * scale if rng.random() < pairs else None
        for shape in itertools.pairwise(sizes)
    )
    terms = chain_terms(int(rng.integers(0, 50)), single, pair, "things")
    more = []
    for _ in range(groups):
        numbers = np.sort(rng.permutation(len(sizes))[: rng.integers(1, 4)])
        table = rng.integers(-3, most, [sizes[i] for i in numbers]) * scale
        more.append(Factor(tuple(numbers.tolist()), table))
    return replace(terms, factors=(*terms.factors, *more))


def random_maximum(
    sizes: tuple[int, ...], rng: np.random.Generator, moments: int, most: int
) -> LargestSum:
    """So many sums, each of a constant and up to three factors of any decisions."""
    found = []
    for _ in range(moments):
        factors = []
        for _ in range(rng.integers(0, 4)):
            numbers = np.sort(rng.permutation(len(sizes))[: rng.integers(1, 4)])
            table = rng.integers(-3, most, [sizes[i] for i in numbers])
            factors.append(Factor(tuple(numbers.tolist()), table))
        found.append(CostTerms(sizes, int(rng.integers(0, 9)), tuple(factors), "things"))
    return LargestSum(sizes, tuple(found), "things at once")


@st.composite
def problems(draw: st.DrawFn, maxima: bool = True) -> Problem:
    """1 to 4 decisions of 1 to 5 options, 1 to 3 limits that bind, do not bind, or cannot hold.

    With `maxima`, some of them are on the largest of several sums.
    """
    sizes = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    return draw(_limited(plain_space(sizes), maxima))


@st.composite
def ruled_problems(draw: st.DrawFn, maxima: bool = True) -> Problem:
    """1 to 5 edges into 1 to 3 nodes, each of which keeps 1 or 2; limits as in `problems`."""
    count = draw(st.integers(1, 2))
    groups = tuple(draw(st.lists(st.integers(count, 3), min_size=1, max_size=3)))
    assume(sum(groups) <= 5)
    present = [
        draw(st.lists(st.booleans(), min_size=1, max_size=3)) + draw(st.sampled_from([[], [True]]))
        for _ in range(sum(groups))
    ]
    for start, edges in zip(itertools.accumulate((0, *groups)), groups, strict=False):
        rows = present[start : start + edges]
        assume(sum(all(row) for row in rows) <= count <= sum(any(row) for row in rows))
    return draw(_limited(ruled_space(present, groups, count), maxima))


def any_problems(maxima: bool = True) -> st.SearchStrategy[Problem]:
    """With and without a rule."""
    return st.one_of(problems(maxima), ruled_problems(maxima))


@st.composite
def _limited(draw: st.DrawFn, space: Space, maxima: bool) -> Problem:
    sizes = space.sizes
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    everything = Problem(space, {}, ()).all_picks()
    costs: dict[str, CostTerms | LargestSum] = {}
    limits = []
    for k in range(draw(st.integers(1, 3))):
        scale = draw(st.sampled_from([1, 1, 6, 1000]))
        most = draw(st.sampled_from([-2, 3, 20, 400]))
        pairs, groups = draw(st.sampled_from([(0.0, 0), (0.7, 0), (1.0, 0), (0.0, 3), (0.5, 2)]))
        terms: CostTerms | LargestSum
        terms = random_terms(sizes, rng, scale, most, pairs, groups)
        if maxima and draw(st.integers(0, 2)) == 0:
            terms = random_maximum(sizes, rng, draw(st.integers(1, 5)), most)
        costs[f"c{k}"] = terms
        found = sorted(cost_of(terms, p) for p in everything)
        place = draw(st.floats(0, 1))
        limit = found[int(place * (len(found) - 1))] + draw(st.sampled_from([0, 0, 1, -1, 10_000]))
        limits.append(Limit(f"c{k}", limit))
    return Problem(space, costs, tuple(limits))


@st.composite
def rows_for(draw: st.DrawFn, problem: Problem) -> list[np.ndarray]:
    """One row of numbers for each decision: mild, extreme, or partly minus infinity."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = []
    for size in problem.space.sizes:
        spread = draw(st.sampled_from([0.0, 1.0, 50.0, 400.0]))
        row = rng.choice([-1.0, 1.0, rng.normal()], size) * spread
        if size > 1 and draw(st.integers(0, 3)) == 0:
            row[rng.choice(size, rng.integers(1, size), replace=False)] = -np.inf
        rows.append(row)
    return rows


def log_softmax(row: np.ndarray) -> np.ndarray:
    shifted = row - row.max()
    return shifted - np.log(np.exp(shifted).sum())


def log_sum(values: list[float]) -> float:
    return float(np.logaddexp.reduce(values)) if values else -np.inf


def total(rows: list[np.ndarray], picks: Picks) -> float:
    return float(sum(row[pick] for row, pick in zip(rows, picks, strict=True)))
