import argparse
import dataclasses


@dataclasses.dataclass
class RLOOConfig:
    model: str = "Qwen/Qwen2.5-0.5B-Instruct"
    problems: str = "data/problems.jsonl"
    out: str = "runs/rloo"
    prompts_per_rank: int = 8
    k: int = 8
    max_new_tokens: int = 256
    temperature: float = 1.0
    lr: float = 1e-6
    updates: int = 500
    show_every: int = 10
    seed: int = 1

    @classmethod
    def from_cli(cls):
        p = argparse.ArgumentParser()
        for f in dataclasses.fields(cls):
            p.add_argument("--" + f.name.replace("_", "-"), type=f.type, default=f.default)
        return cls(**vars(p.parse_args()))
