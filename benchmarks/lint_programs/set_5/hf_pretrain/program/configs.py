from dataclasses import dataclass, field


@dataclass
class PretrainConfig:
    shards: str = field(metadata={"help": "glob of .npy files with uint16 token ids, one long row each"})
    block_size: int = field(default=512)
    buffer: int = field(default=1024, metadata={"help": "blocks in the shuffle buffer"})
    vocab_size: int = field(default=32000)
    hidden: int = field(default=512)
    layers: int = field(default=8)
    heads: int = field(default=8)
