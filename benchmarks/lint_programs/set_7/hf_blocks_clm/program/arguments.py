from dataclasses import dataclass, field
from typing import Optional


@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="gpt2")
    revision: str = field(default="main")
    gradient_checkpointing_layers: bool = field(default=False)


@dataclass
class DataArguments:
    train_glob: str = field(default="data/train-*.jsonl")
    eval_glob: str = field(default="data/eval-*.jsonl")
    text_column: str = field(default="text")
    block_size: int = field(default=1024)
    preprocessing_workers: Optional[int] = field(default=None)
