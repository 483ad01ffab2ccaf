"""Impure but `message` and `metrics`. Tells others what `watch` has found; a failure to do so never touches the job."""
