"""tools/tidy sees a violation of each of its rules, and nothing where there is none."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import tidy_rules
import tidy_sources

FOLDERS = ("gang", "sim", "harness", "properties", "tools", "tests")
CLEAN = {
    **{f"{folder}/README.md": "# A folder\n" for folder in FOLDERS},
    "README.md": "# Long\n" * 100,
    "CMakeLists.txt": "project(x)\n",
    ".hidden": "anything\n",
    "gang/mesh.h": "#pragma once\n#include <vector>\n",
    "gang/mesh.cc": '#include "gang/mesh.h"\n\nint size() { return 1; }\n',
    "tests/gang/mesh_test.cc": '#include "gang/mesh.h"\n#include "harness/runner.h"\n',
}


def check(files, compiled=None):
    """The violations in a tree of CLEAN and `files`, as "path:line rule"."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {**CLEAN, **files}.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        build = None
        if compiled is not None:
            build = pathlib.Path(folder, "build")
            build.mkdir()
            root = pathlib.Path(folder).resolve()
            commands = [{"directory": str(build), "file": str(root / path)} for path in compiled]
            (build / "compile_commands.json").write_text(json.dumps(commands))
        tree = tidy_sources.Tree(folder, build)
        return [f"{violation.path}:{violation.line} {rule.__name__}"
                for rule in tidy_rules.RULES for violation in rule(tree)]


def with_test(path, text):
    """A source and its mirror, so that only what the text breaks is found."""
    return {path: text, f"tests/{path[:-3]}_test.cc": ""}


class EveryRule(unittest.TestCase):
    def test_a_clean_tree_has_no_violation(self):
        self.assertEqual(check({}), [])

    def test_a_file_of_601_lines(self):
        self.assertEqual(check({"sim/a.h": "\n" * 600}), [])
        self.assertEqual(check({"sim/a.h": "\n" * 601}), ["sim/a.h:601 file_size"])

    def test_a_function_of_71_lines(self):
        fits = "int f() {\n" + "  g();\n" * 68 + "}\n"
        self.assertEqual(check({"sim/a.h": fits}), [])
        self.assertEqual(check({"sim/a.h": "\n" + fits.replace("{", "{\n")}),
                         ["sim/a.h:2 function_size"])
        python = "def f():\n" + "    g()\n" * 70
        self.assertEqual(check({"tools/a.py": python}), ["tools/a.py:1 function_size"])

    def test_an_include_against_the_order_of_folders(self):
        for folder, included in (("gang", "sim/a.h"), ("sim", "harness/a.h"),
                                 ("harness", "properties/a.h"), ("properties", "tools/a.h"),
                                 ("gang", "tests/a.h"), ("tools", "tests/a.h")):
            with self.subTest(folder):
                text = f'#pragma once\n#  include "{included}"\n'
                self.assertEqual(check({f"{folder}/a.h": text}), [f"{folder}/a.h:2 include_rule"])

    def test_an_include_that_is_no_path_from_the_root(self):
        for included in ('"mesh.h"', '"../gang/mesh.h"', "<gangsim/gang.h>"):
            with self.subTest(included):
                self.assertEqual(check({"sim/a.h": f"#include {included}\n"}),
                                 ["sim/a.h:1 include_rule"])

    def test_an_include_in_a_comment_is_none(self):
        text = '// #include "sim/a.h"\n/*\n#include "sim/a.h"\n*/\n'
        self.assertEqual(check({"gang/a.h": text}), [])

    def test_a_consumer_includes_the_installed_headers(self):
        self.assertEqual(check({"tests/consumer/main.cc": "#include <gangsim/gang.h>\n"}), [])

    def test_a_public_header_that_shows_a_library(self):
        for included in ("gloo/context.h", "nccl.h", "cuda_runtime.h", "boost/asio.hpp"):
            with self.subTest(included):
                text = f"#include <{included}>\n"
                self.assertEqual(check({"gang/a.h": text}), ["gang/a.h:1 public_headers"])
                self.assertEqual(check({"gang/gloo/a.h": text}), [])
                self.assertEqual(check(with_test("gang/a.cc", text)), [])

    def test_a_source_without_its_test(self):
        for path in ("gang/a.cc", "sim/b/a.cc", "harness/a.cc", "properties/a.cc",
                     "tools/commands/a.cc"):
            with self.subTest(path):
                self.assertEqual(check({path: ""}), [f"{path}:1 mirror_tests"])
                self.assertEqual(check(with_test(path, "")), [])

    def test_a_source_that_no_target_compiles(self):
        all_but_one = ["tests/gang/mesh_test.cc"]
        self.assertEqual(check({}, all_but_one), ["gang/mesh.cc:1 compiled"])
        self.assertEqual(check({}, [*all_but_one, "gang/mesh.cc"]), [])

    def test_a_build_without_benchmarks_compiles_none(self):
        files = {"tools/benchmarks/one.cc": "int one;\n", "tools/benchmarks/two.cc": "int two;\n"}
        rest = [path for path in CLEAN if path.endswith(".cc")]
        self.assertEqual(check(files, rest), [])
        self.assertEqual(check(files, rest + ["tools/benchmarks/one.cc"]),
                         ["tools/benchmarks/two.cc:1 compiled"])

    def test_one_half_of_a_pair_is_compiled(self):
        pair = {**with_test("gang/a.cc", ""), "gang/a_unavailable.cc": ""}
        rest = ["tests/gang/mesh_test.cc", "tests/gang/a_test.cc", "gang/mesh.cc"]
        self.assertEqual(check(pair, [*rest, "gang/a_unavailable.cc"]), [])
        self.assertEqual(check(pair, [*rest, "gang/a.cc"]), [])
        self.assertEqual(check(pair, rest), ["gang/a.cc:1 compiled",
                                             "gang/a_unavailable.cc:1 compiled"])

    def test_a_name_that_says_nothing(self):
        for path in ("sim/utils.h", "sim/test_helpers.h", "sim/common/a.h", "sim/gang_manager.h"):
            with self.subTest(path):
                self.assertEqual(check({path: ""}), [f"{path}:1 names"])

    def test_sim_with_a_world_outside_its_options(self):
        for text in ("int x = std::rand();", "std::random_device d;", "srand(1);",
                     "auto t = std::chrono::steady_clock::now();", "std::thread t;",
                     'auto h = std::getenv("HOME");', "std::this_thread::sleep_for(d);"):
            with self.subTest(text):
                self.assertEqual(check({"sim/a.h": f"\n{text}\n"}), ["sim/a.h:2 determinism"])
                self.assertEqual(check({"harness/a.h": text, "sim/a.h": f"// {text}\n"}), [])

    def test_what_implements_the_injected_world_may_use_the_real_one(self):
        self.assertEqual(check({"sim/thread_context.h": "std::thread t;",
                                "sim/reduction_pool.h": "std::thread t;",
                                "sim/real_runtime.h": "std::chrono::steady_clock c;"}), [])

    def test_sim_in_the_order_of_a_hash(self):
        member = "class A {\n  std::unordered_map<int, std::string> names_;\n};\n"
        for loop in ("for (const auto& [key, name] : names_) {}", "auto i = names_.begin();"):
            with self.subTest(loop):
                self.assertEqual(
                    check({"sim/a.h": member, **with_test("sim/a.cc", f"\n{loop}\n")}),
                    ["sim/a.cc:2 hash_order"])
        self.assertEqual(check({"sim/a.h": member + "auto i = names_.find(1);"}), [])

    def test_endl(self):
        text = "\nstd::cout << std::endl;\n"
        self.assertEqual(check({"tools/a.h": text}), ["tools/a.h:2 flushing"])

    def test_a_folder_without_a_readme_or_with_a_long_one(self):
        self.assertEqual(check({"sim/README.md": "x\n" * 40}), ["sim/README.md:40 readmes"])
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "sim").mkdir()
            pathlib.Path(folder, "sim/a.h").write_text("")
            tree = tidy_sources.Tree(folder)
            self.assertEqual([v.path for v in tidy_rules.readmes(tree)], ["sim/README.md"])

    def test_a_line_of_101_columns(self):
        self.assertEqual(check({"sim/a.h": "// " + "→" * 97}), [])
        self.assertEqual(check({"sim/a.h": "\n// " + "→" * 98}), ["sim/a.h:2 columns"])

    def test_a_name_at_the_top_level(self):
        self.assertEqual(check({"scripts/a.toml": ""}), ["scripts/a.toml:1 top_level"])

    def test_postponed_work(self):
        for word in ("TO" "DO", "FIX" "ME"):
            with self.subTest(word):
                text = f"\n// {word}: later\n"
                self.assertEqual(check({"sim/a.h": text}), ["sim/a.h:2 postponed"])

    def test_every_rule_is_planted_here(self):
        text = pathlib.Path(__file__).read_text(encoding="utf-8")
        for rule in tidy_rules.RULES:
            self.assertRegex(text, rf"(?: |tidy_rules\.){rule.__name__}\b")


class FindingFunctions(unittest.TestCase):
    def find(self, text):
        code = tidy_sources.Source("", "a.h")
        code.text = text
        return [(f.name, f.first_line, f.last_line) for f in code.functions]

    def test_functions_and_what_is_around_them(self):
        self.assertEqual(self.find(
            "namespace a::b {\n"
            "int f(int x) {\n  if (x) {\n  }\n  return [&] { return x; }();\n}\n"
            "}  // namespace a::b\n"), [("f", 2, 6)])

    def test_members_constructors_and_operators(self):
        self.assertEqual(self.find(
            "class A : public B {\n public:\n"
            "  explicit A(int x) : B{x}, x_(x) {\n  }\n"
            "  ~A() override {}\n"
            "  bool operator==(const A& a) const noexcept { return true; }\n"
            "  std::vector<int> all() const& {\n    return {};\n  }\n"
            " private:\n  int x_{0};\n  std::array<int, 2> y_ = {1, 2};\n};\n"),
            [("A", 3, 4), ("~A", 5, 5), ("operator==", 6, 6), ("all", 7, 9)])

    def test_templates_trailing_types_and_macros(self):
        self.assertEqual(self.find(
            "template <typename T>\nauto A<T>::f(T t) const -> std::optional<T> {\n}\n"
            "TEST(Mesh, Partitions) {\n}\n"
            "void g(std::span<const int> a = {}) {\n}\n"),
            [("f", 1, 3), ("TEST", 4, 5), ("g", 6, 7)])

    def test_braces_in_text_are_not_braces(self):
        self.assertEqual(self.find(
            'int f() {\n  g("}", \'}\', R"(})", R"x(")})x", 1\'000);  // }\n  /* } */\n}\n'
            "#define OPEN {\n"
            "int h() {\n}\n"), [("f", 1, 4), ("h", 6, 7)])

    def test_tables_and_enumerations_are_not_functions(self):
        self.assertEqual(self.find(
            "enum class Kind : std::uint8_t { a, b };\n"
            "constexpr std::array names = {f(1), Pair{2, g(3)}};\n"
            "const auto lambda = [](int x) {\n  if (x) {\n    return 1;\n  }\n  return 2;\n};\n"
            "struct A {\n  int x = 0;\n} a{.x = 1};\n"
            "int f() { return 1; }\n"), [("f", 12, 12)])


class TheCommand(unittest.TestCase):
    def run_tidy(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**CLEAN, **files}.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            return subprocess.run([ROOT / "tools/tidy", "--root", folder],
                                  capture_output=True, text=True, check=False)

    def test_a_message_says_where_what_and_what_to_do(self):
        result = self.run_tidy({"gang/a.h": '\n#include "sim/trace.h"\n'})
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.splitlines()[0],
                         'gang/a.h:2: gang/ includes "sim/trace.h": it may include only gang')

    def test_a_clean_tree_is_counted(self):
        result = self.run_tidy({})
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^tidy: 0 violations in 4 files \(0 over 300 lines\)")


if __name__ == "__main__":
    unittest.main()
