from .engine import Engine
from .hooks import HOOKS, make_hooks
