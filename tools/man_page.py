"""usage: man_page.py GANGSIM OUTPUT

Writes gangsim(1), compressed, from what `gangsim --help` and `gangsim COMMAND --help` print.
"""

import gzip
import pathlib
import re
import subprocess
import sys


def help_of(binary, *words):
    """What --help prints, with the command's name where the binary's path may be."""
    return subprocess.run([binary, *words, "--help"], check=True, capture_output=True,
                          text=True).stdout.rstrip()


def escaped(text):
    """Text as it is, for roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def verbatim(text):
    return f".nf\n{escaped(text)}\n.fi\n"


def commands_of(usage):
    """The names below "Commands:"."""
    listed = usage.split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^  (\w+)", listed, flags=re.MULTILINE)  # not the rest of a description


def man_page(binary):
    version = subprocess.run([binary, "--version"], check=True, capture_output=True,
                             text=True).stdout.strip()
    usage = help_of(binary)
    first, rest = usage.split("\n", 1)
    summary = first.split(": ", 1)[1].rstrip(".")
    page = f'.TH GANGSIM 1 "" "{version}" "User Commands"\n'
    page += f".SH NAME\ngangsim \\- {escaped(summary)}\n"
    page += ".SH SYNOPSIS\n.B gangsim\n.I COMMAND\n[\\fIOPTIONS\\fR]\n"
    page += ".SH DESCRIPTION\n" + verbatim(rest.split("\n\n", 1)[1])
    page += ".SH COMMANDS\n"
    for command in commands_of(usage):
        page += f".SS gangsim {command}\n" + verbatim(help_of(binary, command))
    page += (".SH EXIT STATUS\n.TP\n0\nAll holds.\n.TP\n1\nA finding.\n.TP\n2\n"
             "Bad usage or bad input.\n.TP\n3\nThe environment failed.\n.TP\n130\n"
             "Interrupted; the report tells where the ranks were.\n")
    return page


if __name__ == "__main__":
    text = man_page(sys.argv[1]).encode()
    pathlib.Path(sys.argv[2]).write_bytes(gzip.compress(text, mtime=0))
