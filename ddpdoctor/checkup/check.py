"""A check's code and name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    #: DD3xx, never reused
    code: str
    #: in kebab case: what is in order if the check says nothing
    name: str
