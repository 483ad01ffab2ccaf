"""What operation names mean: which recorder entry belongs to a call, and which ranks an operation waits for."""

from __future__ import annotations

from ddpdoctor.model import c10d
from ddpdoctor.model.collectives import Kind, RecorderEntry
from ddpdoctor.model.framework_meetings import MEETINGS

#: Python-level operation (by prefix, longest first) -> names under which a backend may record what it issues.
#: gloo records reduce_scatter as all_reduce; object collectives issue several operations, sizes first.
_RECORDED_AS: tuple[tuple[str, frozenset[str]], ...] = (
    ("all_gather", frozenset({"all_gather"})),
    ("all_reduce", frozenset({"all_reduce"})),
    ("all_to_all", frozenset({"all_to_all"})),
    ("verify_params", frozenset({"all_gather", "broadcast"})),
    ("barrier", frozenset({"barrier", "all_reduce"})),
    ("broadcast", frozenset({"broadcast"})),
    ("gather_object", frozenset({"all_gather", "gather"})),
    ("gather", frozenset({"gather"})),
    ("reduce_scatter", frozenset({"reduce_scatter", "all_reduce"})),
    ("reduce", frozenset({"reduce"})),
    ("scatter_object", frozenset({"broadcast", "scatter"})),
    ("scatter", frozenset({"scatter"})),
)
#: Collective calls that issue nothing a recorder holds: they are matched by counting them.
UNRECORDED = frozenset(
    {"new_group", "split_group", "init_process_group", "monitored_barrier", "destroy_process_group", *MEETINGS}
)
_BARRIERS = frozenset({"barrier", "monitored_barrier"})


def family(op: str) -> str:
    """The recorder's name of an operation without its variant: `_allgather_base` -> `all_gather`."""
    plain = op.strip("_").replace("allgather", "all_gather").replace("allreduce", "all_reduce")
    plain = plain.replace("alltoall", "all_to_all")
    for known in ("all_gather", "all_reduce", "all_to_all", "broadcast", "reduce_scatter", "gather", "scatter"):
        if plain.startswith(known):
            return known
    return plain


_ROWS = c10d.FUNCTIONS.values()
_KINDS = {family(row.op): row.kind for row in _ROWS if row.kind is Kind.FROM_ROOT or row.kind is Kind.TO_ROOT}
_EQUAL_SIZES = frozenset(family(row.op) for row in _ROWS if row.equal_sizes)
#: families of the collectives that a recorder holds
RECORDED = frozenset(family(row.op) for row in _ROWS if row.collective) - UNRECORDED


def is_barrier(op: str) -> bool:
    return op in _BARRIERS


def equal_sizes(op: str) -> bool:
    """Whether its tensors have one size on all ranks; unequal sizes say nothing of others, `all_gather_v` and the
    collectives of objects among them."""
    return family(op) in _EQUAL_SIZES and not op.endswith("_v") and "object" not in op


def recorded_as(op: str) -> frozenset[str]:
    """Families under which the recorder may hold what the call `op` issues."""
    plain = op.strip("_")
    return next((names for prefix, names in _RECORDED_AS if plain.startswith(prefix)), frozenset({family(op)}))


def belongs(entry: RecorderEntry, op: str) -> bool:
    return family(entry.op) in recorded_as(op)


def kind(op: str) -> Kind:
    """Which ranks an operation waits for. Object collectives issue operations of several kinds."""
    return _KINDS.get(family(op), Kind.ALL)


def entry_kind(entry: RecorderEntry) -> Kind:
    """Which ranks the recorded operation waits for."""
    return kind(entry.op)
