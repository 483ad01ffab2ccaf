"""Which of two events certainly precedes the other on every rank that reaches both."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.events import Context


def surely_before(earlier: Context, later: Context) -> bool:
    """Whether each rank that reaches `later` has passed `earlier`, given that `earlier` comes first in the source: no
    branch or loop is around `earlier` alone.
    """
    guards = {(g.site, g.side) for g in later.guards}
    return (
        earlier.calls[:1] == later.calls[:1]
        and not later.mask & ~earlier.mask
        and all((g.site, g.side) in guards for g in earlier.guards)
        and all(loop in later.loops for loop in earlier.loops)
        and earlier.handler != "except"
    )
