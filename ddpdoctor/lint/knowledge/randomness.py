"""Functions that draw random numbers, seed a generator or make one."""

from __future__ import annotations

_RANDOM = ("random", "randint", "randrange", "uniform", "choice", "choices", "sample", "gauss", "betavariate",
           "triangular", "expovariate", "getrandbits", "normalvariate", "lognormvariate")  # fmt: skip
_NUMPY = ("rand", "randn", "randint", "random", "random_sample", "uniform", "normal", "choice", "permutation", "beta",
          "binomial", "integers", "standard_normal", "exponential", "poisson", "gamma")  # fmt: skip
_TORCH = ("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "normal",
          "multinomial", "poisson")  # fmt: skip
#: function -> the global generator that it draws from
DRAWS = {
    **{f"random.{name}": "random" for name in _RANDOM},
    **{f"numpy.random.{name}": "numpy" for name in _NUMPY},
    **{f"torch.{name}": "torch" for name in _TORCH},
}
SEEDS = {
    "random.seed": "random", "numpy.random.seed": "numpy", "torch.manual_seed": "torch",
    "torch.random.manual_seed": "torch", "torch.seed": "torch",
}  # fmt: skip
#: generators as objects: without a seed they take one from the system
MAKERS = frozenset(
    {
        "random.Random",
        "random.SystemRandom",
        "numpy.random.default_rng",
        "numpy.random.RandomState",
        "numpy.random.Generator",
    }
)
METHODS = frozenset({*_RANDOM, *_NUMPY})
#: libraries that seed on their own, or with a function of any name
SEEDING = ("lightning", "pytorch_lightning", "accelerate", "transformers", "composer", "mmengine", "ignite", "hydra")
