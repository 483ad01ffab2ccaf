"""Which of two events surely comes before the other on every rank that gets to both."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.events import Context


def surely_before(earlier: Context, later: Context) -> bool:
    """Who gets to `later` has been at `earlier`, given that it stands first: no branch or loop is around it alone."""
    guards = {(g.site, g.side) for g in later.guards}
    return (
        earlier.calls[:1] == later.calls[:1]
        and not later.mask & ~earlier.mask
        and all((g.site, g.side) in guards for g in earlier.guards)
        and all(loop in later.loops for loop in earlier.loops)
        and earlier.handler != "except"
    )
