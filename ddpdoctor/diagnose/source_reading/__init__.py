"""Reading the job's source: what stands around a line, which ways lead through it, what its loops and handlers do.

Imports the model only, and answers nothing where a file is not known or was changed after the job started.
"""
