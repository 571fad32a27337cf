"""Runs every command in README.md and checks its exit status.

Commands are the lines of ```sh blocks that start with "tools/". "# exit 1" at the end of a line is
the expected status; the default is 0. Each runs in an empty folder with links to tools/ and tests/,
so that what it writes stays out of the checkout.
"""

import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Not run here, and why.
RUN_ELSEWHERE = {
    "tools/test": "it runs this test",
}


def commands_of(text):
    """(command, status) for every command of the ```sh blocks of a Markdown text."""
    commands = []
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("tools/"):
                status = re.search(r"# .*\bexit (\d)\b", line)
                commands.append((line.split("  #")[0].strip(), int(status[1]) if status else 0))
    return commands


class Readme(unittest.TestCase):
    def test_commands_are_found_with_their_status(self):
        text = ("```sh\ntools/a b   # shows, exit 1\nls\ntools/c \\\n  d\n```\n"
                "```cpp\ntools/e\n```\n")
        self.assertEqual(commands_of(text), [("tools/a b", 1), ("tools/c    d", 0)])

    def test_every_command_ends_as_it_says(self):
        commands = commands_of((ROOT / "README.md").read_text(encoding="utf-8"))
        self.assertGreater(len(commands), 2, "no commands in README.md")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("tools", "tests"):
                pathlib.Path(folder, name).symlink_to(ROOT / name)
            for command, status in commands:
                if any(command.startswith(elsewhere) for elsewhere in RUN_ELSEWHERE):
                    continue
                with self.subTest(command):
                    result = subprocess.run(
                        ["bash", "-c", command], cwd=folder, check=False, text=True,
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, timeout=280)
                    if result.returncode == 3 and "can import torch" in result.stdout:
                        self.skipTest("PyTorch is not installed; tools/test --torch installs it")
                    self.assertEqual(result.returncode, status, result.stdout)


if __name__ == "__main__":
    unittest.main()
