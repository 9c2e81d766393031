"""What a notebook shows: a table of figures and a timeline as SVG, both without files or scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._runs import Timeline

__all__ = ["draw", "escape", "table"]

# Of F, I, W, B and FB; readable on white and on black. R is as F, all others as W.
COLOURS = {"F": "#4a90d9", "I": "#3fae7a", "W": "#e0a030", "B": "#2f9e8f", "FB": "#8a6fc8", "R": "#4a90d9"}
# Beside what their rank computes: a line below it.
BESIDE = ("OFFLOAD", "RELOAD", "BCAST", "REDUCE", "ALLREDUCE")
MOST_OPS = 20000
WIDTH, ROW, LEFT = 900, 18, 56


def cell(value: Any) -> str:
    """A figure as a table has it."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return escape(str(value))


def table(titles: Sequence[str], rows: Iterable[Sequence[Any]], marked: int = -1) -> str:
    """Rows below titles, of which @marked is bold."""
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    lines = []
    for number, row in enumerate(rows):
        style = ' style="font-weight:bold"' if number == marked else ""
        lines.append(f"<tr{style}>{''.join(f'<td>{cell(value)}</td>' for value in row)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def draw(timeline: Timeline) -> str:
    """A row a rank, time to the right; what each op is shows where the pointer rests."""
    from ._runs import KINDS

    if len(timeline) > MOST_OPS:
        return f"<p>{len(timeline)} ops are too many for a picture here: pipesim.compare(..., timeline='FILE.svg') draws them.</p>"
    scale = (WIDTH - LEFT) / max(timeline.makespan_ns, 1)
    height = ROW * timeline.ranks + 22
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="100%" '
        f'font-family="sans-serif" font-size="10" fill="currentColor" role="img"><title>{escape(timeline.name)}</title>'
    ]
    for rank in range(timeline.ranks):
        parts.append(f'<text x="0" y="{ROW * rank + 13}">rank {rank}</text>')
    for i in range(len(timeline)):
        start, end, kind = int(timeline.start_ns[i]), int(timeline.end_ns[i]), KINDS[timeline.kind[i]]
        beside = kind.startswith(BESIDE)
        if beside and start == end:
            continue
        x, width = LEFT + start * scale, (end - start) * scale
        y, number = ROW * int(timeline.rank[i]) + (ROW - 4 if beside else 0), str(timeline.microbatch[i])
        parts.append(
            f'<rect x="{x:.1f}" y="{y + 1}" width="{max(width, 0.3):.1f}" height="{3 if beside else ROW - 2}" '
            f'stroke-width="0.3" fill="{COLOURS.get(kind, COLOURS["W"])}" stroke="#888">'
            f"<title>{timeline.label(i)}: {start / 1e6:g} to {end / 1e6:g} ms</title></rect>"
        )
        if width > 6 * len(number) + 2 and not beside:
            parts.append(f'<text x="{x + width / 2:.1f}" y="{y + 13}" text-anchor="middle" fill="#000">{number}</text>')
    y = height - 6
    used = [KINDS[kind] for kind in sorted({int(kind) for kind in timeline.kind})]
    for place, kind in enumerate(kind for kind in used if not kind.startswith(BESIDE)):
        x = LEFT + 50 * place
        fill = COLOURS.get(kind, COLOURS["W"])
        parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{fill}"/><text x="{x + 14}" y="{y}">{kind}</text>')
    parts.append(f'<text x="{WIDTH}" y="{y}" text-anchor="end">{timeline.makespan_ns / 1e6:g} ms</text></svg>')
    return "".join(parts)
