"""Fixtures for NCCL place what they communicate on the device: checked in their source, without a GPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from ddpdoctor.repro.catalogue import load_all, root
from tests.e2e.variants.rewrite import COLLECTIVES

#: functions of torch that make a tensor on the CPU unless they are told a device
MAKERS = frozenset(
    {"arange", "empty", "eye", "full", "linspace", "ones", "rand", "randint", "randn", "tensor", "zeros"}
)
#: collectives of Python objects, which find their device themselves
OBJECTS = frozenset({"all_gather_object", "barrier", "broadcast_object_list", "gather_object", "scatter_object_list"})
PROGRAMS = [
    pytest.param(program, id=f"{case.name}-{program.stem}")
    for case in load_all(root())
    if case.backends == ("gloo", "nccl")
    for program in (case.broken, case.fixed)
]


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func)


def _on_the_cpu(expression: ast.AST) -> list[str]:
    """Tensors that an expression makes and leaves on the CPU."""
    moved = {
        id(made)
        for call in _calls(expression)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "to"
        for made in _calls(call.func.value)
    }
    return [
        ast.unparse(call)
        for call in _calls(expression)
        if _called(call) in {f"torch.{name}" for name in MAKERS}
        and id(call) not in moved
        and not any(keyword.arg == "device" for keyword in call.keywords)
    ]


def _values(function: ast.AST, name: str) -> list[ast.expr]:
    """What a local name is given in a function."""
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id == name
    ]


def _communicated(function: ast.AST) -> Iterator[ast.expr]:
    """Expressions that collectives get, and what the names in them were given in the same function."""
    for call in _calls(function):
        match call.func:
            case ast.Attribute(value=ast.Name(id="dist"), attr=name) if name in COLLECTIVES - OBJECTS:
                for argument in call.args:
                    yield argument
                    if isinstance(argument, ast.Name):
                        yield from _values(function, argument.id)


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_a_collective_gets_is_made_on_a_device(program: Path) -> None:
    tree = ast.parse(program.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert [made for function in functions for value in _communicated(function) for made in _on_the_cpu(value)] == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_model_is_moved_before_it_is_wrapped(program: Path) -> None:
    text = program.read_text()
    wraps = {"DistributedDataParallel", "shard"} if "fully_shard" in text else {"DistributedDataParallel"}
    for call in _calls(ast.parse(text)):
        if _called(call).rpartition(".")[2] in wraps and call.args:
            model = ast.unparse(call.args[0])
            assert ".to(device)" in model or ".to(self.device)" in model, f"{program.name}:{call.lineno}: {model}"


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_device_is_chosen_before_the_ranks_meet(program: Path) -> None:
    text = program.read_text()
    main = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == "main")
    called = {_called(call): call.lineno for call in _calls(main)}
    meets = min(called.get("dist.init_process_group", 10**6), called.get("join", 10**6))
    assert called["local_device"] < meets
    assert '"--backend", default="gloo", choices=["gloo", "nccl"]' in text
    assert "torch.cuda.set_device(device)" in text
    assert 'init_process_group("' not in text


def test_what_is_left_on_the_cpu_is_seen() -> None:
    left = "def f(v):\n    a = torch.tensor([v])\n    dist.all_reduce(a)\n    dist.broadcast(torch.ones(2), src=0)"
    placed = left.replace("[v])", "[v]).to(device)").replace("ones(2", "ones(2, device=device")
    seen = [made for value in _communicated(ast.parse(left)) for made in _on_the_cpu(value)]
    assert seen == ["torch.tensor([v])", "torch.ones(2)"]
    assert [made for value in _communicated(ast.parse(placed)) for made in _on_the_cpu(value)] == []
