"""Asking a run.

`find` searches its texts, `checkpoints` reads how people name a step, `predicates` what they ask of a state.
"""
