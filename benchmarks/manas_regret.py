"""What MANAS' agents lose in games whose best joint action is known, and what theory allows.

    python benchmarks/manas_regret.py --json regret.json --figure docs/figures/manas_regret.png

Three agents have four options each. A round's loss lies in [0, 1] and is the sum of what the
agents' options cost in that round. No network is trained: the library's own strategies play, with
the step and the exploration that follow from the number of rounds, and each loss that they ask for
is a round. Two sequences of losses, both fixed before anyone plays:

* stochastic: an option always costs the same on average; noise is added to the sum.
* adversarial: of each agent's options two alternate between best and worst whenever those who
  estimate by regression have made up their minds; one is the worst at first, for a time that
  differs between agents, and the best from then on and in hindsight; one is always bad.

Cumulative regret is the expected loss of what was played minus that of the joint action that is
best in hindsight: of all rounds in the table, of those until then in the figure. The theorem
speaks of each agent's regret for its own options while the others do as they do, summed over
agents. Losses add up over agents, so what the others cost cancels from an agent's regret and the
joint regret is that sum, exactly. The theorem's bound for it, 2 N sqrt(T K ln K), is one on the
mean and is promised to coordinated+softmax only; the others are held against it.

* coordinated+softmax: MANAS, EXP3 for each agent.
* linear+softmax: EXP3 for each agent on regressions of 24 rounds each, which add up.
* linear+zipf: by ranks in the regression of all rounds so far, as section 4.1 has it. (MANAS-LS
  forgets whenever weights were trained, and there are none here.)
* uniform: all options alike, always.
* exp3 on the joint space: one EXP3 whose options are all 64 joint actions.

Simple regret is what the joint action with the least blame loses on average beyond the best one,
after a number of rounds of one stochastic game; there linear+uniform is the same regression of
uniform draws.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import matplotlib as mpl
import numpy as np

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.credit.least_squares import LeastSquares
from meritnas.policy.agents import Agents, Sampling, Softmax, Zipf, exp3_exploration, exp3_rate
from meritnas.space.decision import Decision, Option
from meritnas.space.space import HyphenText, Space
from meritnas.strategy.algorithms.manas import BlamedAgents, ScaledLoss
from meritnas.strategy.algorithms.manas_linear import PSEUDO_DRAWS, RegressedAgents
from meritnas.strategy.turns import Turns
from scoreboard import Target, arguments, finish, show

AGENTS, OPTIONS = 3, 4
ESTIMATE = 2 * AGENTS * OPTIONS  # rounds of a regression: as in MANAS-LS, two for each unknown
SPREAD = 0.25  # of the noise, to either side
EQUAL = Softmax(rate=1.0, exploration=1.0)
COORDINATED, UNIFORM = "coordinated+softmax", "uniform"
BY_RANKS, BY_CHANCE = "linear+zipf", "linear+uniform"
SIMPLE = "stochastic, simple regret"


@dataclass(frozen=True)
class Game:
    """A sequence of losses.

    Attributes:
        costs: [rounds, agents, options], what an option adds to a round's expected loss.
        noise: [rounds], what else is added to the loss that is seen.
    """

    costs: np.ndarray
    noise: np.ndarray

    def __post_init__(self) -> None:
        least = self.costs.min(axis=2).sum(axis=1) + self.noise
        most = self.costs.max(axis=2).sum(axis=1) + self.noise
        if least.min() < -1e-12 or most.max() > 1.0 + 1e-12:
            raise ValueError("the bound holds for losses in [0, 1] only")

    @property
    def rounds(self) -> int:
        return len(self.costs)

    def expected(self, first: int, picks: np.ndarray) -> np.ndarray:
        """Losses [n] of joint actions [n, agents] in the rounds from `first` on."""
        rows = np.arange(first, first + len(picks))[:, None]
        return np.asarray(self.costs[rows, np.arange(picks.shape[1]), picks].sum(axis=1))

    def regret(self, picks: np.ndarray) -> np.ndarray:
        """Of joint actions [rounds, agents], after each round, to the best until then."""
        best = self.costs.cumsum(axis=0).min(axis=2).sum(axis=1)
        return np.asarray(self.expected(0, picks).cumsum() - best)


MakeGame = Callable[[int, np.random.Generator], Game]
"""(rounds, generator) -> a game."""


def weights(rng: np.random.Generator) -> np.ndarray:
    """How much of the loss is up to each agent: [agents], 1 in all."""
    drawn = rng.uniform(0.5, 1.5, AGENTS)
    return np.asarray(drawn / drawn.sum())


def stochastic(rounds: int, rng: np.random.Generator) -> Game:
    """Evenly spaced costs in a random order; the noise never leads out of [0, 1]."""
    steps = np.linspace(0.0, 1.0, OPTIONS)
    order = np.array([rng.permutation(steps) for _ in range(AGENTS)])
    costs = SPREAD / AGENTS + (1.0 - 2.0 * SPREAD) * weights(rng)[:, None] * order
    noise = rng.uniform(-SPREAD, SPREAD, rounds)
    return Game(np.broadcast_to(costs, (rounds, AGENTS, OPTIONS)), noise)


def adversarial(rounds: int, rng: np.random.Generator) -> Game:
    """Whoever follows the last estimate, or the sum of all, follows it into a loss.

    The first alternation has half the height, so that the sum's leader changes at every one.
    """
    turn = np.arange(rounds) // ESTIMATE
    wave = np.where(turn == 0, 0.25, 0.5) * (-1.0) ** turn
    costs = np.empty((rounds, AGENTS, OPTIONS))
    for agent, weight in enumerate(weights(rng)):
        slow = np.arange(rounds) < rng.uniform(0.1, 0.3) * rounds
        roles = np.stack([0.5 + wave, 0.5 - wave, slow, np.full(rounds, 0.8)], axis=1)
        costs[:, agent] = weight * roles[:, rng.permutation(OPTIONS)]
    return Game(costs, np.zeros(rounds))


def as_one_agent(game: Game) -> Game:
    """The same game for one agent, whose options are all joint actions."""
    joint = np.zeros((game.rounds, 1))
    for agent in range(game.costs.shape[1]):
        own = game.costs[:, agent]
        joint = (joint[:, :, None] + own[:, None, :]).reshape(game.rounds, -1)
    return Game(joint[:, None, :], game.noise)


class Table:
    """A game in the place of a network: whatever is judged is a round played."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._played: list[np.ndarray] = []
        self.round = 0

    def valid_batch(self) -> None:
        """There are no data."""

    def losses(self, picks: np.ndarray, batch: None) -> np.ndarray:
        del batch
        rounds = slice(self.round, self.round + len(picks))
        found = self._game.expected(self.round, picks) + self._game.noise[rounds]
        self._played.append(picks)
        self.round += len(picks)
        return np.asarray(found)

    def picks(self) -> np.ndarray:
        """What was played: [rounds, agents]."""
        return np.concatenate(self._played)


Player = BlamedAgents | RegressedAgents
MakePlayer = Callable[[Game, np.random.Generator], Player]


def agents(game: Game, sampling: Sampling) -> Agents:
    _, number, size = game.costs.shape
    options = tuple(Option(f"o{j}") for j in range(size))
    decisions = tuple(Decision(f"agent{i}", options) for i in range(number))
    return Agents(FeasibleSet(Space(decisions, HyphenText()), {}), sampling)


def exp3(game: Game) -> Softmax:
    options = game.costs.shape[2]
    return Softmax(exp3_rate(options, game.rounds), exp3_exploration(options, game.rounds))


def coordinated(game: Game, rng: np.random.Generator) -> BlamedAgents:
    return BlamedAgents(
        agents=agents(game, exp3(game)),
        judge=ScaledLoss(1.0),
        rng=rng,
        final=lambda those, _: those.favourite(),
    )


def regressing(
    those: Agents, rng: np.random.Generator, *, memory: float, adds_up: bool
) -> RegressedAgents:
    return RegressedAgents(
        agents=those,
        regression=LeastSquares(those.feasible.space.sizes, PSEUDO_DRAWS),
        rng=rng,
        final=lambda those, _: those.favourite(),
        chance=1.0,
        together=ESTIMATE,
        turns=Turns("frozen", each_epoch=1),
        memory=memory,
        adds_up=adds_up,
    )


def summing(game: Game, rng: np.random.Generator) -> RegressedAgents:
    return regressing(agents(game, exp3(game)), rng, memory=0.0, adds_up=True)


def remembering(sampling: Sampling) -> MakePlayer:
    """By the regression of all rounds so far."""
    return lambda game, rng: regressing(agents(game, sampling), rng, memory=1.0, adds_up=False)


@dataclass(frozen=True)
class Method:
    """A player of games, and how a game looks to it."""

    label: str
    make: MakePlayer
    view: Callable[[Game], Game] = lambda game: game


METHODS = (
    Method(COORDINATED, coordinated),
    Method("linear+softmax", summing),
    Method(BY_RANKS, remembering(Zipf())),
    Method(UNIFORM, remembering(EQUAL)),
    Method("exp3 on the joint space", coordinated, as_one_agent),
)
SEQUENCES: Mapping[str, MakeGame] = {"stochastic": stochastic, "adversarial": adversarial}
RECOMMENDING: Mapping[str, MakePlayer] = {
    BY_RANKS: remembering(Zipf()),
    BY_CHANCE: remembering(EQUAL),
}


def bound(rounds: int) -> float:
    return 2.0 * AGENTS * math.sqrt(rounds * OPTIONS * math.log(OPTIONS))


def one_turn(player: Player, table: Table) -> None:
    """A round, or all rounds of an estimate."""
    probe: Any = table
    player.update(probe, Clock(0, 1, "joint", 0, 1))


def play(method: Method, make: MakeGame, rounds: int, seed: int) -> np.ndarray:
    """Cumulative regret [rounds]."""
    game = method.view(make(rounds, np.random.default_rng([seed, 0])))
    player, table = method.make(game, np.random.default_rng([seed, 1])), Table(game)
    while table.round < rounds:
        one_turn(player, table)
    return game.regret(table.picks())


def recommend(make: MakePlayer, rounds: int, seed: int) -> np.ndarray:
    """Simple regret after each estimate; the game is the same for all seeds but for its noise."""
    noise = np.random.default_rng([seed, 0]).uniform(-SPREAD, SPREAD, rounds)
    game = Game(stochastic(rounds, np.random.default_rng(0)).costs, noise)
    player, table = make(game, np.random.default_rng([seed, 1])), Table(game)
    costs = game.costs[0]
    found = []
    while table.round < rounds:
        one_turn(player, table)
        picks = [int(row.argmin()) for row in player.agents.blame]
        found.append(costs[np.arange(AGENTS), picks].sum() - costs.min(axis=1).sum())
    return np.array(found)


@dataclass(frozen=True)
class Line:
    """Through the logarithm of regret, as long as there is any.

    Attributes:
        slope: of the line.
        misfit: root of the mean square of what it misses.
    """

    slope: float
    misfit: float


def line(over: np.ndarray, regret: np.ndarray) -> Line | None:
    """None for fewer than three points."""
    zeros = np.flatnonzero(regret <= 0.0)
    last = int(zeros[0]) if len(zeros) else len(regret)
    if last < 3:
        return None
    slope, start = np.polyfit(over[:last], np.log(regret[:last]), 1)
    missed = np.log(regret[:last]) - start - slope * over[:last]
    return Line(float(slope), float(np.sqrt((missed**2).mean())))


def cumulative_row(method: str, sequence: str, curves: np.ndarray) -> dict[str, Any]:
    """Of regrets [seeds, rounds]."""
    rounds = curves.shape[1]
    last = curves[:, -1].tolist()
    return {
        "method": method,
        "sequence": sequence,
        "rounds": rounds,
        "regret": median(last),
        "mean": mean(last),
        "least": min(last),
        "most": max(last),
        "bound": bound(rounds),
        "share of bound": median(last) / bound(rounds),
        "seeds": len(last),
    }


def simple_rows(method: str, found: np.ndarray) -> list[dict[str, Any]]:
    """Of simple regrets [repetitions, estimates]: after 1, 2, 4, 8, ... estimates."""
    regret = found.mean(axis=0)
    rounds = ESTIMATE * np.arange(1, len(regret) + 1)
    exponential = line(rounds, regret)
    return [
        {
            "method": method,
            "sequence": SIMPLE,
            "rounds": int(rounds[place]),
            "regret": float(regret[place]),
            "bound": None,
            "wrong": float((found[:, place] > 0.0).mean()),
            "repetitions": len(found),
            "log slope": exponential.slope if exponential else None,
        }
        for place in [2**power - 1 for power in range(len(regret).bit_length())]
    ]


def judged(rows: Sequence[Mapping[str, Any]], simple: Mapping[str, np.ndarray]) -> list[Target]:
    rounds = rows[0]["rounds"]
    targets = [
        Target(
            "the bound is below a quarter of the rounds",
            f"{bound(rounds):,.0f} for {rounds:,}",
            bound(rounds) < rounds / 4,
        )
    ]
    for sequence in SEQUENCES:
        found = {row["method"]: row for row in rows if row["sequence"] == sequence}
        own, uniform = found[COORDINATED], found[UNIFORM]
        targets += [
            Target(
                f"the mean regret of {COORDINATED} stays within the bound, {sequence}",
                f"{own['mean']:,.0f} (at most {own['most']:,.0f}) of {own['bound']:,.0f}",
                own["mean"] <= own["bound"],
            ),
            Target(
                f"{COORDINATED} regrets less than {UNIFORM}, {sequence}",
                f"{own['regret']:,.0f} against {uniform['regret']:,.0f}",
                own["regret"] < uniform["regret"],
            ),
        ]
    curve = simple[BY_RANKS].mean(axis=0)
    fall = curve[0] / curve[-1] if curve[-1] > 0 else math.inf
    targets.append(
        Target(
            f"the simple regret of {BY_RANKS} falls tenfold at least",
            f"from {curve[0]:.3g} to {curve[-1]:.3g}",
            fall >= 10,
        )
    )
    after = ESTIMATE * np.arange(1, len(curve) + 1)
    exponential, power = line(after, curve), line(np.log(after), curve)
    text = f"the simple regret of {BY_RANKS} falls as an exponential, not as a power of rounds"
    if exponential is None or power is None:
        return [*targets, Target(text, "too few points", None)]
    missed = f"misfits of the logarithm {exponential.misfit:.3f} and {power.misfit:.3f}"
    return [*targets, Target(text, missed, exponential.misfit < power.misfit)]


def draw_figure(
    curves: Mapping[tuple[str, str], np.ndarray], simple: Mapping[str, np.ndarray], file: Path
) -> None:
    """Medians of cumulative regret with the bound, and means of simple regret."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(12.5, 4.2), layout="constrained")
    colours = {method.label: f"C{number}" for number, method in enumerate(METHODS)}
    for axes, sequence in zip(panels[:2], SEQUENCES, strict=True):
        for method in METHODS:
            middle = np.median(curves[sequence, method.label], axis=0)
            axes.plot(
                np.arange(1, len(middle) + 1),
                middle,
                color=colours[method.label],
                label=method.label,
                linewidth=2.4 if method.label == COORDINATED else 1.4,
            )
        axes.axhline(bound(len(middle)), color="black", linestyle="--", label="bound", linewidth=1)
        axes.set(title=sequence, xlabel="rounds", ylabel="cumulative regret, median")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlim(0, len(middle))
    for label, found in simple.items():
        regret = found.mean(axis=0)
        rounds = ESTIMATE * np.arange(1, len(regret) + 1)
        above = regret > 0
        colour = colours.get(label, colours[UNIFORM])
        panels[2].semilogy(rounds[above], regret[above], ".-", color=colour, label=label)
    panels[2].set(title="stochastic, one game", xlabel="rounds", ylabel="simple regret, mean")
    panels[2].set_xlim(0, None)
    panels[0].legend(frameon=False, fontsize=9)
    panels[2].legend(frameon=False, fontsize=9)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--estimates", type=int, default=1000, help=f"of {ESTIMATE} rounds each")
    parser.add_argument("--repetitions", type=int, default=1000, help="for simple regret")
    parser.add_argument("--figure", type=Path, help="draw regret over rounds to this file")
    args = parser.parse_args()
    if args.quick:
        args.seeds, args.estimates, args.repetitions = 2, 20, 10
    rounds = ESTIMATE * args.estimates
    begin = time.perf_counter()
    curves: dict[tuple[str, str], np.ndarray] = {}
    rows = []
    for sequence, make in SEQUENCES.items():
        for method in METHODS:
            found = np.array([play(method, make, rounds, seed) for seed in range(args.seeds)])
            curves[sequence, method.label] = found
            rows.append(cumulative_row(method.label, sequence, found))
            seconds = time.perf_counter() - begin
            print(f"{sequence}, {method.label}: {seconds:.0f} s", file=sys.stderr, flush=True)
    show(f"Cumulative regret, {AGENTS} agents with {OPTIONS} options", rows)
    longest = ESTIMATE * min(32, args.estimates)
    simple = {
        label: np.array([recommend(make, longest, seed) for seed in range(args.repetitions)])
        for label, make in RECOMMENDING.items()
    }
    told = [row for label, found in simple.items() for row in simple_rows(label, found)]
    show("Simple regret", [{k: v for k, v in row.items() if k != "bound"} for row in told])
    print(f"{time.perf_counter() - begin:.0f} s")
    if args.figure is not None:
        draw_figure(curves, simple, args.figure)
    return finish([*rows, *told], judged(rows, simple), args)


if __name__ == "__main__":
    sys.exit(main())
