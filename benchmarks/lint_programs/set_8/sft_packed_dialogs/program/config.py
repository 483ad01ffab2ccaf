from dataclasses import dataclass, fields


@dataclass
class SFTConfig:
    output_dir: str = "runs/sft"
    cache_dir: str = "cache"
    num_dialogs: int = 600
    seq_len: int = 48
    batch_size: int = 8
    grad_accum: int = 1
    epochs: int = 1
    lr: float = 3e-3
    warmup_ratio: float = 0.1
    hidden: int = 64
    seed: int = 17
    log_every: int = 5

    @classmethod
    def from_cli(cls, argv):
        cfg = cls()
        kinds = {f.name: f.type for f in fields(cls)}
        for arg in argv:
            key, _, val = arg.lstrip("-").partition("=")
            if key not in kinds:
                raise SystemExit(f"unknown option {key}")
            setattr(cfg, key, {"int": int, "float": float, "str": str}[getattr(kinds[key], "__name__", kinds[key])](val))
        return cfg
