"""An array of shards on a real Slurm: one node, started here, on the loopback interface.

Needs Debian's slurm-wlm (munge, slurmctld, slurmd, sbatch); without them, or without
control groups, it is skipped.
"""

import getpass
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GANGSIM = pathlib.Path(os.environ["GANGSIM"]).resolve()
SEARCHED = "/usr/sbin:/usr/bin:/sbin:/bin"
COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo", "scancel")
SHARDS = 8
PATIENCE = 60  # seconds

missing = [name for name in COMMANDS if shutil.which(name, path=SEARCHED) is None]
if missing:
    print(f"skipped: runs where slurm-wlm is installed; not found: {', '.join(missing)}")
    sys.exit(77)
if not os.path.ismount("/sys/fs/cgroup"):
    print("skipped: slurmd needs /sys/fs/cgroup, which is not mounted here")
    sys.exit(77)

CONFIGURATION = """
ClusterName=gangsim
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MaxArraySize=100
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=10 State=UP
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """munged, slurmctld and slurmd, with all that they write in one folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.daemons = []
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.configuration = self.folder / "slurm.conf"
        self.configuration.write_text(CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], user=getpass.getuser(), folder=folder,
            controller_port=free_port(), node_port=free_port()))
        self.environment = {"PATH": SEARCHED, "HOME": folder,
                            "SLURM_CONF": str(self.configuration)}

    def start(self):
        self.daemon("munged", "--foreground", "--force", f"--key-file={self.folder}/munge.key",
                    f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munge.pid",
                    f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed")
        self.wait_for((self.folder / "munge.socket").exists, "munged")
        self.daemon("slurmctld", "-D", "-i")
        self.daemon("slurmd", "-D", "-N", socket.gethostname().split(".")[0])
        self.wait_for(lambda: self.command("sinfo", "-h", "-o", "%T").stdout.strip() == "idle",
                      "the node")

    def daemon(self, name, *arguments):
        output = (self.folder / f"{name}.output").open("w")
        self.daemons.append(subprocess.Popen(
            [shutil.which(name, path=SEARCHED), *arguments], env=self.environment,
            stdin=subprocess.DEVNULL, stdout=output, stderr=output))
        output.close()

    def wait_for(self, is_there, what):
        deadline = time.monotonic() + PATIENCE
        while not is_there():
            gone = [one.args[0] for one in self.daemons if one.poll() is not None]
            if gone or time.monotonic() > deadline:
                raise AssertionError(f"{what} did not come up; ended: {gone}\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        files = sorted({*self.folder.glob("*.log"), *self.folder.glob("*.output")})
        return "\n".join(f"-- {file.name} --\n{file.read_text()[-3000:]}" for file in files)

    def command(self, name, *arguments, **environment):
        return subprocess.run(
            [shutil.which(name, path=SEARCHED), *arguments], cwd=self.folder, check=False,
            text=True, capture_output=True, env={**self.environment, **environment},
            timeout=3 * PATIENCE)

    def stop(self):
        self.command("scancel", "--state=RUNNING")
        for one in reversed(self.daemons):
            one.terminate()
        for one in reversed(self.daemons):
            try:
                one.wait(timeout=20)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # munged wants no folder above its socket that others may write.
        cls.folder = tempfile.mkdtemp(prefix="gangsim_slurm_", dir="/run" if os.access(
            "/run", os.W_OK) else None)
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.cluster = Cluster(cls.folder)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def explore(self, program):
        shards = pathlib.Path(self.folder, f"shards_{program}")
        submitted = self.cluster.command(
            "sbatch", "--wait", f"--array=0-{SHARDS - 1}", f"--chdir={self.folder}",
            f"--output={self.folder}/{program}_%a.txt", str(ROOT / "tools/ci/slurm.sh"),
            "explore", program, "--schedules", "200", "--jobs", "1",
            "--save", f"{self.folder}/{program}.toml",
            GANGSIM=str(GANGSIM), SHARDS=str(shards))
        self.assertEqual(submitted.returncode, 0,
                         submitted.stdout + submitted.stderr + self.cluster.logs())
        self.assertEqual(len(list(shards.glob("*.json"))), SHARDS, self.cluster.logs())
        merged = shards.with_suffix(".merged")
        result = subprocess.run([GANGSIM, "merge", shards, "--json", merged], check=False,
                                text=True, capture_output=True)
        return result, json.loads(merged.read_text())

    def alone(self, program):
        output = pathlib.Path(self.folder, f"{program}.alone")
        subprocess.run([GANGSIM, "explore", program, "--schedules", "200", "--jobs", "1",
                        "--strategy", "random", "--save",
                        f"{self.folder}/alone.toml", "--json", output], check=False,
                       capture_output=True)
        return json.loads(output.read_text())

    def test_an_array_does_what_one_run_does(self):
        result, merged = self.explore("ring")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertTrue(result.stdout.startswith(
            f"Merged {SHARDS} shards of explore\nSAMPLED  ring, seeds 1 to 200\n"), result.stdout)
        one = self.alone("ring")
        self.assertEqual(merged["coverage"], one["coverage"])
        self.assertEqual(merged["coverage"]["runs"], 200)
        first = pathlib.Path(self.folder, "ring_3.txt").read_text().splitlines()[0]
        self.assertEqual(first, f"Shard 3/{SHARDS}, as SLURM_ARRAY_TASK_ID says")

    def test_an_array_finds_what_one_run_finds(self):
        result, merged = self.explore("first_come")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        one = self.alone("first_come")
        self.assertEqual(merged["failing_seed"], one["failing_seed"])
        self.assertEqual(merged["coverage"], one["coverage"])


if __name__ == "__main__":
    unittest.main()
