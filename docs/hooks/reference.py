"""Pages of the reference: an entry for every public name, so that none can be forgotten.

Headings of the pages are here; what a name is comes from its docstring, by mkdocstrings.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import meritnas

PAGES = {
    "search": ("Searching and its results", "What searches and trains, and what comes of it."),
    "estimators": ("Estimators", "For scikit-learn: [how they are used](../estimators.md)."),
    "settings": (
        "Settings",
        "Limits, training, how data is read, how a run goes: [what can be set](../settings.md).",
    ),
    "spaces": (
        "Spaces",
        "A spec says which networks are searched; a family is the space itself, with decisions, "
        "costs, supernet and networks.",
    ),
    "strategies": (
        "Strategies",
        "A spec for each, with its options: [how each works](../strategies.md), "
        "[which to take when](../which_strategy.md).",
    ),
    "nn": (
        "Networks of your own",
        "`import meritnas.nn as mn`: [how they become a space](../own_networks.md).",
    ),
    "credit": ("Credit and explanations", "What parts, columns and modalities are worth."),
    "errors": ("Errors", "What users can cause: [what to do about each](../errors/index.md)."),
}
"""Page -> its heading, and what it begins with."""

_OF_PACKAGE = {
    "estimators": "estimators",
    "settings": "settings",
    "tasks": "settings",
    "families": "spaces",
    "space": "spaces",
    "strategy": "strategies",
    "nn": "nn",
    "credit": "credit",
    "explanation": "credit",
    "errors": "errors",
}
"""Where names of a package are; `data` has both readings and what rows are, others search."""


def public_names() -> dict[str, str]:
    """Each public name, `meritnas.search` -> where it is defined, `meritnas.api.search`."""
    found = {}
    for package in ("meritnas", "meritnas.nn"):
        module = import_module(package)
        for name in getattr(module, "__all__", None) or _own_names(module):
            value = getattr(module, name)
            home = getattr(value, "__module__", None) or _module_of(name)
            found[f"{package}.{name}"] = f"{home}.{name}"
    return found


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    entries: dict[str, list[str]] = {page: [] for page in PAGES}
    for name, place in public_names().items():
        entries[page_of(place)].append(_entry(name, place))
    for page, (title, lead) in PAGES.items():
        text = "\n\n".join([f"# {title}", lead, *entries[page]])
        files.append(File.generated(config, f"reference/{page}.md", content=text))
    return files


def page_of(place: str) -> str:
    """Which page has what is defined here."""
    _, package, *_ = place.split(".")
    if package == "data":
        return "settings" if place.endswith("Reading") else "spaces"
    return _OF_PACKAGE.get(package, "search")


def _entry(name: str, place: str) -> str:
    """What mkdocstrings makes an entry of, and an anchor for the name that users import."""
    own = f'<span id="{name}"></span>\n\n' if name != place else ""
    return f"{own}::: {place}"


def _own_names(module: Any) -> list[str]:
    return sorted(
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "").startswith(f"{module.__name__}.")
    )


def _module_of(name: str) -> str:
    """Of a constant, which does not know where it is from."""
    return meritnas._PLACES.get(name, "meritnas.version")
