"""Which loops make as many rounds on every rank, as the source tells."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ddpdoctor.diagnose.source_reading.source import last_name, mentions_rank, pairs, passed
from ddpdoctor.model.stacks import Site
from ddpdoctor.program.program import Program

#: What programs call values of their configuration that come from elsewhere; all ranks have them alike.
_SETTINGS = frozenset({"args", "cfg", "config", "conf", "hparams", "opt", "opts", "options", "settings"})
#: Methods of modules that give the parts of a model.
_PARTS_OF_MODELS = frozenset(
    {"parameters", "named_parameters", "buffers", "named_buffers", "named_modules", "children"}
)
#: What reads the command line, which launchers give to all ranks alike: argparse, transformers' HfArgumentParser.
_PARSERS = frozenset({"parse_args", "parse_intermixed_args", "parse_args_into_dataclasses"})


def same_everywhere(program: Program, loop: Site) -> bool:
    """The loop makes as many rounds on every rank: a `range` of constants, of the world size, or of arguments.

    So does one over a model's parameters: wherever ranks reduce gradients together, they hold the same model.
    """
    tree = program.tree(loop.file)
    nodes = ast.walk(tree) if tree else ()
    node = next((n for n in nodes if isinstance(n, ast.For) and n.lineno == loop.line), None)
    if tree is None or node is None or not isinstance(node.iter, ast.Call):
        return False
    if isinstance(node.iter.func, ast.Attribute) and node.iter.func.attr in _PARTS_OF_MODELS:
        return True
    if last_name(node.iter.func) != "range":
        return False
    values = _values(tree)
    common = _Common({name: one[0] if len(one) == 1 else None for name, one in values.items()}, _settings(values))
    return all(common.holds(part) for part in node.iter.args)


def _values(tree: ast.Module) -> dict[str, list[ast.expr | None]]:
    """Names and attributes that the file sets -> all that they are set to, None for what is not plain to see."""
    found: dict[str, list[ast.expr | None]] = {}
    plain = {
        id(target): value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target, value in pairs(node.targets, node.value)
    }
    given = passed(tree)
    for node in ast.walk(tree):
        if isinstance(getattr(node, "ctx", None), ast.Store):
            found.setdefault(_variable(node), []).append(plain.get(id(node)))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                found.setdefault(parameter.arg, []).extend(given.get((node.name, parameter.arg), [None]))
    return found


def _settings(values: Mapping[str, Sequence[ast.expr | None]]) -> frozenset[str]:
    """Names that hold the command line wherever the file sets them, and those that are called like it.

    Not where the file computes them with a rank, as in `config = load(f"config.{rank}.json")`.
    """
    found: frozenset[str] = frozenset()
    for _ in range(3):  # from the parser into a function, and from there into another
        found |= {name for name, given in values.items() if all(_is_parsed(value, found) for value in given)}
    own = (name for name in _SETTINGS if not any(value and mentions_rank(value) for value in values.get(name, ())))
    return found.union(own)


def _is_parsed(value: ast.expr | None, known: frozenset[str]) -> bool:
    if isinstance(value, ast.Call):
        return last_name(value.func) in _PARSERS
    return isinstance(value, ast.Name) and value.id in known


def _variable(node: ast.AST) -> str:
    """`name` or `.attribute`, whosever attribute it is."""
    return f".{node.attr}" if isinstance(node, ast.Attribute) else last_name(node)


@dataclass(frozen=True, slots=True)
class _Common:
    """Tells values that are the same on every rank, as far as the source says."""

    #: names and attributes that the file sets, with their value where they are set once and plainly
    assigned: Mapping[str, ast.expr | None]
    #: names whose attributes are the command line's
    settings: frozenset[str]

    def holds(self, expression: ast.expr, depth: int = 3) -> bool:
        match expression:
            case ast.Constant():
                return True
            case ast.Name():
                value = self.assigned.get(expression.id)
                return depth > 0 and value is not None and self.holds(value, depth - 1)
            case ast.Attribute(value=ast.Name(id=base)):
                return base in self.settings and _variable(expression) not in self.assigned
            case ast.BinOp():
                return self.holds(expression.left, depth) and self.holds(expression.right, depth)
            case ast.Call():
                known = last_name(expression.func) in ("int", "max", "min", "get_world_size")
                return known and all(self.holds(part, depth) for part in expression.args)
        return False
