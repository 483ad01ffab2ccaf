from .callbacks import BestCheckpoint
from .logger import CSVLogger
from .trainer import PocketModule, PocketTrainer

__all__ = ["BestCheckpoint", "CSVLogger", "PocketModule", "PocketTrainer"]
