"""The commands of `agent-tt`, one file each.

`root` is the group, which imports a command only when it is used; `options` are those every command has; `terminal`
writes for people, `shapes` for programs; `errors` turns every failure into one line and an exit code.
"""
