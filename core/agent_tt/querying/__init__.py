"""Asking a run: `find` searches its texts, `checkpoints` reads how people name a step."""
