"""From evidence to what Facts holds: who waits for whom, what each rank does, where histories part, who failed.

Imports the model only: nothing here knows Facts, rules or the job's source.
"""
