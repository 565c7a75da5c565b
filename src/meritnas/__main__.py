from __future__ import annotations

from meritnas.cli.main import main

main()
