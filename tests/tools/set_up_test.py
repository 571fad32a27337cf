"""The scripts install, build and run, here with stand-ins for apt-get, CMake and ctest."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ("tools/gangsim", "tools/test", "tools/package", "tools/set_up.sh", "tools/packages.txt",
           ".ci/run")

# What the scripts call. Each writes its arguments to $NOTES.
COMMANDS = {
    "dpkg-query": 'for package in $INSTALLED; do echo "installed $package"; done',
    "apt-get": 'echo "apt-get $*" >>"$NOTES"; exit "${APT_STATUS-0}"',
    "sudo": 'echo "sudo $*" >>"$NOTES"; [ "$1" = -n ] && shift; "$@"',
    "id": 'echo "${USER_ID-0}"',
    "ctest": 'printf "%s\\n" "$CTEST_OUTPUT"; exit "${CTEST_STATUS-0}"',
    "cmake": r'''
echo "cmake $*" >>"$NOTES"
if [ "$1" = --preset ]; then
  mkdir -p "build/$2/tools"
  touch "build/$2/build.ninja"
elif [ -n "$BROKEN" ]; then
  echo "error: $BROKEN"
  exit 1
else
  printf '#!/bin/sh\npwd\nprintf "<%%s>" "$@"\nexit 7\n' >"build/$3/tools/$5"
  chmod +x "build/$3/tools/$5"
fi''',
    "cpack": r'''
echo "cpack $*" >>"$NOTES"
[ -n "$BROKEN_PACKAGE" ] && { echo "CPack Error: $BROKEN_PACKAGE"; exit 1; }
mkdir -p "$4/_CPack_Packages"
touch "$4/gangsim_1_any.deb" "$4/libgangsim-dev_1_any.deb"''',
}

# What else they may call: only what a bare Debian machine has.
BARE_MACHINE = ("bash", "cat", "chmod", "cut", "dirname", "env", "find", "flock", "grep", "mkdir",
                "mktemp", "mv", "readlink", "rm", "sed", "sh", "sleep", "tail", "tee", "touch")


class Checkout:
    """A copy of the scripts in a tree of its own, with COMMANDS before the real ones."""

    def __init__(self, folder, without=()):
        self.root = pathlib.Path(folder, "checkout")
        self.notes = pathlib.Path(folder, "notes")
        self.notes.touch()
        for name in ("gang", "sim", "harness", "properties", "tests", "tools", ".ci"):
            (self.root / name).mkdir(parents=True)
        for name in ("CMakeLists.txt", "CMakePresets.json", "sim/trace.cc"):
            (self.root / name).touch()
        for name in SCRIPTS:
            shutil.copy(ROOT / name, self.root / name)
        self.path = pathlib.Path(folder, "bin")
        self.path.mkdir()
        for name in BARE_MACHINE:
            (self.path / name).symlink_to(shutil.which(name))
        for name, text in COMMANDS.items():
            if name not in without:
                (self.path / name).write_text(f"#!/bin/sh\n{text}\n")
                (self.path / name).chmod(0o755)

    def run(self, script, *arguments, cwd=None, installed=None, **environment):
        lines = (self.root / "tools/packages.txt").read_text().splitlines()
        everything = [line.split()[1] for line in lines if not line.startswith("#")]
        return subprocess.run(
            ["bash", self.root / script, *arguments], cwd=cwd or self.root, check=False, text=True,
            capture_output=True, stdin=subprocess.DEVNULL,
            env={"PATH": str(self.path), "NOTES": str(self.notes), "HOME": "/",
                 "INSTALLED": " ".join(everything if installed is None else installed),
                 **environment})

    def take_notes(self):
        text = self.notes.read_text()
        self.notes.write_text("")
        return text.splitlines()


class ScriptTest(unittest.TestCase):
    without = ()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.checkout = Checkout(folder.name, self.without)


class Installing(ScriptTest):
    def test_what_is_missing_is_installed_with_its_reason(self):
        result = self.checkout.run("tools/gangsim", installed=["cmake"])
        notes = "\n".join(self.checkout.take_notes())
        self.assertIn("ninja-build            runs the build", result.stderr)
        self.assertRegex(notes, r"apt-get .* update\napt-get .* install .*\bninja-build\b")
        self.assertNotIn("  cmake ", result.stderr)
        self.assertNotIn("openmpi", notes)
        self.assertEqual(result.returncode, 7)

    def test_nothing_is_installed_twice(self):
        self.checkout.run("tools/gangsim", installed=[])
        self.checkout.take_notes()
        self.checkout.run("tools/gangsim", installed=[])
        self.assertEqual(self.checkout.take_notes(), [])

    def test_what_is_installed_is_not_mentioned(self):
        self.assertEqual(self.checkout.run("tools/gangsim").stderr, "")

    def test_benchmarks_install_what_they_compare_with(self):
        result = self.checkout.run("tools/gangsim", "bench", installed=[])
        self.assertIn("openmpi-bin", result.stderr)

    def test_a_failed_installation_is_one_line_and_status_3(self):
        result = self.checkout.run("tools/gangsim", installed=[], APT_STATUS="100")
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr.splitlines()[-1], "^gangsim: apt-get could not install: g")

    def test_a_user_who_is_not_root_uses_sudo(self):
        self.checkout.run("tools/gangsim", installed=[], USER_ID="1000")
        self.assertRegex("\n".join(self.checkout.take_notes()), "sudo -n env .*apt-get .* install")


class InstallingWithoutSudo(ScriptTest):
    without = ("sudo",)

    def test_the_packages_to_install_by_hand_are_named(self):
        result = self.checkout.run("tools/gangsim", installed=["cmake"], USER_ID="1000")
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr.splitlines()[-1],
                         "^gangsim: not root, and sudo not found; install by hand: g.*ninja-build")


class NotOnDebian(ScriptTest):
    without = ("dpkg-query", "apt-get")

    def test_it_builds_with_what_is_installed(self):
        result = self.checkout.run("tools/gangsim")
        self.assertIn("not Debian", result.stderr)
        self.assertEqual(result.returncode, 7)


class Building(ScriptTest):
    def test_it_runs_where_the_caller_is_with_the_caller_s_arguments_and_status(self):
        result = self.checkout.run("tools/gangsim", "run", "a file.toml", "", cwd=self.folder)
        self.assertEqual(result.stdout, f"{self.folder}\n<run><a file.toml><>")
        self.assertEqual(result.returncode, 7)

    def test_nothing_is_built_when_nothing_changed(self):
        self.checkout.run("tools/gangsim")
        self.assertEqual(len(self.checkout.take_notes()), 2)
        self.checkout.run("tools/gangsim")
        self.assertEqual(self.checkout.take_notes(), [])

    def test_a_changed_a_new_and_a_deleted_source_are_built(self):
        source = self.checkout.root / "sim/trace.cc"
        added = self.checkout.root / "gang/added.cc"
        self.checkout.run("tools/gangsim")
        for change in (lambda: source.write_text("x"), added.touch, added.unlink):
            time.sleep(0.02)
            change()
            self.checkout.take_notes()
            self.checkout.run("tools/gangsim")
            self.assertEqual(self.checkout.take_notes(),
                             ["cmake --build --preset release --target gangsim"])

    def test_a_failed_build_shows_its_log_then_one_line_and_status_3(self):
        result = self.checkout.run("tools/gangsim", BROKEN="no such type")
        self.assertEqual(result.returncode, 3)
        self.assertIn("error: no such type", result.stderr)
        self.assertRegex(result.stderr.splitlines()[-1], "^gangsim: the build failed, see above")
        self.assertEqual(self.checkout.run("tools/gangsim").returncode, 7)

    def test_deciding_that_nothing_changed_takes_less_than_200_ms(self):
        self.checkout.run("tools/gangsim")
        durations = []
        for _ in range(5):
            start = time.monotonic()
            self.checkout.run("tools/gangsim")
            durations.append(time.monotonic() - start)
        self.assertLess(min(durations), 0.2)

    def test_a_link_to_the_script_finds_its_checkout(self):
        link = pathlib.Path(self.folder, "gangsim")
        link.symlink_to(self.checkout.root / "tools/gangsim")
        self.assertEqual(self.checkout.run(link).returncode, 7)


    def test_commands_that_run_programs_do_not_wait_for_the_laws(self):
        for words, target in ((["run", "ring"], "gangsim_without_laws"),
                              (["explore", "x.toml"], "gangsim_without_laws"),
                              (["compare", "ring"], "gangsim_without_laws"),
                              (["run", "random"], "gangsim"),
                              (["compare", "--random"], "gangsim"),
                              (["check"], "gangsim"), (["list"], "gangsim"),
                              (["conform"], "gangsim"), ([], "gangsim")):
            with tempfile.TemporaryDirectory() as folder:
                checkout = Checkout(folder)
                result = checkout.run("tools/gangsim", *words)
                self.assertEqual(checkout.take_notes()[-1],
                                 f"cmake --build --preset release --target {target}")
                self.assertEqual(result.returncode, 7)

    def test_a_saved_schedule_of_a_random_program_needs_the_laws(self):
        for name, target in (("random", "gangsim"), ("ring", "gangsim_without_laws")):
            with tempfile.TemporaryDirectory() as folder:
                checkout = Checkout(folder)
                saved = pathlib.Path(folder, "s.json")
                saved.write_text(f'{{"program": "{name}"}}')
                checkout.run("tools/gangsim", "replay", str(saved))
                self.assertEqual(checkout.take_notes()[-1],
                                 f"cmake --build --preset release --target {target}")

    def test_once_the_laws_are_built_nothing_else_is(self):
        self.checkout.run("tools/gangsim", "check")
        self.checkout.take_notes()
        self.assertEqual(self.checkout.run("tools/gangsim", "run", "ring").returncode, 7)
        self.assertEqual(self.checkout.take_notes(), [])

    def test_its_progress_is_one_line_that_says_how_far(self):
        log = pathlib.Path(self.folder, "log")
        for text, expected in (("", "building: preparing, 1:05 min"),
                               ("-- Configuring done\n", "building: preparing, 1:05 min"),
                               ("[3/40] Building a.cc\n[10/40] Building b.cc\nnote: x\n",
                                "building: 10 of 40 steps (25 %), 1:05 min")):
            log.write_text(text)
            result = subprocess.run(
                ["bash", "-c", f"source {ROOT}/tools/set_up.sh; progress_of {log} 65"],
                check=True, capture_output=True, text=True)
            self.assertEqual(result.stdout, expected)


class Packaging(ScriptTest):
    def test_the_packages_are_built_and_named(self):
        result = self.checkout.run("tools/package", installed=["cmake"])
        self.assertEqual(result.returncode, 0, result.stderr)
        packages = self.checkout.root / "build/packages"
        self.assertEqual(result.stdout.splitlines(),
                         [f"{packages}/gangsim_1_any.deb", f"{packages}/libgangsim-dev_1_any.deb"])
        notes = "\n".join(self.checkout.take_notes())
        self.assertRegex(notes, r"apt-get .* install .*\bdpkg-dev\b")
        self.assertIn("cmake --build --preset release --target gangsim_packaged", notes)

    def test_what_cannot_be_packaged_is_one_line_and_status_3(self):
        result = self.checkout.run("tools/package", BROKEN_PACKAGE="no room")
        self.assertEqual(result.returncode, 3)
        self.assertIn("CPack Error: no room", result.stderr)
        self.assertRegex(result.stderr.splitlines()[-1], "^gangsim: the packages could not be made")

    def test_an_argument_is_bad_usage(self):
        result = self.checkout.run("tools/package", "--rpm")
        self.assertEqual(result.returncode, 2)
        self.assertIn("takes no argument; found '--rpm'", result.stderr)


class Testing(ScriptTest):
    PASSED = "100% tests passed, 0 tests failed out of 12"
    FAILED = "92% tests passed, 1 tests failed out of 12"
    SKIPPED = "3/12 Test  #3: gang.A ........***Skipped   0.00 sec\n" + PASSED

    def closing_line(self, output, status):
        result = self.checkout.run(".ci/run", CTEST_OUTPUT=output, CTEST_STATUS=status)
        return result.stdout.splitlines()[-1], result.returncode

    def test_the_last_line_counts(self):
        self.assertEqual(self.closing_line(self.PASSED, "0"), ("12 passed, 0 failed", 0))
        self.assertEqual(self.closing_line(self.FAILED, "8"), ("11 passed, 1 failed", 1))
        self.assertEqual(self.closing_line(self.SKIPPED, "0"),
                         ("11 passed, 0 failed, 1 skipped", 0))

    def test_help_comes_at_once(self):
        for script in ("tools/test", "tools/package"):
            for flag in ("--help", "-h"):
                result = self.checkout.run(script, flag, installed=[])
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertTrue(result.stdout.startswith(f"usage: {script}"), result.stdout)
        self.assertEqual(self.checkout.take_notes(), [])

    def test_a_run_without_tests_is_not_a_success(self):
        result = self.checkout.run("tools/test", CTEST_OUTPUT="No tests were found!!!")
        self.assertEqual(result.returncode, 3)

    def test_a_sanitizer_has_a_build_of_its_own(self):
        self.checkout.run("tools/test", "--sanitizer", "thread", CTEST_OUTPUT=self.PASSED)
        self.assertIn("cmake --build --preset thread --target all", self.checkout.take_notes())

    def test_fuzzing_builds_its_targets_alone_and_runs_them(self):
        (self.checkout.path / "python3").symlink_to(sys.executable)
        (self.checkout.root / "tools/fuzz").mkdir()
        runner = self.checkout.root / "tools/fuzz/run_targets.py"
        runner.write_text("import sys\nprint(*sys.argv[2:])\nsys.exit(1)\n", encoding="utf-8")
        result = self.checkout.run("tools/test", "--fuzz", "60", "objects")
        self.assertEqual((result.stdout, result.returncode), ("60 objects\n", 1))
        self.assertIn("cmake --build --preset fuzz --target gangsim_fuzzers",
                      self.checkout.take_notes())

    def test_fuzzing_needs_a_time(self):
        for seconds in ("", "0", "1m", "-5"):
            result = self.checkout.run("tools/test", "--fuzz", seconds)
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"--fuzz is '{seconds}'; must be a number of seconds", result.stderr)

    def test_an_unknown_sanitizer_is_bad_usage(self):
        result = self.checkout.run("tools/test", "--sanitizer", "memory")
        self.assertEqual(result.returncode, 2)
        self.assertIn("must be one of: address, undefined, thread", result.stderr)


if __name__ == "__main__":
    unittest.main()
