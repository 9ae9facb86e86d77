"""Bundles: runs in one file that is handed on, `.att`, with all that belongs to them.

| module | has |
|---|---|
| `manifest` | what a bundle says of itself, and the names that its members may have |
| `container` | the file: writing it, and checking it before anything of it is used |
| `signing` | signatures, made and checked with Ed25519 |
| `source` | a bundle as a source of runs, and unpacking one |

A bundle comes from somebody else. Opening one checks every byte and every digest in it, writes nothing but a temporary
copy of its store, and runs nothing.
"""
