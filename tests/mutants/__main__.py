"""Which small changes to the code no test notices.

    python -m tests.mutants [--sample 200|all] [--seed 1] [--only querying history/log ...] [--survivors FILE]

Each mutant is one small change in a function (`making.py`); it is killed when a test of its package fails with it
(`running.py`). All of them, some 20,000, take hours. So by default a random sample of each package is tried, the same
one for the same seed and code: the share that survives is that of a sample, and known to within a few points only.
`--sample all` tries all. A package's mutants are tried by the tests of that package only, in one process; what a test
starts as another process runs the original code. Tests whose time together passes ten seconds for one mutant are left
out for it, the slowest first, and laws are tried with 30 examples in place of a hundred or more. So "survived" says
that these tests did not notice it, not that nothing could: some can change nothing that anybody sees, such as a bound
of a cache, and nobody has taken those out of the figures.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.mutants.making import Mutant, is_another, mutants_of

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Package:
    """Files of the library, and the tests that concern them."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


_STORE_TESTS = ("histories", "damage", "proofs", "row_proofs", "hostile", "transfer", "recording", "call_heads", "door")
_HISTORY_TESTS = ("tests/core/history", *(f"tests/core/store/test_{name}.py" for name in _STORE_TESTS))
"""Those of histories, and those that read and write them through a file."""

_POLICY_TESTS = ("recording/test_policy", "recording/test_policy_enforcement", "forking/test_fork_policy")

_REPLAY_TESTS = tuple(f"tests/core/replaying/test_replay_{name}.py" for name in ("calls", "given", "laws", "time"))
"""Those in which calls of every nature are given recorded answers."""

PACKAGES = {
    "querying": Package(("querying/**/*.py",), ("tests/core/querying",)),
    "comparing": Package(("comparing/**/*.py",), ("tests/core/comparing",)),
    "replaying/matching": Package(("replaying/tape/matching*.py",), ("tests/core/replaying/test_matching.py",)),
    "forking/plan": Package(
        ("forking/plan*.py",), tuple(f"tests/core/forking/test_fork_{name}.py" for name in ("plan", "plan_ways"))
    ),
    "intercepting/policy": Package(
        ("intercepting/policy*.py", "intercepting/rules.py"),
        tuple(f"tests/core/{name}.py" for name in _POLICY_TESTS),
    ),
    "recording/calls": Package(("recording/calls/*.py",), ("tests/core/recording", *_REPLAY_TESTS)),
    "seams/http": Package(("seams/http/*.py",), ("tests/core/seams",)),
    "history": Package(("history/**/*.py",), _HISTORY_TESTS),
    "store/tables": Package(("store/tables/*.py",), _HISTORY_TESTS),
}

_OUTCOMES = ("killed", "survived", "timed out", "no test")


def package_of(name: str) -> Package:
    """A package by its name, or one module of it: `history/log`.

    Raises:
        ArgumentTypeError: there is none.
    """
    around, _, module = name.rpartition("/")
    if name in PACKAGES:
        return PACKAGES[name]
    if around in PACKAGES and any(file.stem == module for file in sources_of(PACKAGES[around])):
        return Package((f"{around}/{module}.py",), PACKAGES[around].tests)
    raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(PACKAGES)}, and no module of one of them")


def sources_of(package: Package) -> list[Path]:
    """Give the files of a package, in order."""
    folder = ROOT / "core" / "agent_tt"
    return sorted(file for pattern in package.files for file in folder.glob(pattern))


def sample_of(files: list[Path], most: int | None, seed: int) -> list[Mutant]:
    """Choose among the mutants of some files, `most` of them or all; the same ones for the same seed and code."""
    sources = {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}
    mutants = [mutant for file in files for mutant in mutants_of(file, ROOT)]
    random.Random(seed).shuffle(mutants)
    chosen: list[Mutant] = []
    for mutant in mutants:
        if most is not None and len(chosen) == most:
            break
        if is_another(mutant, sources[mutant.file]):
            chosen.append(mutant)
    return sorted(chosen, key=lambda mutant: (mutant.file, mutant.line, mutant.start))


def try_out(package: Package, mutants: list[Mutant], files: list[Path]) -> list[dict[str, Any]]:
    """Run the mutants of a package and give what came of each."""
    with tempfile.TemporaryDirectory() as folder:
        job, results, log = (Path(folder, name) for name in ("job.json", "results.jsonl", "log"))
        names = [file.relative_to(ROOT).as_posix() for file in files]
        facts = {"files": names, "tests": package.tests, "mutants": [asdict(mutant) for mutant in mutants]}
        job.write_text(json.dumps(facts | {"results": str(results)}), encoding="utf-8")
        paths = os.pathsep.join(str(ROOT / name) for name in ("core", "tui", "."))
        with log.open("wb") as output:
            command = [sys.executable, "-m", "tests.mutants.running", str(job)]
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": paths},
                stdout=output,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        rows = (
            [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()] if results.exists() else []
        )
        if len(rows) != len(mutants):
            sys.exit(f"{log.read_text(encoding='utf-8', errors='replace')}\nit ended with {done.returncode}, too early")
    return rows


def change(row: dict[str, Any]) -> str:
    """Show the change that a mutant makes as a diff of its lines."""
    mutant = Mutant(**{name: row[name] for name in Mutant.__dataclass_fields__})
    source = (ROOT / mutant.file).read_text(encoding="utf-8")
    lines = difflib.unified_diff(source.splitlines(), mutant.applied_to(source).splitlines(), lineterm="", n=0)
    changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("---", "+++")]
    return "\n".join([f"{mutant.name}  ({row['outcome']}, {row['tests']} tests)", *(f"    {line}" for line in changed)])


def _sample(text: str) -> int | None:
    return None if text == "all" else int(text)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Which small changes no test notices.")
    parser.add_argument("--sample", type=_sample, default=200, help="mutants of each package, or `all` (200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", type=lambda name: (name, package_of(name)), default=list(PACKAGES.items()))
    parser.add_argument("--survivors", type=Path, default=None, help="write what survived to this file")
    asked = parser.parse_args()
    table: list[tuple[str, Counter[str]]] = []
    shown: list[str] = []
    for name, package in asked.only:
        files = sources_of(package)
        mutants = sample_of(files, asked.sample, asked.seed)
        rows = [row for row in try_out(package, mutants, files) if row["outcome"] != "inapplicable"]
        table.append((name, Counter(row["outcome"] for row in rows)))
        shown += [change(row) for row in rows if row["outcome"] in ("survived", "no test")]
    if asked.survivors:
        asked.survivors.write_text("\n\n".join(shown) + "\n", encoding="utf-8")
    else:
        print("\n\n".join(shown) + "\n")
    how = (
        "all mutants" if asked.sample is None else f"at most {asked.sample} mutants of each package, seed {asked.seed}"
    )
    print(f"{how}; the share counts what survived and what no test reaches\n")
    print(f"{'package':20}{'mutants':>9}" + "".join(f"{outcome:>11}" for outcome in _OUTCOMES) + f"{'share':>9}")
    for name, counts in table:
        share = (counts["survived"] + counts["no test"]) / max(1, counts.total())
        figures = "".join(f"{counts[outcome]:>11}" for outcome in _OUTCOMES)
        print(f"{name:20}{counts.total():>9}{figures}{share:>8.1%}")


if __name__ == "__main__":
    main()
