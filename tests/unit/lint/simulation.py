"""Short programs through the interpreter, and what tests ask of the outcome."""

from __future__ import annotations

import textwrap

from ddpdoctor.lint import taint_comments
from ddpdoctor.lint.interpreter.analysis import Analysis
from ddpdoctor.lint.interpreter.trace import BlockExit, Branch, Loop, Op, Scope, Trace
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program import indexing, source
from ddpdoctor.program.modules import Module
from ddpdoctor.program.project import Project

#: `show` is no function of the program: its calls are recorded, with what they are given
IMPORTS = "import os\nimport time\n\nimport torch\nimport torch.distributed as dist\nfrom elsewhere import show\n\n"


def module(text: str, path: str = "/job/main.py") -> Module:
    tree = source.parse(text)
    assert not isinstance(tree, source.Unreadable), tree
    return indexing.build(path, path.rpartition("/")[2].removesuffix(".py"), text, tree)


def simulate(text: str, **others: str) -> Analysis:
    """The analysis of a program; `others`: further files beside it, by their names without ".py"."""
    files = {f"/job/{name}.py": IMPORTS + textwrap.dedent(other) for name, other in others.items()}
    analysis = Analysis(module(IMPORTS + textwrap.dedent(text)), Project(files.get), taint_comments.Taints())
    analysis.run()
    return analysis


def trace(text: str, root: str = "main", **others: str) -> Trace:
    """What the function `root` does collectively."""
    return next(r.trace for r in simulate(text, **others).roots if r.name == root)


def shown(text: str, **others: str) -> list[Value]:
    """What is given to `show`, in the order of the calls."""
    return [call.args[0] for call in simulate(text, **others).calls if call.path == "elsewhere.show"]


def outline(nodes: Trace) -> str:
    """A trace on one line: `barrier if(rank == 0){all_reduce|} loop{...}`."""
    return " ".join(_outline(node) for node in nodes if isinstance(node, (Op, Branch, Loop, BlockExit, Scope)))


def _outline(node: Op | Branch | Loop | BlockExit | Scope) -> str:
    if isinstance(node, Op):
        return node.op
    if isinstance(node, Branch):
        return f"if({node.text}){{{outline(node.then)}|{outline(node.other)}}}"
    if isinstance(node, Loop):
        return f"loop{{{outline(node.body)}}}"
    return node.kind if isinstance(node, BlockExit) else f"{node.name}{{{outline(node.body)}}}"
