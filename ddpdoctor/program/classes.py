"""What the definition of a class says: fields that its constructor takes, elements of a tuple."""

from __future__ import annotations

from ddpdoctor.program.modules import ClassInfo
from ddpdoctor.program.nodes import decorator_name, last_name


def has_fields(info: ClassInfo) -> bool:
    """`@dataclass`, attrs, or a NamedTuple."""
    for decorator in info.node.decorator_list:
        if decorator_name(decorator) in ("dataclass", "define", "frozen", "attrs", "s", "mutable"):
            return True
    return is_tuple(info)


def is_tuple(info: ClassInfo) -> bool:
    """A NamedTuple: its fields are its elements."""
    return any(last_name(base) == "NamedTuple" for base in info.node.bases)
