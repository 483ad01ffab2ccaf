"""What a class definition declares: fields that its constructor takes, and tuple elements."""

from __future__ import annotations

from ddpdoctor.program.modules import ClassInfo
from ddpdoctor.program.nodes import decorator_name, last_name


def has_fields(info: ClassInfo) -> bool:
    """Whether it is a `@dataclass`, an attrs class, or a NamedTuple."""
    for decorator in info.node.decorator_list:
        if decorator_name(decorator) in ("dataclass", "define", "frozen", "attrs", "s", "mutable"):
            return True
    return is_tuple(info)


def is_tuple(info: ClassInfo) -> bool:
    """Whether it is a NamedTuple: its fields are its elements."""
    return any(last_name(base) == "NamedTuple" for base in info.node.bases)
