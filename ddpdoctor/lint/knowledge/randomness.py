"""Functions that draw random numbers, or seed, create, save or restore a generator: one row each.

Read from torch 2.13, numpy 2.3, Python 3.13, scikit-learn 1.7, accelerate 1.15, lightning 2.6, transformers 5.23,
pytorch-ignite 0.5.5, mmengine 0.10.7, monai 1.5 and timm 1.0. knowledge/packages.py lists packages that seed without
being asked.
"""

from __future__ import annotations

from enum import Enum

from ddpdoctor.model.named_tuple import NamedTuple


class Generator(Enum):
    """The global generators of a process."""

    PYTHON = "random"
    NUMPY = "numpy"
    #: the CPU's generator; `torch.manual_seed` seeds those of the GPUs as well
    TORCH = "torch"
    CUDA = "cuda"


class Use(Enum):
    """What a function does with a generator."""

    DRAWS = "draws"
    #: draws numbers that distort data or mask parts of a network, without choosing samples
    DRAWS_NOISE = "draws noise"
    #: returns a random order
    ORDERS = "orders"
    #: shuffles its argument
    SHUFFLES = "shuffles"
    #: splits samples into parts at random
    SPLITS = "splits"
    SEEDS = "seeds"
    #: creates a generator that, without a seed argument, is seeded by the system
    MAKES = "makes"
    #: creates a generator that, without a seed argument, has the same seed in every process
    MAKES_ALIKE = "makes alike"
    SAVES = "saves"
    RESTORES = "restores"


class RandomFunction(NamedTuple):
    """A row of the table."""

    use: Use
    #: the global generators that it draws from or seeds; for `MAKES`, the library whose generator it returns
    generators: tuple[Generator, ...]
    #: the parameter for the caller's generator, or for a seed of its own generator
    own: str = ""
    #: its position, -1 if it has none
    own_at: int = -1
    #: the parameter that makes a seeding function add the rank to the seed, or that is what it adds
    by_rank: str = ""


_PYTHON, _NUMPY, _TORCH, _CUDA = Generator.PYTHON, Generator.NUMPY, Generator.TORCH, Generator.CUDA
_ALL = (_PYTHON, _NUMPY, _TORCH)


def _rows(use: Use, generator: Generator, prefix: str, names: str, own: str = "") -> dict[str, RandomFunction]:
    return {f"{prefix}.{name}": RandomFunction(use, (generator,), own) for name in names.split()}


_PYTHON_DRAWS = (
    "random randint randrange uniform choice choices sample gauss betavariate triangular expovariate getrandbits "
    "normalvariate lognormvariate"
)
_NUMPY_DRAWS = (
    "rand randn randint random random_sample uniform normal choice beta binomial integers standard_normal exponential "
    "poisson gamma"
)
#: function -> its use of which generator
FUNCTIONS: dict[str, RandomFunction] = {
    **_rows(Use.DRAWS, _PYTHON, "random", _PYTHON_DRAWS),
    **_rows(Use.SHUFFLES, _PYTHON, "random", "shuffle"),
    **_rows(Use.SEEDS, _PYTHON, "random", "seed"),
    **_rows(Use.MAKES, _PYTHON, "random", "Random SystemRandom"),
    **_rows(Use.SAVES, _PYTHON, "random", "getstate"),
    **_rows(Use.RESTORES, _PYTHON, "random", "setstate"),

    **_rows(Use.DRAWS, _NUMPY, "numpy.random", _NUMPY_DRAWS),
    **_rows(Use.ORDERS, _NUMPY, "numpy.random", "permutation"),
    **_rows(Use.SHUFFLES, _NUMPY, "numpy.random", "shuffle"),
    **_rows(Use.SPLITS, _NUMPY, "sklearn.model_selection", "train_test_split", own="random_state"),
    **_rows(Use.SEEDS, _NUMPY, "numpy.random", "seed"),
    **_rows(Use.MAKES, _NUMPY, "numpy.random", "default_rng RandomState Generator SeedSequence"),
    **_rows(Use.SAVES, _NUMPY, "numpy.random", "get_state"),
    **_rows(Use.RESTORES, _NUMPY, "numpy.random", "set_state"),

    **_rows(Use.DRAWS_NOISE, _TORCH, "torch", "rand randn normal bernoulli rand_like randn_like", own="generator"),
    **_rows(Use.DRAWS, _TORCH, "torch", "randint randint_like multinomial poisson", own="generator"),
    **_rows(Use.ORDERS, _TORCH, "torch", "randperm", own="generator"),
    "torch.utils.data.random_split": RandomFunction(Use.SPLITS, (_TORCH,), own="generator", own_at=2),
    **_rows(Use.SEEDS, _TORCH, "torch", "manual_seed seed"),
    **_rows(Use.SEEDS, _TORCH, "torch.random", "manual_seed seed"),
    **_rows(Use.SEEDS, _CUDA, "torch.cuda", "manual_seed manual_seed_all seed seed_all"),
    **_rows(Use.MAKES_ALIKE, _TORCH, "torch", "Generator"),
    **_rows(Use.SAVES, _TORCH, "torch", "get_rng_state"),
    **_rows(Use.RESTORES, _TORCH, "torch", "set_rng_state"),
    **_rows(Use.SAVES, _TORCH, "torch.random", "get_rng_state"),
    **_rows(Use.RESTORES, _TORCH, "torch.random", "set_rng_state fork_rng"),
    **_rows(Use.SAVES, _CUDA, "torch.cuda", "get_rng_state get_rng_state_all"),
    **_rows(Use.RESTORES, _CUDA, "torch.cuda", "set_rng_state set_rng_state_all"),

    "accelerate.utils.set_seed": RandomFunction(Use.SEEDS, _ALL, by_rank="device_specific"),
    "mmengine.runner.set_random_seed": RandomFunction(Use.SEEDS, _ALL, by_rank="diff_rank_seed"),
    "transformers.set_seed": RandomFunction(Use.SEEDS, _ALL),
    "transformers.enable_full_determinism": RandomFunction(Use.SEEDS, _ALL),
    "lightning.seed_everything": RandomFunction(Use.SEEDS, _ALL),
    "lightning.pytorch.seed_everything": RandomFunction(Use.SEEDS, _ALL),
    "lightning.pytorch.utilities.seed.seed_everything": RandomFunction(Use.SEEDS, _ALL),
    "lightning.fabric.seed_everything": RandomFunction(Use.SEEDS, _ALL),
    "ignite.utils.manual_seed": RandomFunction(Use.SEEDS, _ALL),
    "monai.utils.set_determinism": RandomFunction(Use.SEEDS, _ALL),
    "timm.utils.random_seed": RandomFunction(Use.SEEDS, _ALL, by_rank="rank"),
    "timm.utils.random.random_seed": RandomFunction(Use.SEEDS, _ALL, by_rank="rank"),
}  # fmt: skip
#: classes whose instances draw on every call, by the beginning of their names
TRANSFORMS = tuple(
    f"torchvision.transforms{module}.{name}"
    for module in ("", ".v2")
    for name in ("Random", "AutoAugment", "RandAugment", "TrivialAugment", "ColorJitter")
)
#: those of transformers that mask words of each batch, unless they are told not to: `mlm=False`
MASKING = ("transformers.DataCollatorForLanguageModeling", "transformers.DataCollatorForWholeWordMask")
#: the same with generators of their own, which these loaders seed from torch's, in each worker
SEEDED_TRANSFORMS = ("monai.transforms.Rand",)
SEEDING_LOADERS = ("monai.data.DataLoader", "monai.data.ThreadDataLoader")
#: those that draw again until what they drew fits the picture: how much they draw depends on the picture's size
DRAWN_UNTIL_FITTING = ("torchvision.transforms.RandomResizedCrop", "torchvision.transforms.v2.RandomResizedCrop")
#: those that draw again what is beyond the range that they are given (CPython's `Random._randbelow`, numpy's masked
#: rejection of its legacy generator)
DRAWN_UNTIL_IN_RANGE = frozenset({
    *(f"random.{name}" for name in ("randint", "randrange", "choice", "sample", "shuffle")),
    *(f"numpy.random.{name}" for name in ("randint", "choice", "permutation", "shuffle")),
})  # fmt: skip
#: methods by which a generator object of numpy or Python draws
DRAW_METHODS = frozenset({*_PYTHON_DRAWS.split(), *_NUMPY_DRAWS.split(), "permutation"})
#: how the classes begin whose samples are drawn from torch's global generator, and the methods that draw them
DISTRIBUTIONS = "torch.distributions."
SAMPLING = frozenset({"sample", "rsample"})
#: those through which gradients flow
DIFFERENTIABLE = frozenset({"rsample"})


def paths(*uses: Use, of: Generator | None = None) -> tuple[str, ...]:
    """Functions by their use, in the order of the table; `of`: only those of this generator."""
    return tuple(path for path, row in FUNCTIONS.items() if row.use in uses and (of is None or of in row.generators))


def last_names(*uses: Use, of: Generator | None = None) -> frozenset[str]:
    """The same without their modules, for calls whose import cannot be followed."""
    return frozenset(path.rpartition(".")[2] for path in paths(*uses, of=of))


#: uses whose result is random
DRAWING = (Use.DRAWS, Use.DRAWS_NOISE, Use.ORDERS)
DRAWS = paths(*DRAWING)
NOISE = paths(Use.DRAWS_NOISE)
#: the functions of Python, numpy and torch that seed a global generator
SEEDERS = tuple(path for path in paths(Use.SEEDS) if path.startswith(("random.", "numpy.", "torch.")))
