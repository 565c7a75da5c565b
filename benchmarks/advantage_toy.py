"""The toy of AdvantageNAS' figure 1: which strategy finds the teacher's filters soonest?

Ten edges lead from one input to ten nodes; each has ten 7x7 filters (stride 2, with bias, then
tanh) to choose from, and each node a 4x4 filter to the output, where the mean is taken. A teacher
has one filter an edge; the student has the same weights, so its loss is zero for the teacher's
architecture, one of 10^10, and for no other. Weights do not train: what is compared is how beliefs
learn. All strategies are the library's own, with Adam (.9, .999) at a rate of .001 and batches of
100 fresh images (section 5.1); every ten steps the network of the most likely options is tested.

    python benchmarks/advantage_toy.py --seeds 10 --figure docs/figures/advantage_toy.png

Where the paper and its released code differ, the paper is followed: gates act after tanh, the
reward's average is used before it is updated. PARSEC and GDAS are there in both forms. In the
code's PARSEC, Adam also steps with a gradient of zero in seven of eight steps; in the code's GDAS
(and its authors') the bare gates of the options that do not run, which are zero, are added to the
edge's output, so that they get a gradient that has nothing to do with what they compute. PARSEC
judges eight networks on one batch every eight steps, all others one (or one mixture, or two paths)
a step.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.credit.advantage import Advantage
from meritnas.credit.baseline import MovingAverage
from meritnas.credit.credit import Credit
from meritnas.credit.importance import Importance
from meritnas.credit.whole_reward import WholeReward
from meritnas.data.bundle import Part
from meritnas.data.stream import Batch
from meritnas.policy.laws import Unrestricted
from meritnas.policy.policy import Ascent, Policy
from meritnas.policy.tags import mixable
from meritnas.space.decision import Decision, Option
from meritnas.space.space import HyphenText, Space
from meritnas.strategy.algorithms.darts import INITIAL_SPREAD, Softmax
from meritnas.strategy.algorithms.dense import Dense
from meritnas.strategy.algorithms.final_choice import Mode
from meritnas.strategy.algorithms.gdas import GumbelPath
from meritnas.strategy.algorithms.nasp import Proximal
from meritnas.strategy.algorithms.policy_gradient import PolicyGradient
from meritnas.strategy.algorithms.proxyless import TwoPaths
from meritnas.strategy.algorithms.snas import Concrete
from meritnas.strategy.strategy import Learnt, Strategy
from meritnas.supernet.gates import Gates, one_path, tracked
from meritnas.supernet.probe import Probe
from scoreboard import Target, arguments, finish, show

EDGES, FILTERS = 10, 10
SIZES = (FILTERS,) * EDGES
BATCH, TESTED_ON, TEST_EVERY = 100, 1000, 10
AHEAD = 10  # batches made at once
RATE = 1e-3
SPACE = Space(
    tuple(
        Decision(f"edge{i}", tuple(Option(f"f{j}") for j in range(FILTERS))) for i in range(EDGES)
    ),
    HyphenText(),
)
FEASIBLE = FeasibleSet(SPACE, {})


class ToyNet(nn.Module):
    """Teacher and student: all filters of all edges, computed in one product.

    With `bare_gates`, gates of options that do not run are added to their edge's output.
    """

    def __init__(self, seed: int, bare_gates: bool = False) -> None:
        super().__init__()
        self._bare_gates = bare_gates
        generator = torch.Generator().manual_seed(seed)
        # As Chainer makes them: LeCun's normal weights, and biases that begin (and stay) at 0.
        self.filters = nn.Parameter(torch.randn(EDGES, FILTERS, 49, generator=generator) / 7)
        self.bias = nn.Parameter(torch.zeros(EDGES, FILTERS))
        self.second = nn.Parameter(torch.randn(EDGES, 16, generator=generator) / 4)

    def forward(
        self, inputs: Tensor, gates: Gates, weights: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """Patches [n, 16, 49] of images -> [n, 1]."""
        held = dict(self.named_parameters()) if weights is None else weights
        edges = [i for i, gate in enumerate(gates) for _ in gate.active]
        options = [j for gate in gates for j in gate.active]
        seen = _answers(inputs, held, edges, options)
        if gates[0].weights is not None:
            table = torch.stack([gate.weights for gate in gates if gate.weights is not None])
            seen = seen * table[edges, options]
            if self._bare_gates:
                idle = table.index_put((_index(edges), _index(options)), torch.zeros(()))
                bare = (idle.sum(dim=1) * held["second"].sum(dim=1)).sum()
                seen = torch.cat([seen, bare.expand(len(seen), 1)], dim=1)
        return seen.sum(dim=1, keepdim=True) / EDGES

    def each(self, inputs: Tensor, picks: Sequence[Sequence[int]]) -> list[Tensor]:
        return [self(inputs, one_path(row)) for row in picks]

    def blocks(self, gates: Gates) -> dict[str, tuple[int, ...]]:
        del gates
        return {name: tuple(param.shape) for name, param in self.named_parameters()}

    def remembering(self) -> AbstractContextManager[None]:
        return nullcontext()

    def whole(self) -> Gates | None:
        return None

    def extract(self, picks: Sequence[int]) -> dict[str, Tensor]:
        raise NotImplementedError


def _index(numbers: list[int]) -> Tensor:
    return torch.tensor(numbers)


def _answers(
    patches: Tensor, held: Mapping[str, Tensor], edges: list[int], options: list[int]
) -> Tensor:
    """What these filters of these edges give at the output: [n, filters]."""
    filters, bias = held["filters"][edges, options], held["bias"][edges, options]
    units = torch.addmm(bias, patches.view(-1, 49), filters.T).tanh_()
    return (units.view(-1, 16, len(edges)) * held["second"][edges].T).sum(dim=1)


class FreshBatches:
    """An endless stream of new images with the teacher's answers."""

    steps_per_epoch = 1

    def __init__(self, net: ToyNet, star: Sequence[int], seed: int) -> None:
        self._net = net
        self._star = one_path(star)
        self._generator = torch.Generator().manual_seed(seed)
        self._ahead: list[Batch] = []

    def part(self, rows: int) -> Part:
        images = 2 * torch.rand(rows, 1, 13, 13, generator=self._generator) - 1
        patches = images.unfold(2, 7, 2).unfold(3, 7, 2).reshape(rows, 16, 49)
        with torch.no_grad():
            return Part(patches, self._net(patches, self._star)[:, 0])

    def next(self) -> Batch:
        if not self._ahead:
            part = self.part(BATCH * AHEAD)
            pairs = zip(part.inputs.split(BATCH), part.target.split(BATCH), strict=True)
            self._ahead = [Batch(inputs, target) for inputs, target in pairs]
        return self._ahead.pop()


def squared_error(outputs: Tensor, target: Tensor, weights: Tensor | None) -> Tensor:
    del weights
    return F.mse_loss(outputs[:, 0], target)


class BareGdas(GumbelPath):
    """GDAS as released: all options get a gradient, those that do not run by their bare gates."""

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        values = self.perturbed()
        picks = [int(np.argmax(row)) for row in values]
        gates, rows = tracked(picks, SIZES)
        loss, slopes = probe.gradients(gates, probe.valid_batch(), rows)
        tau = self.temperature(clock)
        soft = torch.from_numpy(np.array(values) / tau).softmax(dim=1)
        by_gate = torch.stack(slopes).double()
        centred = by_gate - (soft * by_gate).sum(dim=1, keepdim=True)
        self.policy.ascend(-(soft * centred / tau).flatten().numpy())
        return Learnt({"reward": 1.0 - loss, "used": 1.0})


Make = Callable[[np.random.Generator], Strategy]


def policy(initial: np.ndarray | None = None) -> Policy:
    return Policy(SIZES, RATE, Ascent(betas=(0.9, 0.999), eps=1e-8), initial)


def credited(credit: Callable[[], Credit], samples: int = 1) -> Make:
    return lambda rng: PolicyGradient(
        policy(), FEASIBLE, rng, Mode(), Unrestricted(), credit(), samples
    )


def noise(rng: np.random.Generator) -> np.ndarray:
    return INITIAL_SPREAD * rng.standard_normal(EDGES * FILTERS)


@dataclass(frozen=True)
class Method:
    """A strategy, and what the released code does beside it.

    Attributes:
        label: its name.
        make: generator -> strategy.
        runs: what runs in a step.
        idle_steps: whether Adam steps with a gradient of zero where nothing is learnt.
        bare_gates: whether gates of what does not run are added to outputs.
    """

    label: str
    make: Make
    runs: str
    idle_steps: bool = False
    bare_gates: bool = False


METHODS = (
    Method("AdvantageNAS", credited(lambda: Advantage(FEASIBLE)), "1 path"),
    Method("REINFORCE", credited(lambda: WholeReward(baseline=MovingAverage(0.95))), "1 path"),
    Method("PARSEC", credited(Importance, 8), "1 path"),
    Method("PARSEC, released code", credited(lambda: Importance("code"), 8), "1 path", True),
    Method("GDAS", lambda rng: GumbelPath(policy(), FEASIBLE, rng, Mode()), "1 path"),
    Method(
        "GDAS, released code",
        lambda rng: BareGdas(policy(), FEASIBLE, rng, Mode()),
        "1 path",
        bare_gates=True,
    ),
    Method("ProxylessNAS", lambda rng: TwoPaths(policy(), FEASIBLE, rng), "2 paths"),
    Method(
        "DARTS", lambda rng: Dense(FEASIBLE, Softmax(policy(noise(rng)), mixable(SPACE))), "all"
    ),
    Method(
        "SNAS",
        lambda rng: Dense(FEASIBLE, Concrete(Softmax(policy(noise(rng)), mixable(SPACE)), rng)),
        "all",
    ),
    Method("NASP", lambda rng: Proximal(policy(0.5 + noise(rng)), FEASIBLE, rng), "all"),
)


def trial(method: Method, seed: int, steps: int) -> np.ndarray:
    """Test losses of the leader at steps 0, 10, 20, ..., the last."""
    net = ToyNet(seed, method.bare_gates)
    star = np.random.default_rng([seed, 0]).integers(FILTERS, size=EDGES).tolist()
    batches: Any = FreshBatches(net, star, seed)
    held = FreshBatches(net, star, 10_000 + seed).part(TESTED_ON)
    probe = Probe(net, squared_error, batches, batches, held)
    strategy = method.make(np.random.default_rng([seed, 1]))
    known: dict[tuple[int, ...], float] = {}
    losses = []
    for step in range(steps + 1):
        if step % TEST_EVERY == 0:
            picks = SPACE.picks(strategy.leader())
            if picks not in known:
                known[picks] = probe.held_out_loss(np.array(picks))
            losses.append(known[picks])
        learnt = strategy.update(probe, Clock(step, steps, "joint", step, steps))
        if learnt is None and method.idle_steps:
            assert isinstance(strategy, PolicyGradient)
            strategy.policy.ascend(np.zeros(EDGES * FILTERS))
    return np.array(losses)


def steps_to_zero(curve: np.ndarray) -> float:
    """The first tested step with no loss at all; infinite where there is none."""
    zeros = np.flatnonzero(curve == 0.0)
    return float(zeros[0] * TEST_EVERY) if len(zeros) else float("inf")


def steps_to_stay(curve: np.ndarray) -> float:
    """The first tested step after which there is never any loss."""
    losing = np.flatnonzero(curve != 0.0)
    if not len(losing):
        return 0.0
    after = losing[-1] + 1
    return float(after * TEST_EVERY) if after < len(curve) else float("inf")


def quartile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, int(np.ceil(share * len(ordered))) - 1)]


def shown(value: float, steps: int) -> str:
    return f"{value:,.0f}" if np.isfinite(value) else f"not in {steps:,}"


def draw_figure(curves: Mapping[str, np.ndarray], file: Path) -> None:
    """Median test loss and its quartiles over the steps; dashed where all options run."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9.0, 4.5), layout="constrained")
    for number, (label, found) in enumerate(curves.items()):
        steps = np.arange(1, found.shape[1]) * TEST_EVERY
        low, middle, high = np.percentile(found[:, 1:], (25, 50, 75), axis=0)
        dense = label in ("DARTS", "SNAS", "NASP")
        axes.fill_between(steps, low, high, color=f"C{number}", alpha=0.15, linewidth=0)
        axes.plot(
            steps,
            middle,
            color=f"C{number}",
            label=label,
            linestyle="--" if dense else "-",
            linewidth=2.4 if label == "AdvantageNAS" else 1.4,
        )
    axes.set_xlabel("steps")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("test loss of the most likely network")
    axes.set_xlim(TEST_EVERY, None)
    axes.set_ylim(0, None)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, fontsize=9, loc="outside right upper")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def summary(method: Method, found: np.ndarray, steps: int, seconds: float) -> dict[str, Any]:
    first = [steps_to_zero(curve) for curve in found]
    stays = [steps_to_stay(curve) for curve in found]
    return {
        "method": method.label,
        "runs": method.runs,
        "steps to zero": shown(quartile(first, 0.5), steps),
        "25 %": shown(quartile(first, 0.25), steps),
        "75 %": shown(quartile(first, 0.75), steps),
        "for good": shown(quartile(stays, 0.5), steps),
        "zero at the end": float(np.mean(found[:, -1] == 0.0)),
        "ms a step": 1000 * seconds / (len(found) * steps),
    }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--figure", type=Path, help="draw the losses over time to this file")
    args = parser.parse_args()
    if args.quick:
        args.seeds, args.steps = 1, 20
    torch.set_num_threads(1)
    curves: dict[str, np.ndarray] = {}
    rows = []
    for method in METHODS:
        begin = time.perf_counter()
        found = np.array([trial(method, seed, args.steps) for seed in range(args.seeds)])
        curves[method.label] = found
        rows.append(summary(method, found, args.steps, time.perf_counter() - begin))
        print(f"{method.label} done", file=sys.stderr, flush=True)
    show(f"AdvantageNAS' toy, {args.seeds} trials of {args.steps:,} steps", rows)
    if args.figure is not None:
        draw_figure(curves, args.figure)
    middle = {
        label: quartile([steps_to_zero(curve) for curve in found], 0.5)
        for label, found in curves.items()
    }
    own = middle["AdvantageNAS"]
    targets = [
        Target(
            f"AdvantageNAS takes at most half the steps of {rival}",
            f"{shown(own, args.steps)} against {shown(middle[rival], args.steps)}",
            bool(np.isfinite(own)) and own <= 0.5 * middle[rival],
        )
        for rival in ("REINFORCE", "GDAS")
    ]
    told = [{**row, "losses": curves[row["method"]].tolist()} for row in rows]
    return finish(told, targets, args)


if __name__ == "__main__":
    sys.exit(main())
