"""Random number generators: who seeds them, with what, and who draws from them."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts import spellings
from ddpdoctor.lint.facts.events import Call
from ddpdoctor.lint.facts.facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.facts.things import Site

SEEDERS = (
    "torch.manual_seed",
    "torch.random.manual_seed",
    "torch.cuda.manual_seed",
    "torch.cuda.manual_seed_all",
    "numpy.random.seed",
    "random.seed",
)
#: words that seed something, also in frameworks and in files that cannot be read
_WORDS = (
    "manual_seed", "manual_seed_all", "seed_everything", "set_seed", "fix_seed", "init_random_seed", "set_random_seed",
    "seed_all", "seed", "setup_seed", "enable_determinism", "same_seeds", "set_rng_state", "default_rng", "PRNGKey",
    "set_determinism",
)  # fmt: skip
_FRAMEWORKS = ("accelerate", "lightning", "pytorch_lightning", "mmengine", "ignite", "transformers", "composer")
_DRAWS = (
    "torch.rand", "torch.randn", "torch.randint", "torch.rand_like", "torch.randn_like", "torch.bernoulli",
    "torch.normal", "numpy.random.rand", "numpy.random.randn", "numpy.random.randint", "numpy.random.uniform",
    "numpy.random.normal", "numpy.random.random", "random.random", "random.uniform", "random.randint",
    "random.choice", "random.gauss", "torch.randperm", "numpy.random.choice",
)  # fmt: skip


def seedings(facts: ModuleFacts) -> list[Call]:
    """Calls that seed a global generator."""
    return facts.named(*SEEDERS)


def differs_by_rank(call: Call) -> bool:
    """The seed is a function of the rank."""
    value = call.args[0] if call.args else None
    if value is None:
        return True
    return bool(value.tags & {"rank", "local_rank"}) or len(value.atoms) > 1 or value.taint is value.taint.RANK


def constant(call: Call) -> bool:
    """The seed is a known number, the same on all ranks."""
    return bool(call.args) and isinstance(call.args[0].constant, int)


def mentioned(facts: ModuleFacts) -> bool:
    """Any word that seeds something, in this file or one that it uses."""
    return facts.mentions(*_WORDS) or any(_star(n) for n in facts.module.nodes)


def _star(node: ast.AST) -> bool:
    """A star import may bring the seed."""
    return isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names)


def by_framework(facts: ModuleFacts) -> bool:
    """A framework that seeds, or that splits generators by rank itself."""
    return any(t.partition(".")[0] in _FRAMEWORKS for t in facts.module.imports.values())


def seeds_elsewhere(facts: ModuleFacts) -> bool:
    """Workers or samplers are seeded by hand: `worker_init_fn` may well add the rank."""
    return facts.mentions("worker_init_fn", "fork_rng", "get_rng_state", "set_rng_state")


def data_parallel(facts: ModuleFacts) -> bool:
    """A model is wrapped for data-parallel training."""
    return bool(facts.named(*DDP_PATHS)) or bool(facts.named(spellings.FSDP))


def trains(facts: ModuleFacts) -> bool:
    """Gradients are computed."""
    return bool(facts.methods("backward"))


def first_draw(facts: ModuleFacts) -> Site | None:
    """Where random augmentation or noise is drawn: in a dataset's `__getitem__`, or in a training loop."""
    for call in facts.named(*_DRAWS):
        if call.keyword("generator") is not None:
            continue
        function = call.context.function
        in_dataset = function is not None and function.name in ("__getitem__", "__iter__", "collate_fn")
        in_loop = bool(call.context.loops) and not call.context.no_grad and trains(facts)
        made_up = function is None or function.name in ("__init__", "__len__")
        if (in_dataset or (in_loop and not made_up)) and call.context.module is facts.module:
            return call.site
    return _transform(facts)


def _transform(facts: ModuleFacts) -> Site | None:
    for call in facts.calls:
        last = call.path.rpartition(".")[2]
        if call.path.startswith("torchvision.transforms.") and (
            last.startswith(("Random", "AutoAugment", "RandAugment", "TrivialAugment")) or last == "ColorJitter"
        ):
            return call.site
    return None
