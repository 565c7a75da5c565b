"""What it takes to begin: CPU seconds of imports and of commands, each in a process of its own.

python benchmarks/startup.py [OTHER/src ...] --turns 7
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from scoreboard import Target, arguments, finish, show

OWN = Path(__file__).resolve().parents[1] / "src"
CASES: dict[str, Sequence[str]] = {
    "import meritnas": ("-c", "import meritnas"),
    "meritnas --help": ("-m", "meritnas", "--help"),
    "meritnas search --help": ("-m", "meritnas", "search", "--help"),
    "meritnas list strategies": ("-m", "meritnas", "list", "strategies"),
    "from meritnas import NASClassifier": ("-c", "from meritnas import NASClassifier"),
    "import torch, pandas, sklearn.base": ("-c", "import torch, pandas, sklearn.base"),
}
AIMS = {
    "import meritnas": 0.3,
    "meritnas --help": 0.3,
    "from meritnas import NASClassifier": 3.0,
}
"""At most so many seconds, on a quiet core."""


def seconds(words: Sequence[str], source: Path) -> float:
    """CPU time of a process, in the system and out of it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("others", nargs="*", type=Path, help="the src of other checkouts")
    parser.add_argument("--turns", type=int, default=7)
    args = parser.parse_args()
    sources = [OWN, *(other.resolve() for other in args.others)]
    cases = {"import meritnas": CASES["import meritnas"]} if args.quick else CASES
    found: dict[tuple[str, Path], list[float]] = {}
    for _ in range(1 if args.quick else args.turns):
        for name, words in cases.items():
            for source in sources:
                found.setdefault((name, source), []).append(seconds(words, source))
    rows = [
        {"what": name, "source": str(source), "median": median(each), "least": min(each)}
        for (name, source), each in found.items()
    ]
    show("CPU seconds", rows)
    targets = [
        Target(
            f"{name}: at most {AIMS[name]} s", f"{median(each):.2f} s", median(each) < AIMS[name]
        )
        for (name, source), each in found.items()
        if source == OWN and name in AIMS
    ]
    return finish(rows, targets, args)


if __name__ == "__main__":
    raise SystemExit(main())
