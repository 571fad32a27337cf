#!/usr/bin/env python3
"""usage: tools/test --fuzz SECONDS [TARGET...]

Runs every fuzz target, or those given, for so many seconds each, and prints a table. Begins with
the inputs in tests/fuzz/TARGET and those that earlier runs have kept in the build tree. Exit status
1 if a target has found something; then the command that reproduces it follows.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = "fuzz_"
# What other tests read is seeds, too.
SEEDS = {
    "program_file": ["tests/programs", "tests/scenarios"],
    "run_file": ["tests/harness/run/version_1"],
}
MOST_MEMORY_MB = 1024
LONGEST_INPUT_SECONDS = 10


def targets_in(build):
    """The names of the targets that this build tree has."""
    files = (build / "tools/fuzz").glob(PREFIX + "*")
    return sorted(file.name[len(PREFIX):] for file in files
                  if file.is_file() and os.access(file, os.X_OK))


def last_number(pattern, text):
    """The number in the last match of `pattern`; 0 if there is none."""
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


class Run:
    """One target, run for some time."""

    def __init__(self, build, target, seconds):
        self.target = target
        finds = build / "fuzz_finds" / target
        kept = build / "fuzz_inputs" / target
        finds.mkdir(parents=True, exist_ok=True)
        kept.mkdir(parents=True, exist_ok=True)
        before = set(finds.iterdir())
        folders = ["tests/fuzz/" + target, *SEEDS.get(target, [])]
        seeds = [folder for folder in (ROOT / name for name in folders) if folder.is_dir()]
        self.program = build / "tools/fuzz" / (PREFIX + target)
        command = [self.program, f"-max_total_time={seconds}", f"-rss_limit_mb={MOST_MEMORY_MB}",
                   f"-timeout={LONGEST_INPUT_SECONDS}", "-print_final_stats=1",
                   f"-artifact_prefix={finds}/", kept, *seeds]
        process = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, check=False)
        self.log = process.stdout.decode("utf-8", "replace")
        (build / "fuzz_finds" / f"{target}.log").write_text(self.log, encoding="utf-8")
        self.inputs = last_number(r"stat::number_of_executed_units: (\d+)", self.log)
        self.coverage = last_number(r" cov: (\d+)", self.log)
        self.finds = sorted(find for find in set(finds.iterdir()) - before
                            if not find.name.startswith("slow-unit-") or self.is_slow(find))
        self.failed = process.returncode != 0

    def is_slow(self, find):
        """Whether an input that took long does so again: the machine may have stood still."""
        try:
            subprocess.run([self.program, find], stdin=subprocess.DEVNULL, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           timeout=LONGEST_INPUT_SECONDS)
        except subprocess.TimeoutExpired:
            return True
        find.unlink()
        return False

    def row(self):
        """What the table says."""
        finds = len(self.finds) if self.finds or not self.failed else "failed"
        return (self.target, f"{self.inputs:,}", f"{self.coverage:,}", str(finds))

    def describe(self):
        """The first error of the log, and how to see it again."""
        lines = [line for line in self.log.splitlines()
                 if re.search(r"ERROR: |runtime error: |terminate called|does not hold", line)]
        yield f"{self.target}: {(lines or self.log.splitlines()[-1:] or ['no output'])[0].strip()}"
        for find in self.finds:
            yield f"  reproduce: {self.program} {find}"


def table(rows):
    """Columns, the numbers flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        numbers = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))
        yield "  ".join([row[0].ljust(widths[0]), *numbers])


def main():
    build = pathlib.Path(sys.argv[1])
    seconds = int(sys.argv[2])
    known = targets_in(build)
    chosen = sys.argv[3:] or known
    for target in chosen:
        if target not in known:
            print(f"gangsim: there is no fuzz target '{target}'; there are: {', '.join(known)}",
                  file=sys.stderr)
            return 2
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as executor:
        runs = list(executor.map(lambda target: Run(build, target, seconds), chosen))
    print(*table([("target", "inputs", "coverage", "finds"), *(run.row() for run in runs)]),
          sep="\n")
    failures = [run for run in runs if run.failed or run.finds]
    for run in failures:
        print(*run.describe(), sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
