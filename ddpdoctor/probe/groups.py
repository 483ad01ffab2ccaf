"""Process groups as the page describes them: name, description and global ranks in group order."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from . import string_table
from .writer import PageWriter


class KnownGroup(NamedTuple):
    """A group of which this process is a member."""

    reference: weakref.ref[Any]
    page: PageWriter
    #: text position on the page
    position: int
    #: global ranks, indexed by group rank
    members: tuple[int, ...]


#: stands for a group that cannot be identified; a number, which torch also keeps for a group that a rank is not in
NO_GROUP = -1

#: by id of the group object; the weak reference distinguishes a new group at the same address
_known: dict[int, KnownGroup] = {}

#: torch.distributed.distributed_c10d
_c10d: Any = None


def set_c10d(c10d: Any) -> None:
    global _c10d
    _c10d = c10d


def find(page: PageWriter, group: Any) -> KnownGroup | None:
    """The group of a call (the default one for None); None for a group that this rank is not in."""
    world = _c10d._world
    if group is None:
        group = world.default_pg
    known = _known.get(id(group))
    if known is not None and known.reference() is group and known.page is page:
        return known
    return _learn(page, group, world)


def _learn(page: PageWriter, group: Any, world: Any) -> KnownGroup | None:
    # a rank outside of a new group holds a number in its place, under which torch keeps the members too
    if group is None or isinstance(group, int):
        return None
    ranks = world.pg_group_ranks.get(group)
    if not ranks:
        return None
    members = tuple(sorted(ranks, key=ranks.__getitem__))
    name = str(world.pg_names.get(group, ""))
    position = declare(page, name, str(getattr(group, "group_desc", "") or ""), members)
    known = _known[id(group)] = KnownGroup(weakref.ref(group), page, position, members)
    return known


def declare(page: PageWriter, name: str, description: str, members: tuple[int, ...]) -> int:
    """The text position of a group, which torch may not know yet (during a rendezvous)."""
    runs = tuple(tuple(run) for run in string_table.encode_members(list(members)))
    return page.text((name, description, runs)) or page.unnamed_group()


def forget() -> None:
    """Called after a group was destroyed."""
    _known.clear()
