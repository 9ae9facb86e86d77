"""How long a test waits for what another process or thread does."""

from __future__ import annotations

from typing import Final

PATIENCE_SECONDS: Final = 300.0
"""The bound of every wait that only a fault would reach.

A machine may be busy with much else, and a test says nothing about its speed: what takes a second may take a minute.
"""
