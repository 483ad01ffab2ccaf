"""What rules know about one file: `module_facts.ModuleFacts`, and functions over it by subject. Pure.

A concept that a rule needs is defined here, so that rules need not walk syntax trees. Imports every layer but `rules`.
"""
