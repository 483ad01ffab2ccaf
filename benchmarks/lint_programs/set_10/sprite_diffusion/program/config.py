import argparse
from dataclasses import dataclass, fields


@dataclass
class TrainConfig:
    train_batch_size: int = 16
    gradient_accumulation_steps: int = 2
    num_epochs: int = 10
    learning_rate: float = 4e-4
    lr_warmup_steps: int = 50
    max_grad_norm: float = 1.0
    mixed_precision: str = "no"
    num_sprites: int = 4096
    timesteps: int = 200
    seed: int = 42
    output_dir: str = "work/sprites"


def parse_config():
    parser = argparse.ArgumentParser()
    for f in fields(TrainConfig):
        parser.add_argument("--" + f.name, type=type(f.default), default=f.default)
    return TrainConfig(**vars(parser.parse_args()))
