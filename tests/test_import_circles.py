"""No module imports itself by way of others: not while it loads, not in a function, not for types."""

import grimp


def circles(package):
    """The modules of a package that a circle of imports goes through, or that lie between two circles."""
    graph = grimp.build_graph(package, cache_dir=None)
    left = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    while ends := {module for module, imported in left.items() if not imported & left.keys()}:
        left = {module: imported for module, imported in left.items() if module not in ends}
    while ends := {module for module in left if not any(module in imported for imported in left.values())}:
        left = {module: imported for module, imported in left.items() if module not in ends}
    return sorted(left)


def test_the_terminal_has_no_circles():
    assert circles("agent_tt_tui") == []


def test_the_library_has_no_circles():
    assert circles("agent_tt") == []


def test_a_circle_is_found(tmp_path, monkeypatch):
    (tmp_path / "in_circles").mkdir()
    for name, imported in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "os")):
        (tmp_path / "in_circles" / f"{name}.py").write_text(
            f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import in_circles.{imported}\n"
            if imported != "os"
            else "import os\n"
        )
    (tmp_path / "in_circles" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert circles("in_circles") == ["in_circles.a", "in_circles.b", "in_circles.c"]
