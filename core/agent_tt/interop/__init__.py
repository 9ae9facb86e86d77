"""Runs that other systems recorded, read where they lie."""
