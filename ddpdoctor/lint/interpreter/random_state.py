"""Random draws: whether every rank throws dice of its own."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge.randomness import DRAWS, MAKERS, METHODS, SEEDING, SEEDS
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.symbols import number
from ddpdoctor.lint.values.tags import ANY_RANK, MADE_UP, Tag
from ddpdoctor.lint.values.values import Keywords, Symbol, Taint, Value, unknown


def called(
    machine: Machine, frame: Frame, path: str, args: tuple[Value, ...], keywords: Keywords, value: Value
) -> Value:
    """The value of an external call, marked where it is a draw that differs by rank, or a generator of such."""
    if path in SEEDS:
        _seed(machine, frame, SEEDS[path], args)
    elif path in MAKERS:
        given = args[0] if args else next((v for k, v in keywords if k in ("seed", "x")), None)
        return value.tagged(Tag.OWN_GENERATOR) if given is None or _differs(given) else value
    elif path in DRAWS:
        generator = next((v for k, v in keywords if k == "generator"), None)
        if generator is None or (generator.known and generator.constant is None):
            own = _family_differs(machine, frame, DRAWS[path])
        else:
            own = bool(generator.tags & Tag.OWN_GENERATOR)
        return _drawn(value) if own else value
    elif "seed" in path.rpartition(".")[2].lower():
        for family in ("random", "numpy", "torch"):
            machine.generators[family] = "unknown", frame.calls[:1]
    return value


def method(receiver: Value, name: str, args: tuple[Value, ...]) -> Value | None:
    """What a generator's own method gives; None for everything else."""
    obj = receiver.object
    path = obj.path if isinstance(obj, Made) else ""
    if path == "torch.Generator" and name in ("manual_seed", "seed"):
        differs = name == "seed" or bool(args and _differs(args[0]))
        return receiver.tagged(Tag.OWN_GENERATOR) if differs else receiver.with_tags(receiver.tags & ~Tag.OWN_GENERATOR)
    if path in MAKERS and name in METHODS and receiver.tags & Tag.OWN_GENERATOR:
        return _drawn(unknown(path, name, receiver.atoms, taint=Taint.RANK_LOCAL))
    return None


def _drawn(value: Value) -> Value:
    atom = value.atoms[0]
    key = atom.key if isinstance(atom, Symbol) else number(("draw", value.atoms))
    return value._replace(atoms=(Symbol(key, Taint.RANK_LOCAL),), taint=Taint.RANK_LOCAL, tags=value.tags | Tag.RANDOM)


def _differs(seed: Value) -> bool:
    """The seed is a function of the rank, or made up by each process."""
    return bool(seed.tags & (ANY_RANK | MADE_UP)) or len(seed.atoms) > 1


def _seed(machine: Machine, frame: Frame, family: str, args: tuple[Value, ...]) -> None:
    if not machine.silent:
        state = "own" if not args or _differs(args[0]) else "unknown"
        machine.generators[family] = state, frame.calls[:1]


def _family_differs(machine: Machine, frame: Frame, family: str) -> bool:
    """The global generator was seeded by rank, or by nobody in a program that can be seen whole."""
    state, root = machine.generators.get(family, ("", frame.calls[:1]))
    if root != frame.calls[:1]:
        return False
    return state == "own" or (not state and frame.calls[:1] == ("<module>",) and not _seeded(machine))


def _seeded(machine: Machine) -> bool:
    """Some word in the files of the program seeds something, or may."""
    for module in (machine.module, *machine.reached.values()):
        if module.stars or any("seed" in word.lower() or word == "set_rng_state" for word in module.words):
            return True
        if any(target.partition(".")[0] in SEEDING for target in module.imports.values()):
            return True
    return False
