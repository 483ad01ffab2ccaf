"""What a wheel contains besides the package: manual pages and completions, made from the program as it is built, and
the README with links that lead somewhere from an index, too."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_COMPLETIONS = {
    "bash": "share/bash-completion/completions/ddpdoctor",
    "zsh": "share/zsh/site-functions/_ddpdoctor",
    "fish": "share/fish/vendor_completions.d/ddpdoctor.fish",
}

#: the target of a link or a picture that is neither an address nor a place in the same page
_RELATIVE = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)[^)\s]+(?=\))")
_PICTURES = (".svg", ".png")


class LinkedReadme(MetadataHookInterface):
    """The README's relative links as addresses of this version's files in the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source, tag = metadata["urls"]["Source"], f"v{metadata['version']}"

        def address(found: re.Match[str]) -> str:
            return f"{source}/{'raw' if found[0].endswith(_PICTURES) else 'blob'}/{tag}/{found[0]}"

        metadata["readme"] = {"content-type": "text/markdown", "text": _RELATIVE.sub(address, text)}


class SharedFiles(BuildHookInterface):
    """Puts them under `share/`, beside the `bin/` that the command is installed into."""

    _folder: str

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._folder = tempfile.mkdtemp(prefix="ddpdoctor-build-")
        for installed, text in _files(Path(self.root)).items():
            path = Path(self._folder) / installed
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(path)] = installed

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _files(root: Path) -> dict[str, str]:
    """Each file's text by where it is installed; the parsers import nothing but the standard library."""
    sys.path.insert(0, str(root))
    try:
        from ddpdoctor.cli import completion
        from docs import manual
    finally:
        sys.path.remove(str(root))
    # https://reproducible-builds.org/specs/source-date-epoch/
    now = datetime.now(timezone.utc).timestamp()
    date = datetime.fromtimestamp(float(os.environ.get("SOURCE_DATE_EPOCH", now)), timezone.utc).strftime("%Y-%m-%d")
    made = {f"share/man/man1/{name}": text for name, text in manual.pages(date).items()}
    for shell, installed in _COMPLETIONS.items():
        made[installed] = getattr(completion, shell)(completion.commands())
    return made
