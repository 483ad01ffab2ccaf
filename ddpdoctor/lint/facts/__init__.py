"""Pure. What a rule may see of one file: `module_facts.ModuleFacts`, and views of it by subject.

A concept that a rule needs stands here, so that rules need not walk syntax trees. Imports every layer but `rules`.
"""
