"""Draw how a search made up its mind, from a run's event log.

python docs/policy_figure.py RUN docs/figures/policy.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt


def main(run: Path, picture: Path) -> None:
    """One panel for each layer's beliefs over time, and one for the feasible probability."""
    lines = (run / "events.jsonl").read_text().splitlines()
    events = [event for event in map(json.loads, lines) if event["kind"] == "search"]
    result = json.loads((run / "result.json").read_text())
    kept = json.loads((run / "plan.json").read_text())["options"]
    steps = np.array([event["step"] for event in events])
    widths = result["architecture"].split("-")
    figure, axes = plt.subplots(
        1, len(widths) + 1, figsize=(11, 3.1), width_ratios=[1] * len(widths) + [0.9]
    )
    for i, axis in enumerate(axes[:-1]):
        beliefs = np.array([event["beliefs"][i] for event in events]).T
        axis.imshow(
            beliefs,
            aspect="auto",
            origin="lower",
            cmap="Blues",
            interpolation="nearest",
            vmin=0,
            extent=(0, steps[-1], -0.5, len(beliefs) - 0.5),
        )
        axis.set_yticks(range(len(beliefs)), kept[i], fontsize=7)
        chosen = kept[i].index(widths[i])
        axis.get_yticklabels()[chosen].set_fontweight("bold")
        axis.get_yticklabels()[chosen].set_color("tab:orange")
        axis.set_title(f"width of layer {i + 1}", fontsize=10)
        axis.set_xlabel("step", fontsize=8)
        axis.tick_params(axis="x", labelsize=7)
    known = [(e["step"], e["feasible_probability"]) for e in events if "feasible_probability" in e]
    last = axes[-1]
    last.plot(*zip(*known, strict=True), color="tab:orange")
    last.set_ylim(0, 1)
    last.set_xlim(0, steps[-1])
    last.set_title("chance that a draw fits", fontsize=10)
    last.set_xlabel("step", fontsize=8)
    last.tick_params(labelsize=7)
    limit = result["limits"]["params"]
    figure.suptitle(
        f"{result['data']}, at most {limit:,} parameters: {result['architecture']} "
        f"({result['params']:,} parameters)",
        fontsize=11,
    )
    figure.tight_layout()
    figure.savefig(picture, dpi=130)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
