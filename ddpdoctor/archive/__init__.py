"""Offline evidence of a job that has ended: find the files, detect their formats, read them, assemble Evidence.

The modules that do I/O are `input_files`, `local_source`, `parallel_dumps`, `pipeline`, `resource_limits` and
`unpickle`. Readers are functions of bytes and a file name.
"""
