"""Following a running job (impure: signals, looking, watcher) and judging its progress (pure: stall)."""
