"""Generates variants of every fixture from its broken program and its fixture.toml."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ddpdoctor.model.ranks import RankSet
from ddpdoctor.repro.case import Case
from tests.e2e.variants import rewrite
from tests.e2e.variants.disguise import disguise
from tests.e2e.variants.rewrite import Program

#: names, comments and places changed, and the ranks turned against the processes that carry them
DISGUISED = "disguised"
#: another number of ranks; the program in a package, and its collectives behind a library
PACKAGED = "packaged"
#: torch.multiprocessing instead of a launcher, another rank to blame, another model
SPAWNED = "spawned"
FORMS = (DISGUISED, PACKAGED, SPAWNED)

_LIBRARY = "fabric_comm"
_TURNED = Path(__file__).with_name("turned.py")
_ENTRY = '''"""Train."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib" / "site-packages"))

from trainer_lib.engine import main

if __name__ == "__main__":
    main()
'''


def has_forms(case: Case) -> bool:
    """Is it one that this machine can show, and that waits?"""
    return case.harm is None and not case.needed and case.launcher == "torchrun"


def build(case: Case, form: str, folder: Path) -> Case:
    """Write one form of a fixture into a new folder; the case that says what must come of it."""
    folder.mkdir(parents=True)
    return {DISGUISED: _disguised, PACKAGED: _packaged, SPAWNED: _spawned}[form](case, folder)


def _disguised(case: Case, folder: Path) -> Case:
    text, line = disguise(case.broken.read_text(encoding="utf-8"), case.line)
    (folder / "job.py").write_text(text, encoding="utf-8")
    turning = _TURNED.read_text(encoding="utf-8").replace("sys.argv.pop(0)", "sys.argv[0] = JOB")
    job = f"JOB = {str(folder / 'job.py')!r}\n"
    (folder / "broken.py").write_text(turning.replace('if __name__ == "__main__"', f'{job}\nif __name__ == "__main__"'))
    return dataclasses.replace(case, folder=folder, file="job.py", line=line)


def _packaged(case: Case, folder: Path) -> Case:
    program = Program(case.broken.read_text(encoding="utf-8"), case.line)
    library = rewrite.hide_collectives(program, _LIBRARY)
    package, installed = folder / "trainer_lib", folder / "lib" / "site-packages" / _LIBRARY
    package.mkdir()
    installed.mkdir(parents=True)
    text, line = program.text()
    (package / "__init__.py").write_text("")
    (package / "engine.py").write_text(text, encoding="utf-8")
    (installed / "__init__.py").write_text(library)
    (folder / "broken.py").write_text(_ENTRY)
    ranks, culprits = next(iter(case.elsewhere.items()), (case.ranks, case.culprits))
    return dataclasses.replace(
        case, folder=folder, file="trainer_lib/engine.py", line=line, ranks=ranks, culprits=culprits
    )


def _spawned(case: Case, folder: Path) -> Case:
    program = Program(case.broken.read_text(encoding="utf-8"), case.line)
    numbered = rewrite.told_by_number(program)
    rewrite.deepen(program)
    if not numbered:
        rewrite.turn(program)
    rewrite.spawn(program, case.ranks, turned=numbered)
    text, line = program.text()
    (folder / "broken.py").write_text(text, encoding="utf-8")
    moved = case.culprits if numbered else RankSet.of((rank - 1) % case.ranks for rank in case.culprits)
    return dataclasses.replace(case, folder=folder, line=line, launcher="spawn", culprits=moved)
