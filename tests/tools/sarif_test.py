#!/usr/bin/env python3
"""SARIF documents of the gangsim command satisfy the standard's schema."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    print("skipped: runs where python3-jsonschema is installed")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "tests/tools/sarif-2.1.0.json").read_text())
GANGSIM = os.environ["GANGSIM"]


def gangsim(*arguments):
    return subprocess.run([GANGSIM, *arguments], cwd=ROOT, check=False, text=True,
                          capture_output=True)


class Sarif(unittest.TestCase):
    def read(self, result, status):
        self.assertEqual(result.returncode, status, result.stderr)
        document = json.loads(result.stdout)
        jsonschema.Draft4Validator(SCHEMA).validate(document)
        return document["runs"][0]["results"]

    def test_every_wrong_program_file_has_a_result_in_that_file(self):
        checked = 0
        for path in sorted((ROOT / "tests/programs").glob("*.toml")):
            name = str(path.relative_to(ROOT))
            result = gangsim("run", name, "--sarif", "-", "--log-ranks", "none")
            document = self.read(result, result.returncode)
            if not document:
                continue
            checked += 1
            with self.subTest(name):
                place = document[0]["locations"][0]["physicalLocation"]
                self.assertEqual(place["artifactLocation"]["uri"], name)
                lines = path.read_text().count("\n")
                self.assertTrue(1 <= place["region"]["startLine"] <= lines)
        self.assertGreater(checked, 5)

    def test_a_python_program_has_its_results_in_its_script(self):
        result = gangsim("python", "--world", "2", "--sarif", "-",
                         "tests/programs/python/missing_rank.py")
        document = self.read(result, 1)
        place = document[0]["locations"][0]["physicalLocation"]
        self.assertEqual(place["artifactLocation"]["uri"], "tests/programs/python/missing_rank.py")

    def test_a_saved_run_has_the_results_of_the_run(self):
        with tempfile.TemporaryDirectory() as folder:
            saved = f"{folder}/run.json"
            first = gangsim("run", "tests/programs/tp_dp_deadlock.toml", "--json", saved,
                            "--sarif", "-")
            again = gangsim("explain", saved, "--sarif", "-")
        self.assertEqual(self.read(first, 1), self.read(again, 0))

    def test_a_run_that_holds_has_no_results(self):
        self.assertEqual(self.read(gangsim("run", "ring", "--sarif", "-"), 0), [])

    def test_laws_that_hold_have_no_results(self):
        result = gangsim("check", "--filter", "meshes_partition.*", "--cases", "10", "--sarif", "-")
        self.assertEqual(self.read(result, 0), [])
        self.assertIn("hold", result.stderr)


if __name__ == "__main__":
    unittest.main()
