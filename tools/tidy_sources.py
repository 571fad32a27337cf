"""The tree that tools/tidy reads: its files, their text without comments, their functions."""

import ast
import collections
import dataclasses
import functools
import os
import pathlib
import re
import subprocess

# `key` is what an exception names, where that is not the path alone.
Violation = collections.namedtuple("Violation", "path line what instead")

CPP_SUFFIXES = {".cc", ".h"}
CODE_SUFFIXES = CPP_SUFFIXES | {".py", ".sh", ".cmake", ".in"}
SCRIPTS = {"CMakeLists.txt", "gangsim", "test", "format", "tidy", "run"}

# A comment, a raw string, a string or a character; a digit separator (1'000) starts no character.
_LITERAL = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | (?<![A-Za-z0-9_])(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
      | "(?:[^"\\\n]|\\.)*"
      | (?<![0-9A-Za-z_])(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+'""",
    re.DOTALL | re.VERBOSE,
)

_ACCESS_LABELS = re.compile(r"(?:\s*\b(?:public|private|protected)\s*:(?!:))*\s*")


@dataclasses.dataclass(frozen=True)
class Function:
    """A function definition; lines count from 1, both ends included."""

    name: str
    first_line: int
    last_line: int

    @property
    def line_count(self):
        return self.last_line - self.first_line + 1


@dataclasses.dataclass
class Class:
    """A class or struct. Constructors, destructors, operators and what is deleted do not count as
    methods, nor do static constants as members."""

    name: str
    first_line: int
    methods: int = 0
    members: int = 0


class Source:
    """One file of the tree."""

    def __init__(self, root, path):
        self.path = path
        self.suffix = pathlib.PurePath(path).suffix
        self.folder = path.split("/")[0] if "/" in path else ""
        self._file = pathlib.Path(root, path)

    @functools.cached_property
    def text(self):
        return self._file.read_text(encoding="utf-8", errors="replace")

    @functools.cached_property
    def lines(self):
        return self.text.splitlines()

    @functools.cached_property
    def code(self):
        """The text with comments and literals blanked; offsets and lines stay the same."""
        return _LITERAL.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), self.text)

    @functools.cached_property
    def functions(self):
        if self.is_cpp:
            return find_cpp_functions(self.code)
        if self.is_python:
            return find_python_functions(self.text)
        return []

    @functools.cached_property
    def classes(self):
        return find_cpp_classes(self.code) if self.is_cpp else []

    @property
    def is_cpp(self):
        return self.suffix in CPP_SUFFIXES

    @property
    def is_python(self):
        return self.suffix == ".py" or (self.suffix == "" and "python3" in self.text[:40])

    @property
    def is_code(self):
        name = self.path.rsplit("/", 1)[-1]
        return self.suffix in CODE_SUFFIXES or name in SCRIPTS

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1


class Tree:
    """A checkout and, where there is one, a build tree of it."""

    def __init__(self, root, build=None):
        self.root = pathlib.Path(root).resolve()
        self.build = pathlib.Path(build).resolve() if build else None
        self.sources = {path: Source(self.root, path) for path in sorted(self._find_paths())}

    def cpp(self, *folders):
        sources = [source for source in self.sources.values() if source.is_cpp]
        return [source for source in sources if not folders or source.folder in folders]

    def code(self):
        return [source for source in self.sources.values() if source.is_code]

    def _find_paths(self):
        paths = self._ask_git() if (self.root / ".git").exists() else None
        return self._walk() if paths is None else paths

    def _ask_git(self):
        """What git tracks or would track; None if git cannot tell."""
        # A CI machine may not run as the user who cloned.
        command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
                   "--exclude-standard"]
        try:
            listed = subprocess.run(command, cwd=self.root, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        paths = set(listed.stdout.decode().split("\0")) - {""}
        return [path for path in paths if (self.root / path).is_file()]

    def _walk(self):
        paths = []
        for folder, folders, names in os.walk(self.root):
            at_root = pathlib.Path(folder) == self.root
            skipped = {"__pycache__", "build", ".git", ".cache"} if at_root else {"__pycache__"}
            folders[:] = [name for name in folders if name not in skipped]
            paths += [os.path.relpath(os.path.join(folder, name), self.root) for name in names]
        return paths


def find_python_functions(text):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return [Function(node.name, node.lineno, node.end_lineno) for node in nodes]


def find_cpp_functions(code):
    """Functions by their braces: a block outside functions whose head ends with parameters.

    Expects comments and literals blanked. What a lambda or a local class holds belongs to the
    function around it. A macro that opens a body, TEST(A, B) {, is a function too.
    """
    return [_function(code, head, start, end)
            for _, head, start, end, has_body in _find_declarations(code) if has_body]


def find_cpp_classes(code):
    """Every class that is not local to a function, with what it declares."""
    classes = {}
    for scope, head, _, _, _ in _find_declarations(code):
        name = _class_name(scope[0]) if scope else None
        if name is None:
            continue
        found = classes.setdefault(scope, Class(name, code.count("\n", 0, scope[1]) + 1))
        kind = _kind_of_declaration(" ".join(head[_ACCESS_LABELS.match(head).end():].split()), name)
        found.methods += kind == "method"
        found.members += kind == "member"
    return list(classes.values())


def _find_declarations(code):
    """(scope, head, start, end, has body) for all outside functions; a scope is (head, offset)."""
    code = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", _blank, code, flags=re.MULTILINE)
    scopes = []  # "outer", "function", "inner" or "initialiser" for every open brace.
    outer = []  # (head, offset) for every open "outer".
    pending = None
    head_start = 0
    parentheses = 0
    for match in re.finditer(r"[{}();]", code):
        token, offset = match.group(), match.start()
        if token in "()":
            parentheses += 1 if token == "(" else -1
        elif token == ";":
            if parentheses == 0 and "initialiser" not in scopes:
                if not pending:
                    yield _scope(outer), code[head_start:offset], head_start, offset, False
                head_start = offset + 1
        elif token == "{":
            head = code[head_start:offset]
            if pending:
                kind = "inner"
            elif "initialiser" in scopes or parentheses > 0:
                kind = "initialiser"  # Also a default argument, an attribute, a decltype.
            else:
                kind = _kind_of_block(head)
            scopes.append(kind)
            if kind == "function":
                pending = (head, head_start)
            if kind == "outer":
                outer.append((head, offset))
            if kind != "initialiser":
                head_start = offset + 1
        elif scopes:
            kind = scopes.pop()
            if kind == "function":
                yield _scope(outer), *pending, offset, True
                pending = None
                parentheses = 0
            if kind == "outer":
                outer.pop()
            if kind != "initialiser":
                head_start = offset + 1


def _scope(outer):
    return outer[-1] if outer else None


def _class_name(head):
    """None for a namespace or an enumeration."""
    text = " ".join(re.sub(r"alignas\([^()]*\)|\[\[.*?\]\]", " ", head).split())
    found = re.search(
        r"(?<!enum )\b(?:class|struct|union) ([\w:]+)(?:<.*>)?(?: final)?(?: ?:(?!:).*)?$", text)
    return found.group(1) if found else None


def _kind_of_declaration(text, class_name):
    """"method", "member", or None for what does not count."""
    types = r"(?:using|typedef|friend|static_assert|enum|class|struct|union)\b"
    if not text or re.match(types, text) or re.search(r"\boperator\b", text):
        return None
    for nested in (r"<[^<>()]*(?:\([^()]*\)[^<>()]*)?>", r"\[\[.*?\]\]",
                   r"\b(?:alignas|decltype|explicit|noexcept)\s*\([^()]*\)"):
        while re.search(nested, text):
            text = re.sub(nested, "", text)
    name = re.match(r"[^=({]*?(~?\w+)\s*\((?!\s*\*)", text)
    if not name:
        return None if re.match(r"(?:inline )?static (?:inline )?constexpr\b", text) else "member"
    is_special = name.group(1).strip("~") == class_name or text.endswith("= delete")
    return None if is_special else "method"


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def _kind_of_block(head):
    text = " ".join(head[_ACCESS_LABELS.match(head).end():].split())
    if re.search(r"\b(?:namespace|extern|enum)\b[^()]*$", text):
        return "outer"
    is_type = re.match(r"(?:template ?<.*> ?)?(?:class|struct|union)\b", text)
    if is_type and not text.endswith(")"):
        return "outer"
    return "function" if _ends_parameter_list(text) else "initialiser"


def _ends_parameter_list(text):
    """Whether a body may follow: after the parameters, or after the last member initialiser."""
    if "(" not in text or re.search(r"=\s*(?:\[[^\]]*\].*)?$", text):
        return False
    end = re.compile(
        r"\) ?(?:const|volatile|noexcept(?: ?\([^()]*\))?|override|final|mutable|try|&&?| )*"
        r"(?:-> ?[\w:<>,&* \[\]]+)?(?:requires .*)?$")
    initialisers = re.search(r"\)(?: ?noexcept)? ?: ?(?!:)", text)
    if initialisers:
        # "a(1), b{2}" is complete; "a" and "a(1), b" await their brace.
        return bool(re.search(r"[)}]$", text))
    return bool(end.search(text))


def _function(code, head, head_start, end):
    lead = _ACCESS_LABELS.match(head).end()
    names = re.findall(r"((?:[\w~]+::)*~?\w+|operator ?\S+?) ?\(", head)
    return Function(
        names[0] if names else "?",
        code.count("\n", 0, head_start + lead) + 1,
        code.count("\n", 0, end) + 1)


def includes(source):
    """(line, '"path"' or '<path>') for every include, not those in comments."""
    for match in re.finditer(r"^[ \t]*#[ \t]*include\b", source.code, re.MULTILINE):
        rest = source.text[match.end(): source.text.find("\n", match.end()) + 1].strip()
        found = re.match(r'"[^"]+"|<[^>]+>', rest)
        if found:
            yield source.line_of(match.end()), found.group()
