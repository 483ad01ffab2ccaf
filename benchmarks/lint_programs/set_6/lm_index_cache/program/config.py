import dataclasses
import os


@dataclasses.dataclass
class Config:
    corpus_dir: str = "corpus"
    scratch: str = os.environ.get("LOCAL_SCRATCH", "/tmp/lm_cache")
    block: int = 64
    dim: int = 128
    heads: int = 4
    layers: int = 2
    vocab: int = 256
    batch_size: int = 8
    steps: int = 2000
    eval_every: int = 200
    lr: float = 3e-4
    seed: int = 11
    out: str = "lm.pt"

    @classmethod
    def from_args(cls, argv):
        cfg = cls()
        for item in argv:
            key, value = item.lstrip("-").split("=", 1)
            setattr(cfg, key, type(getattr(cfg, key))(value))
        return cfg
