from .hooks import HOOKS, build_hooks
from .trainer import Trainer

__all__ = ["HOOKS", "Trainer", "build_hooks"]
