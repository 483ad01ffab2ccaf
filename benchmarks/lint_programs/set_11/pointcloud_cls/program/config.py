import argparse
import dataclasses
import socket
from dataclasses import dataclass, field


def find_free_port():
    """Several jobs share a workstation, so no fixed port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@dataclass
class Config:
    gpus: int = 2
    epochs: int = 2
    batch_size: int = 16
    points: int = 64
    lr: float = 2e-3
    seed: int = 0
    out: str = "pointnet.pt"
    master_addr: str = "127.0.0.1"
    master_port: int = field(default_factory=find_free_port)

    @classmethod
    def from_argv(cls, argv):
        defaults = cls()
        parser = argparse.ArgumentParser()
        for f in dataclasses.fields(cls):
            value = getattr(defaults, f.name)
            parser.add_argument(f"--{f.name.replace('_', '-')}", type=type(value), default=value)
        return cls(**vars(parser.parse_args(argv)))
