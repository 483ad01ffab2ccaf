"""Random draws: whether every rank throws dice of its own."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge import packages, randomness
from ddpdoctor.lint.knowledge.packages import Does
from ddpdoctor.lint.knowledge.randomness import Generator, Use
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.symbols import number
from ddpdoctor.lint.values.tags import ANY_RANK, MADE_UP, Tag
from ddpdoctor.lint.values.values import Keywords, Symbol, Taint, Value, unknown

_RESTORING = randomness.last_names(Use.RESTORES, of=Generator.TORCH)
_MAKERS = frozenset(randomness.paths(Use.MAKES))
#: the global generators whose state is followed
_FOLLOWED = (Generator.PYTHON, Generator.NUMPY, Generator.TORCH)


def called(
    machine: Machine, frame: Frame, path: str, args: tuple[Value, ...], keywords: Keywords, value: Value
) -> Value:
    """The value of an external call, marked where it is a draw that differs by rank, or a generator of such."""
    row = randomness.FUNCTIONS.get(path)
    if row is None:
        if "seed" in path.rpartition(".")[2].lower():
            for generator in _FOLLOWED:
                machine.generators[generator.value] = "unknown", frame.calls[:1]
    elif row.use is Use.SEEDS:
        _seed(machine, frame, path, args, dict(keywords))
    elif row.use is Use.MAKES:
        seed = args[0] if args else next((v for k, v in keywords if k in ("seed", "x")), None)
        return (
            value.tagged(Tag.OWN_GENERATOR)
            if seed is None or seed.tags & Tag.OWN_GENERATOR or _differs(seed)
            else value
        )
    elif row.use in randomness.DRAWING:
        given = next((v for k, v in keywords if k == row.own), None)
        if given is None or (given.known and given.constant is None):
            own = _global_differs(machine, frame, row.generators[0])
        else:
            own = bool(given.tags & Tag.OWN_GENERATOR)
        return _drawn(value) if own else value
    return value


def method(receiver: Value, name: str, args: tuple[Value, ...]) -> Value | None:
    """What a generator's own method gives; None for everything else."""
    obj = receiver.object
    path = obj.path if isinstance(obj, Made) else ""
    if path == "torch.Generator" and name in ("manual_seed", "seed"):
        differs = name == "seed" or bool(args and _differs(args[0]))
        return receiver.tagged(Tag.OWN_GENERATOR) if differs else receiver.with_tags(receiver.tags & ~Tag.OWN_GENERATOR)
    if path in _MAKERS and name in randomness.DRAW_METHODS and receiver.tags & Tag.OWN_GENERATOR:
        return _drawn(unknown(path, name, receiver.atoms, taint=Taint.RANK_LOCAL))
    return None


def _drawn(value: Value) -> Value:
    atom = value.atoms[0]
    key = atom.key if isinstance(atom, Symbol) else number(("draw", value.atoms))
    return value._replace(atoms=(Symbol(key, Taint.RANK_LOCAL),), taint=Taint.RANK_LOCAL, tags=value.tags | Tag.RANDOM)


def _differs(seed: Value) -> bool:
    """The seed is a function of the rank, or made up by each process."""
    return bool(seed.tags & (ANY_RANK | MADE_UP)) or len(seed.atoms) > 1


def _seed(machine: Machine, frame: Frame, path: str, args: tuple[Value, ...], given: dict[str, Value]) -> None:
    if machine.silent:
        return
    row = randomness.FUNCTIONS[path]
    # the seed of a framework's function that is given none is the launcher's
    differs = _differs(args[0]) if args else path in randomness.SEEDERS and "seed" not in given
    differs = differs or any(_differs(v) for k, v in given.items() if k == "seed")
    differs = differs or (row.by_rank in given and given[row.by_rank].constant is True)
    for generator in row.generators:
        if generator in _FOLLOWED:
            machine.generators[generator.value] = "own" if differs else "unknown", frame.calls[:1]
        else:
            # which of torch's generators a draw is from is not followed
            machine.generators[Generator.TORCH.value] = "unknown", frame.calls[:1]


def _global_differs(machine: Machine, frame: Frame, generator: Generator) -> bool:
    """The global generator was seeded by rank, or by nobody in a program that can be seen whole."""
    state, root = machine.generators.get(generator.value, ("", frame.calls[:1]))
    if root != frame.calls[:1]:
        return False
    return state == "own" or (not state and frame.calls[:1] == ("<module>",) and not _seeded(machine))


def _seeded(machine: Machine) -> bool:
    """Some word in the files of the program seeds something, or may."""
    for module in (machine.module, *machine.reached.values()):
        if module.stars or any("seed" in word.lower() or word in _RESTORING for word in module.words):
            return True
        if packages.imported(module.imports.values(), Does.SEEDS | Does.CALLS_BY_NAME):
            return True
    return False
