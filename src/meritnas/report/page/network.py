"""What a run found: summary, limits, the network drawn."""

from __future__ import annotations

from meritnas.families.drawing import DEAD, Drawing
from meritnas.report.charts.bars import limit_bars
from meritnas.report.charts.figure import Figure
from meritnas.report.charts.network import graph_picture, layers_picture
from meritnas.report.names import amount_text, cost_name
from meritnas.report.numbers import duration_text, score_text, share_text
from meritnas.report.page.section import Section, Table
from meritnas.report.page.tiles import answer_tiles
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork
from meritnas.report.terminal.summary import summary_rows

_SHOWN_CELLS = 2
_TASKS = {"multiclass": "one of several classes", "binary": "one of two classes"}


def summary_section(run: RunFiles, network: RunNetwork) -> Section:
    """The network, its score, and what it was found with."""
    lead = "" if run.finished else "This run is not finished; the page shows what there is so far."
    text = "\n".join(network.lines(run.network)) if run.network else ""
    tiles = answer_tiles(run["result"]) if run.finished else ()
    facts = tuple(summary_facts(run))
    return Section("summary", "Summary", lead, facts, network=text, tiles=tiles)


def summary_facts(run: RunFiles) -> list[tuple[str, str]]:
    """(name, value) pairs: costs and scores, then what the network was found with."""
    data, settings = run.config.get("data", {}), run.settings
    facts: list[tuple[str, str]] = []
    if run.finished:
        skipped = ("network", "run folder", "time")
        facts += [row for row in summary_rows(run["result"]) if row[0] not in skipped]
    else:
        if run.events:
            last = run.events[-1]
            facts.append(("search", f"step {last['step']:,} of {last.get('steps', 0):,}"))
        done = run["retrain"].get("results", [])
        losses = [one["valid_loss"] for one in done if one["valid_loss"] is not None]
        if done:
            best = f"best validation loss {score_text(min(losses))}" if losses else "all diverged"
            facts.append(("trainings", f"{len(done)}, {best}"))
    facts.append(("data", _data_text(data)))
    if "task" in run["result"]:
        task = str(run["result"]["task"])
        facts.append(("task", _TASKS.get(task, task)))
    strategy = run["architecture"].get("strategy", run.named("strategy"))
    facts.append(("space", run.named("space")))
    facts.append(("strategy", "given by the user" if strategy == "given" else str(strategy)))
    facts.append(("seed", str(settings.get("seed", "?"))))
    if "seconds" in run["result"]:
        facts.append(("time", duration_text(float(run["result"]["seconds"]))))
    made = run.config.get("versions", {}).get("meritnas", "?")
    facts.append(("made by", f"MeritNAS {made}"))
    return facts


def limits_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """How much of every limit the network uses."""
    del network
    limits = run.settings.get("limits") or {}
    found = run["result"] if run.finished else run["architecture"]
    costs = dict(found.get("costs", {}))
    lead = ""
    if "feasible_share" in found:
        lead = f"{share_text(found['feasible_share'])} of the space fits the limits."
    if not costs and run.events:
        leading = run.events[-1].get("leader_costs", {})
        costs = {name: used for name, (used, _) in leading.items()}
        lead = "What the network that leads so far uses; another one may win."
    if not limits or not costs:
        return None
    rows = []
    for name, most in limits.items():
        cost = costs.get(name)
        if cost is not None:
            share = cost / most
            amounts = f"{amount_text(name, cost)} of {amount_text(name, most)}"
            rows.append((cost_name(name), share, f"{amounts} ({share_text(share)})"))
    if not rows:
        return None
    figure = Figure(limit_bars("What is used of the limits", rows))
    return Section("limits", "Limits", lead, figures=(figure,), half=True)


def network_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """The network as a picture: layers, or the graphs of its cells; else what was decided."""
    if run.network is None:
        return None
    lead = "" if run.finished else "What leads so far; another one may win."
    if network.family is not None:
        network.parsed(run.network)  # a damaged text is said, not drawn
    if network.layers:
        picture = layers_picture("The layers of the network and their widths", network.layers)
        figure = Figure(picture, "Layers and their widths", wide=True)
        return Section("network", "The network", lead, figures=(figure,))
    if not network.drawings:
        return _decided_section(network, lead)
    figures = tuple(Figure(graph_picture(each), _caption(each)) for each in network.drawings)
    if network.family is None or network.family.identity:  # nothing in a picture says who decided
        return Section("network", "The network", lead, figures=figures, table=_decided(network))
    return Section(
        "network",
        "The network",
        lead,
        figures=figures[:_SHOWN_CELLS],
        folded=figures[_SHOWN_CELLS:],
    )


def _caption(drawing: Drawing) -> str:
    return drawing.title + (f"; dashed: {DEAD}" if drawing.dead else "")


def _decided_section(network: RunNetwork, lead: str) -> Section | None:
    """The option of every decision, for networks that nothing here knows how to draw."""
    table = _decided(network)
    return None if table is None else Section("network", "The network", lead, table=table)


def _decided(network: RunNetwork) -> Table | None:
    rows = tuple(zip(network.decisions, network.chosen, strict=False))
    return Table(("decision", "option"), rows) if rows else None


def _data_text(data: dict[str, object]) -> str:
    name, location = str(data.get("name", "?")), data.get("location")
    where = f" ({location})" if location and location != name else ""
    if location is None:
        where = " (in memory)"
    target = data.get("target")
    return f"{name}{where}" + (f", to predict '{target}'" if target is not None else "")
