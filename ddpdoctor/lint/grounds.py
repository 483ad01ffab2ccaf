"""What a result rests on: what was read of the disk, looked for and listed, each with its answer. Pure."""

from __future__ import annotations

from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import field, record


class Listing(NamedTuple):
    """The files below a folder whose names end in one of these, the first ones of a walk."""

    top: str
    endings: tuple[str, ...]
    most: int


@record(slots=True)
class Grounds:
    """What a result rests on."""

    #: digest of each file that was read, "" for one that could not be
    files: dict[str, str] = field(default_factory=dict)
    #: whether there is a file, by path
    there: dict[str, bool] = field(default_factory=dict)
    #: digest of the paths of each listing
    listed: dict[Listing, str] = field(default_factory=dict)
    #: digest of the names in each folder
    names: dict[str, str] = field(default_factory=dict)


def digest(raw: bytes | None) -> str:
    """A digest of a file's bytes, "" if there are none to be had."""
    from hashlib import blake2b  # without the cache, nothing asks for one

    return blake2b(raw, digest_size=16).hexdigest() if raw is not None else ""
