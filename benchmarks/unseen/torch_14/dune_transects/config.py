"""Settings of the dune model."""
import argparse
import dataclasses


@dataclasses.dataclass
class Config:
    # data
    parts: int = 4
    window: int = 24
    ahead: int = 4
    samples: int = 640
    # model
    width: int = 32
    # training
    epochs: int = 5
    batch: int = 16
    lr: float = 2e-3
    seed: int = 77

    @classmethod
    def from_arguments(cls):
        parser = argparse.ArgumentParser(description="Heights of dunes along a transect.")
        for field in dataclasses.fields(cls):
            parser.add_argument("--" + field.name, type=field.type, default=field.default)
        config = cls(**vars(parser.parse_args()))
        config.check()
        return config

    def check(self):
        if self.window < 2 or self.ahead < 1:
            raise SystemExit("a window needs two heights, and something to predict")
        if self.samples % self.batch:
            raise SystemExit("samples must be a multiple of the batch")
        if self.parts < 1:
            raise SystemExit("there is no survey without parts")
        if self.epochs < 1:
            raise SystemExit("nothing to train")

    def describe(self):
        return ", ".join(f"{name} {value}" for name, value in dataclasses.asdict(self).items())
