"""Fuzz targets are run and counted, here with stand-ins for libFuzzer's executables."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = ROOT / "tools/fuzz/run_targets.py"
sys.path.insert(0, str(RUNNER.parent))

import run_targets  # noqa: E402  pylint: disable=wrong-import-position

QUIET = r'''#!/bin/sh
echo "$@" >"$0.arguments"
echo "#2 INITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 30Mb"
echo "#9 NEW    cov: 1234 ft: 2000 corp: 3/9b exec/s: 5 rss: 31Mb"
echo "stat::number_of_executed_units: 5678901"
'''
FINDING = r'''#!/bin/sh
for argument; do
  case $argument in -artifact_prefix=*) touch "${argument#*=}crash-abc" ;; esac
done
echo "#9 NEW    cov: 7 ft: 8"
echo "==1== ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1"
echo "stat::number_of_executed_units: 12"
exit 77
'''
SLOW = r'''#!/bin/sh
case $1 in */slow-unit-*) exec sleep "$(cat "$1")" ;; esac
for argument; do
  case $argument in -artifact_prefix=*)
    echo 0 >"${argument#*=}slow-unit-once"
    echo 60 >"${argument#*=}slow-unit-always"
  esac
done
echo "stat::number_of_executed_units: 12"
'''
BROKEN = '#!/bin/sh\necho "cannot be started"\nexit 3\n'


class Fuzzing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / "tools/fuzz").mkdir(parents=True)

    def add(self, name, script):
        program = self.build / "tools/fuzz" / f"fuzz_{name}"
        program.write_text(script, encoding="utf-8")
        program.chmod(0o755)
        return program

    def run_targets(self, *targets):
        return subprocess.run([sys.executable, RUNNER, self.build, "3", *targets],
                              capture_output=True, text=True, check=False)

    def test_the_table_says_what_each_target_has_tried(self):
        self.add("objects", QUIET)
        self.add("environment", QUIET)
        result = self.run_targets()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout,
                         "target          inputs  coverage  finds\n"
                         "environment  5,678,901     1,234      0\n"
                         "objects      5,678,901     1,234      0\n")

    def test_a_target_begins_with_the_corpus_and_has_limits(self):
        program = self.add("objects", QUIET)
        self.run_targets("objects")
        arguments = pathlib.Path(f"{program}.arguments").read_text(encoding="utf-8").split()
        self.assertIn(str(ROOT / "tests/fuzz/objects"), arguments)
        self.assertIn("-max_total_time=3", arguments)
        self.assertIn("-rss_limit_mb=1024", arguments)

    def test_a_find_fails_the_run_and_is_reproduced_by_a_command(self):
        program = self.add("objects", FINDING)
        result = self.run_targets()
        self.assertEqual(result.returncode, 1)
        self.assertIn("objects      12         7      1\n", result.stdout)
        self.assertIn("objects: ==1== ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1",
                      result.stdout)
        find = self.build / "fuzz_finds/objects/crash-abc"
        self.assertIn(f"  reproduce: {program} {find}\n", result.stdout)

    def test_an_input_that_takes_long_is_a_find_if_it_does_so_again(self):
        self.add("objects", SLOW)
        with unittest.mock.patch.object(run_targets, "LONGEST_INPUT_SECONDS", 0.5):
            run = run_targets.Run(self.build, "objects", 3)
        self.assertEqual([find.name for find in run.finds], ["slow-unit-always"])
        self.assertEqual(list((self.build / "fuzz_finds/objects").iterdir()), run.finds)

    def test_a_target_that_fails_without_a_find_is_not_a_success(self):
        self.add("objects", BROKEN)
        result = self.run_targets()
        self.assertEqual(result.returncode, 1)
        self.assertIn("failed", result.stdout)
        self.assertIn("objects: cannot be started", result.stdout)

    def test_an_unknown_target_is_bad_usage(self):
        self.add("objects", QUIET)
        result = self.run_targets("subjects")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no fuzz target 'subjects'; there are: objects", result.stderr)


class Corpus(unittest.TestCase):
    def test_every_target_has_one(self):
        targets = {source.stem for source in (ROOT / "tools/fuzz").glob("*.cc")}
        seeds = {folder.name for folder in (ROOT / "tests/fuzz").iterdir() if folder.is_dir()}
        self.assertEqual(seeds - targets, set())
        for target in targets - {"program_file"}:
            self.assertTrue(any((ROOT / "tests/fuzz" / target).iterdir()), target)


if __name__ == "__main__":
    unittest.main()
