"""Follows a running job (impure: page_poller, inspector, watcher) and judges its progress (pure: stall)."""
