"""Progress of a search as printed lines, for `verbose=1`."""

from __future__ import annotations

from typing import Any

from meritnas.wording import visible_line


class Lines:
    """A listener that prints notes, and a line for every tenth of a stage."""

    def __init__(self) -> None:
        self._reached: tuple[str, int] = ("", 0)

    def __call__(self, event: dict[str, Any]) -> None:
        """Hear of an event."""
        if event["kind"] == "note":
            print(visible_line(f"[meritnas] note: {event['text']}"))
        if "steps" not in event:
            return
        reached = (str(event["kind"]), 10 * int(event["step"]) // int(event["steps"]))
        if reached != self._reached and reached[1]:
            network = event.get("leader") or event.get("architecture")
            print(visible_line(f"[meritnas] {reached[0]} {10 * reached[1]}%: {network}"))
        self._reached = reached
