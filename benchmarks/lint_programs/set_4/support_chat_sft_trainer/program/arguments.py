from dataclasses import dataclass, field


@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="Qwen/Qwen2.5-0.5B")
    attn_implementation: str = field(default="sdpa")


@dataclass
class DataArguments:
    train_file: str = field(metadata={"help": "JSON lines with 'question' and 'answer'"})
    max_length: int = field(default=1024)
