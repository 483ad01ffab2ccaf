"""The table of torch.distributed's functions: as the installed torch has them, and as the probe's copy has them."""

from __future__ import annotations

import inspect
from types import FunctionType, ModuleType

import pytest

from ddpdoctor.lint.knowledge import torch_api
from ddpdoctor.model import c10d
from ddpdoctor.probe import functional_collectives, operations

#: functions whose calls the probe sees only as calls of others of the table
SEEN_AS_OTHERS = {
    "batch_isend_irecv": "isend and irecv",
    "breakpoint": "barrier",
    "init_process_group": "recorded by a hook of its own",
    "new_subgroups": "new_group",
    "new_subgroups_by_enumeration": "new_group",
    "shrink_group": "a new communicator without a call that blocks the other ranks",
}


def _torch(name: str) -> ModuleType:
    torch = pytest.importorskip("torch", reason="the table is compared with the torch that is installed")
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) != c10d.NEWEST:
        pytest.skip(f"the table describes torch {c10d.NEWEST}, and {torch.__version__} is installed")
    module: ModuleType = pytest.importorskip(name)
    return module


@pytest.mark.parametrize("row", c10d.FUNCTIONS.values(), ids=lambda row: row.name)
def test_the_installed_torch_has_the_function_and_its_parameters(row: c10d.Function) -> None:
    public, own = _torch("torch.distributed"), _torch("torch.distributed.distributed_c10d")
    function = getattr(public, row.name, None) or getattr(own, row.name)
    parameters = tuple(name for name in inspect.signature(function).parameters if not name.startswith("_"))
    assert parameters == row.parameters


def test_every_public_function_of_the_installed_torch_is_in_the_table() -> None:
    module = _torch("torch.distributed.distributed_c10d")
    # by type: some objects warn when they are asked for their class
    public = {name for name in module.__all__ if type(getattr(module, name)) is FunctionType and name.islower()}
    assert public <= set(c10d.FUNCTIONS) | torch_api.OTHERS | torch_api.VENDORS


@pytest.mark.parametrize("name", c10d.FUNCTIONAL)
def test_the_installed_torch_has_the_functional_collective(name: str) -> None:
    function = getattr(_torch("torch.distributed._functional_collectives"), name)
    assert list(inspect.signature(function).parameters).index("group") == c10d.FUNCTIONAL[name].group


@pytest.mark.parametrize("row", c10d.FUNCTIONS.values(), ids=lambda row: row.name)
def test_parameters_that_a_row_names_exist(row: c10d.Function) -> None:
    assert {row.gives, row.overwrites, *row.added} - {""} <= set(row.parameters)


def test_the_probe_has_a_copy_of_what_communicates() -> None:
    communicating = {row.name: row for row in c10d.FUNCTIONS.values() if row.kind is not None}
    assert set(operations.C10D) == set(communicating)
    for name, spec in operations.C10D.items():
        row = communicating[name]
        assert row.kind is not None
        assert (spec.kind, spec.op, spec.tensors, spec.asynchronous) == (
            row.kind.value, row.op, row.gives, row.asynchronous,
        )  # fmt: skip
        assert set(spec.other or ()) <= set(row.parameters)


def test_what_the_probe_does_not_see_itself_has_a_reason() -> None:
    unseen = {row.name for row in c10d.FUNCTIONS.values() if row.counts_as and row.kind is None}
    assert unseen | {"batch_isend_irecv"} == set(SEEN_AS_OTHERS)


def test_the_probe_has_a_copy_of_the_functional_collectives() -> None:
    for name, op in functional_collectives.NAMES.items():
        assert op == c10d.FUNCTIONAL[name].op
    # the coalesced ones have had two names; the probe wraps the function once, under the older
    assert {row.op for row in c10d.FUNCTIONAL.values()} == set(functional_collectives.NAMES.values())
