"""The screen of a kept verdict, as text and as a picture: the tutorial and the README show the same real job."""

from __future__ import annotations

import functools
import io
import tarfile
import tempfile
from html import escape
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from ddpdoctor import exhibit
from ddpdoctor.cli.lint_citations import with_lint_findings
from ddpdoctor.collect import assemble, bundle
from ddpdoctor.diagnose import engine
from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.report import terminal
from ddpdoctor.report.terminal_text import Screen

#: what `ddpdoctor watch --bundle` kept of a run of docs/tutorial/train.py in DIRECTORY
KEPT = Path(__file__).parent / "tutorial" / "bundle.tar.gz"
DIRECTORY = "/home/ada/tutorial"
COMMAND = "ddpdoctor watch --on-hang stop -- torchrun --nproc-per-node 4 train.py"
#: where a reader finds their own
PLACE = "~/.local/state/ddpdoctor/runs/20261122-123521-13212"
WIDTH = 100
#: seconds that lint may take: so many that its findings are never missing
_PATIENCE = 120.0

_DARK = TerminalTheme(
    background=(22, 27, 34),
    foreground=(222, 228, 234),
    normal=[
        (72, 79, 88), (255, 123, 114), (87, 202, 109), (227, 179, 65),
        (121, 192, 255), (210, 168, 255), (102, 217, 239), (222, 228, 234),
    ],
)  # fmt: skip

# rich's own template asks a server for its font
_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="LABEL">
<style>
text {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


@functools.cache
def verdict() -> Exhibit:
    """The kept evidence, judged by the engine as it is now."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(KEPT) as packed:
            packed.extractall(folder, filter="data")
        evidence = assemble.assemble(bundle.read(Path(folder) / "bundle"))
    return exhibit.of(with_lint_findings(engine.examine(evidence), within=_PATIENCE), evidence)


def text(*, color: bool = False) -> str:
    """What `watch` printed when it reached the verdict."""
    screen = Screen(width=WIDTH, color=color, unicode=True)
    job = "stopping the job (--on-hang=stop)"
    return terminal.render(verdict().report, screen, job=job, bundle=PLACE, directory=DIRECTORY)


def svg() -> str:
    """The same on a terminal with a dark ground of its own, so that a light and a dark page can show it."""
    shown = f"\x1b[1m$ {COMMAND}\x1b[0m\n\n{text(color=True)}"
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(shown), end="")
    drawn = console.export_svg(title="", theme=_DARK, code_format=_SVG, unique_id="screen")
    drawn = drawn.replace("LABEL", escape(f"A terminal: {COMMAND}, and the verdict"))
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"
