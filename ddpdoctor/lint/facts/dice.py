"""Random draws: whether every rank throws dice of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddpdoctor.lint.facts.frame import Frame
from ddpdoctor.lint.facts.things import Made
from ddpdoctor.lint.facts.values import Symbol, Taint, Value

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis

Keywords = tuple[tuple[str, Value], ...]

#: a generator whose numbers are another rank's only by chance
OWN = "dice"
_RANDOM = ("random", "randint", "randrange", "uniform", "choice", "choices", "sample", "gauss", "betavariate",
           "triangular", "expovariate", "getrandbits", "normalvariate", "lognormvariate")  # fmt: skip
_NUMPY = ("rand", "randn", "randint", "random", "random_sample", "uniform", "normal", "choice", "permutation", "beta",
          "binomial", "integers", "standard_normal", "exponential", "poisson", "gamma")  # fmt: skip
_TORCH = ("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "normal",
          "multinomial", "poisson")  # fmt: skip
#: function -> the global generator that it draws from
_DRAWS = {
    **{f"random.{name}": "random" for name in _RANDOM},
    **{f"numpy.random.{name}": "numpy" for name in _NUMPY},
    **{f"torch.{name}": "torch" for name in _TORCH},
}
_SEEDS = {
    "random.seed": "random", "numpy.random.seed": "numpy", "torch.manual_seed": "torch",
    "torch.random.manual_seed": "torch", "torch.seed": "torch",
}  # fmt: skip
#: generators as objects: without a seed they take one from the system
_MAKERS = frozenset(
    {
        "random.Random",
        "random.SystemRandom",
        "numpy.random.default_rng",
        "numpy.random.RandomState",
        "numpy.random.Generator",
    }
)
_METHODS = frozenset({*_RANDOM, *_NUMPY})
#: libraries that seed on their own, or with a function of any name
_SEEDING = ("lightning", "pytorch_lightning", "accelerate", "transformers", "composer", "mmengine", "ignite", "hydra")


def called(
    analysis: Analysis, frame: Frame, path: str, args: tuple[Value, ...], keywords: Keywords, value: Value
) -> Value:
    """The value of an external call, marked where it is a draw that differs by rank, or a generator of such."""
    if path in _SEEDS:
        _seed(analysis, frame, _SEEDS[path], args)
    elif path in _MAKERS:
        given = args[0] if args else next((v for k, v in keywords if k in ("seed", "x")), None)
        return value.tagged(OWN) if given is None or _differs(given) else value
    elif path in _DRAWS:
        generator = next((v for k, v in keywords if k == "generator"), None)
        if generator is None or (generator.known and generator.constant is None):
            own = _family_differs(analysis, frame, _DRAWS[path])
        else:
            own = OWN in generator.tags
        return _drawn(value) if own else value
    elif "seed" in path.rpartition(".")[2].lower():
        for family in ("random", "numpy", "torch"):
            analysis.dice[family] = "unknown", frame.calls[:1]
    return value


def method(receiver: Value, name: str, args: tuple[Value, ...]) -> Value | None:
    """What a generator's own method gives; None for everything else."""
    thing = receiver.thing
    path = thing.path if isinstance(thing, Made) else ""
    if path == "torch.Generator" and name in ("manual_seed", "seed"):
        differs = name == "seed" or bool(args and _differs(args[0]))
        return receiver.tagged(OWN) if differs else receiver.with_tags(receiver.tags - {OWN})
    if path in _MAKERS and name in _METHODS and OWN in receiver.tags:
        return _drawn(Value((Symbol(hash((path, name, receiver.atoms)), Taint.RANK_LOCAL),), Taint.RANK_LOCAL))
    return None


def _drawn(value: Value) -> Value:
    atom = value.atoms[0]
    key = atom.key if isinstance(atom, Symbol) else hash(("draw", value.atoms))
    return value._replace(atoms=(Symbol(key, Taint.RANK_LOCAL),), taint=Taint.RANK_LOCAL, tags=value.tags | {"random"})


def _differs(seed: Value) -> bool:
    """The seed is a function of the rank, or made up by each process."""
    return bool(seed.tags & {"rank", "local_rank", "time", "unique"}) or len(seed.atoms) > 1


def _seed(analysis: Analysis, frame: Frame, family: str, args: tuple[Value, ...]) -> None:
    if not analysis.silent:
        state = "own" if not args or _differs(args[0]) else "unknown"
        analysis.dice[family] = state, frame.calls[:1]


def _family_differs(analysis: Analysis, frame: Frame, family: str) -> bool:
    """The global generator was seeded by rank, or by nobody in a program that can be seen whole."""
    state, root = analysis.dice.get(family, ("", frame.calls[:1]))
    if root != frame.calls[:1]:
        return False
    return state == "own" or (not state and frame.calls[:1] == ("<module>",) and not _seeded(analysis))


def _seeded(analysis: Analysis) -> bool:
    """Some word in the files of the program seeds something, or may."""
    for module in (analysis.module, *analysis.reached.values()):
        if module.stars or any("seed" in word.lower() or word == "set_rng_state" for word in module.words):
            return True
        if any(target.partition(".")[0] in _SEEDING for target in module.imports.values()):
            return True
    return False
