from dataclasses import asdict, dataclass, fields

import yaml


@dataclass
class TrainConfig:
    out_dir: str = "out"
    data_dir: str = "data"
    # model
    block_size: int = 1024
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    vocab_size: int = 50304
    # batches
    batch_size: int = 12
    gradient_accumulation_steps: int = 40
    # optimizer
    learning_rate: float = 6e-4
    min_lr: float = 6e-5
    warmup_iters: int = 2000
    max_iters: int = 600000
    weight_decay: float = 0.1
    grad_clip: float = 1.0
    # evaluation and logs
    eval_interval: int = 1000
    eval_iters: int = 200
    log_interval: int = 10
    seed: int = 1337

    def to_dict(self):
        return asdict(self)


def load_config(path, overrides):
    with open(path) as f:
        values = yaml.safe_load(f) or {}
    for item in overrides:
        key, _, raw = item.partition("=")
        values[key] = yaml.safe_load(raw)
    kinds = {f.name: f.type for f in fields(TrainConfig)}
    unknown = set(values) - set(kinds)
    if unknown:
        raise SystemExit(f"unknown config keys: {sorted(unknown)}")
    return TrainConfig(**{k: kinds[k](v) for k, v in values.items()})
