"""Deferred findings: those that depend on other files of the project, decided by reading them.

A factory creates a sampler and returns it; whether its epoch is set is decided in the files that use the factory. Some
of these cannot be followed: a registry, a name from a configuration, a script that is not linted. If no file of the
project even mentions what would make the code right, the finding is reported. In the same way a hint becomes a warning:
of what "all callers" may do, if the callers are in the project and do not do it.

Linting a file asks `open_findings` which of its own are; when all files of a run are done, `deferral.confirmed`
asks `confirmations`, by code, what the rest of the `repository` shows of each: its files, their `callers`, and the
`launches` of its programs by scripts and texts.
"""
