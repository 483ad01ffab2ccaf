"""The join of samplers and loaders that partition data by rank with those of a single-process run."""

from __future__ import annotations

from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values.abstract_objects import Class, External, Instance, Made
from ddpdoctor.lint.values.iteration import iterated_of
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Value, of_object
from ddpdoctor.program.nodes import last_name

#: the sampler of a loader to which none is given
IN_ORDER = "torch.utils.data.SequentialSampler"
_PLAIN = frozenset({"torch.utils.data.RandomSampler", IN_ORDER})


def made_of(value: Value | None) -> Made | None:
    """The constructor call of an object, or of the class of torch that its own class extends."""
    obj = value.object if value is not None else None
    made = obj.base if isinstance(obj, Instance) else obj
    return made if isinstance(made, Made) else None


def given_sampler(loader: Made) -> Value | None:
    """The sampler given to a loader, also inside a BatchSampler."""
    batches = made_of(loader.argument(4, "batch_sampler"))
    if batches is not None and batches.path.endswith(".BatchSampler"):
        return batches.argument(0, "sampler")
    return loader.argument(3, "sampler")


#: what a loader, or a sampler of batches, keeps of what it was made with: the position of the argument
_KEPT = {
    (aliases.LOADER, "sampler"): 3,
    (aliases.LOADER, "batch_sampler"): 4,
    (aliases.BATCH_SAMPLER, "sampler"): 0,
}


def kept(value: Value, name: str) -> Value | None:
    """The sampler that is read from a loader again: `loader.sampler`; None if it is not known, or none was given."""
    made = made_of(value)
    position = _KEPT.get((made.path, name)) if made is not None else None
    if made is None or position is None or value.tags & Tag.PREPARED:
        return None
    given = made.argument(position, name)
    if given is None and name == "sampler" and made.path == aliases.LOADER:
        return _beside_batches(value, made)
    return given if given is not None and given.object is not None else None


def _beside_batches(value: Value, loader: Made) -> Value | None:
    """The sampler that a loader makes and never asks, since it is given a sampler of batches."""
    batches = loader.argument(4, "batch_sampler")
    if batches is None or batches.object is None or loader.opaque:
        return None
    return of_object(Made(IN_ORDER, loader.site, loader.args[:1])).with_tags(value.tags & Tag.MAYBE)


def shared(one: Value, two: Value) -> Value | None:
    """The distributed one of a sampler or loader and its single-process alternative, tagged MAYBE."""
    a, b = made_of(one), made_of(two)
    for shown, plain in ((one, two), (two, one)):
        if plain.object is not None and shown.object != plain.object == iterated_of(shown)[0].object:
            return plain  # one rank shows how far it is: `tqdm(loader) if rank == 0 else loader`
    classes = {v.object.path: v for v in (one, two) if isinstance(v.object, External)}
    if aliases.SAMPLER in classes and classes.keys() & _PLAIN:
        return classes[aliases.SAMPLER].tagged(Tag.MAYBE)
    if aliases.LOADER in classes and any(map(_extends_loader, (one, two))):
        return classes[aliases.LOADER]
    if a is None or b is None:
        return None
    for made, other, value in ((a, b, one), (b, a, two)):
        if made.path == aliases.SAMPLER and other.path in _PLAIN:
            return value.tagged(Tag.MAYBE)
        if made.path == other.path == aliases.LOADER and _shares(made) and not _shares(other):
            return value.tagged(Tag.MAYBE)
    return one if a.path == b.path and a.path in _TURNED and _manner(a) == _manner(b) else None


#: what decides how a loader or sampler goes through its data: positions and names of arguments
_TURNED = {
    aliases.SAMPLER: ((3, "shuffle"), (5, "drop_last")),
    aliases.LOADER: ((2, "shuffle"), (8, "drop_last")),
}


def _manner(made: Made) -> tuple[object, ...]:
    """How a loader or sampler goes through its data, whichever they are: those that a factory makes for one data set or
    another are alike in this."""
    turned = tuple(None if (v := made.argument(*place)) is None else v.atoms for place in _TURNED[made.path])
    if made.path == aliases.SAMPLER:
        return turned
    value = given_sampler(made)
    sampler = made_of(value)
    alone = made.argument(4, "batch_sampler") is None
    if sampler is not None and sampler.path in _TURNED:
        return (*turned, alone, sampler.path, *_manner(sampler))
    none = value is None or (value.known and value.constant is None)
    given = None if value is None or none else value.object or value.atoms
    return (*turned, alone, sampler.path if sampler is not None else given)


def _extends_loader(value: Value) -> bool:
    """Whether it is a class of the project that is torch's loader but for how it gets its batches."""
    obj = value.object
    return isinstance(obj, Class) and any(last_name(base) == "DataLoader" for base in obj.info.node.bases)


def _shares(loader: Made) -> bool:
    made = made_of(given_sampler(loader))
    return made is not None and made.path == aliases.SAMPLER
