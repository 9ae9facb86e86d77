"""The pure half of a state's history: operations, digests, and the finding of what changed. No file is touched here."""
