"""The files of tools/ci do what they say: their scripts run here as their engines run them."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

try:
    import yaml
except ImportError:
    print("skipped: runs where python3-yaml is installed")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
CI = ROOT / "tools/ci"
GANGSIM = pathlib.Path(os.environ["GANGSIM"]).resolve()
SHARDS = 8
HOLDS = ("ring", 0)
FAILS = ("first_come", 1)


class Engine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "shards").mkdir()

    def shell(self, script, shell="bash", **environment):
        """Runs a script as an engine does: it stops at the first error."""
        return subprocess.run(
            [shell, "-e", "-c", script], cwd=self.folder, check=False, text=True,
            capture_output=True,
            env={"PATH": f"{GANGSIM.parent}:/usr/bin:/bin", "HOME": str(self.folder),
                 **environment})

    def expect_ok(self, result):
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def expect_verdict(self, result, status):
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertIn(f"Merged {SHARDS} shards of explore", result.stdout)

    def merge(self):
        return self.shell("gangsim merge shards/")

    def coverage(self):
        """What the shards have covered, by their own account."""
        files = sorted((self.folder / "shards").glob("*.json"))
        return sum(json.loads(file.read_text())["coverage"]["runs"] for file in files)


class Slurm(Engine):
    def test_every_task_of_the_array_writes_its_shard(self):
        for program, status in (HOLDS, FAILS):
            for task in range(SHARDS):
                self.expect_ok(self.shell(
                    f"bash {CI}/slurm.sh explore {program} --schedules 40",
                    SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_TASK_MIN="0",
                    SLURM_ARRAY_TASK_MAX=str(SHARDS - 1), SLURM_ARRAY_TASK_COUNT=str(SHARDS),
                    SLURM_ARRAY_TASK_STEP="1"))
            self.expect_verdict(self.merge(), status)

    def test_a_task_that_cannot_run_fails(self):
        result = self.shell(f"bash {CI}/slurm.sh explore no_such_program --shard 0/1",
                            SLURM_ARRAY_TASK_ID="0")
        self.assertEqual(result.returncode, 2)

    def test_it_asks_for_as_many_tasks_as_it_says(self):
        self.assertIn(f"\n#SBATCH --array=0-{SHARDS - 1}\n", (CI / "slurm.sh").read_text())


class GitLab(Engine):
    def setUp(self):
        super().setUp()
        self.file = yaml.safe_load((CI / "gitlab-ci.yml").read_text())

    def run_job(self, name, program, **environment):
        variables = {**self.file["variables"], "PROGRAM": program, "SCHEDULES": "40"}
        return self.shell("\n".join(self.file[name]["script"]), **variables, **environment)

    def test_its_jobs_divide_the_run_and_say_one_verdict(self):
        self.assertEqual(self.file["gangsim-shards"]["parallel"], SHARDS)
        self.assertEqual(self.file["gangsim-verdict"]["needs"], ["gangsim-shards"])
        for program, status in (HOLDS, FAILS):
            for node in range(1, SHARDS + 1):
                result = self.run_job("gangsim-shards", program, CI_NODE_INDEX=str(node),
                                      CI_NODE_TOTAL=str(SHARDS))
                self.expect_ok(result)
                self.assertTrue(result.stdout.startswith(
                    f"Shard {node - 1}/{SHARDS}, as CI_NODE_INDEX says\n"), result.stdout)
            self.expect_verdict(self.run_job("gangsim-verdict", program), status)
            junit = self.file["gangsim-verdict"]["artifacts"]["reports"]["junit"]
            suites = xml.etree.ElementTree.parse(self.folder / junit).getroot()
            self.assertEqual(suites.find("testsuite").get("failures"), str(status))

    def test_each_job_has_what_gitlab_asks_for(self):
        for name in ("gangsim-shards", "gangsim-verdict"):
            self.assertEqual(self.file[name]["extends"], ".gangsim")
            self.assertTrue(all(isinstance(line, str) for line in self.file[name]["script"]))


class GitHub(Engine):
    def setUp(self):
        super().setUp()
        self.file = yaml.safe_load((CI / "github-actions.yml").read_text())

    def run_step(self, job, step, program, **values):
        steps = {one.get("name"): one for one in self.file["jobs"][job]["steps"]}
        script = steps[step]["run"]
        for name, value in values.items():
            script = script.replace("${{ matrix.%s }}" % name, str(value))
        self.assertNotIn("${{", script)
        return self.shell(script, **{**self.file["env"], "PROGRAM": program, "SCHEDULES": "40"})

    def test_its_matrix_divides_the_run_and_says_one_verdict(self):
        shards = self.file["jobs"]["shards"]["strategy"]["matrix"]["shard"]
        self.assertEqual(shards, list(range(SHARDS)))
        self.assertEqual(self.file["jobs"]["verdict"]["needs"], "shards")
        for program, status in (HOLDS, FAILS):
            for shard in shards:
                self.expect_ok(self.run_step("shards", "Explore", program, shard=shard))
            self.expect_verdict(self.run_step("verdict", "Merge", program), status)
            sarif = json.loads((self.folder / "gangsim.sarif").read_text())
            self.assertEqual(bool(sarif["runs"][0]["results"]), status == 1)

    def test_each_step_uses_or_runs_something(self):
        self.assertEqual(self.file[True], ["push", "pull_request"])  # YAML 1.1 reads "on" so
        for job in self.file["jobs"].values():
            self.assertEqual(job["runs-on"], "ubuntu-latest")
            for step in job["steps"]:
                self.assertEqual(("uses" in step) + ("run" in step), 1, step)


class Kubernetes(Engine):
    def setUp(self):
        super().setUp()
        self.job = yaml.safe_load((CI / "kubernetes.yaml").read_text())
        self.container = self.job["spec"]["template"]["spec"]["containers"][0]

    def test_its_pods_divide_the_run(self):
        environment = {one["name"]: one["value"] for one in self.container["env"]}
        environment.update(PROGRAM="ring", SCHEDULES="40", SHARDS=str(self.folder / "shards"))
        shell, flag, script = self.container["command"]
        self.assertEqual((shell, flag), ("sh", "-c"))
        for index in range(self.job["spec"]["completions"]):
            result = self.shell(script, shell=shell, JOB_COMPLETION_INDEX=str(index),
                                **environment)
            self.expect_ok(result)
            self.assertIn(f"Shard {index}/{SHARDS}, as JOB_COMPLETION_INDEX says", result.stdout)
        self.assertEqual(self.coverage(), 40)
        self.expect_verdict(self.merge(), 0)

    def test_it_is_an_indexed_job_that_says_its_size_twice(self):
        self.assertEqual((self.job["apiVersion"], self.job["kind"]), ("batch/v1", "Job"))
        self.assertEqual(self.job["spec"]["completionMode"], "Indexed")
        self.assertEqual(self.job["spec"]["completions"], SHARDS)
        self.assertIn({"name": "JOB_COMPLETIONS", "value": str(SHARDS)}, self.container["env"])
        mounted = {mount["name"] for mount in self.container["volumeMounts"]}
        volumes = self.job["spec"]["template"]["spec"]["volumes"]
        self.assertEqual(mounted, {volume["name"] for volume in volumes})


if __name__ == "__main__":
    unittest.main()
