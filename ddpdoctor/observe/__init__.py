"""Following a running job (impure: page_poller, inspector, watcher) and judging its progress (pure: stall)."""
