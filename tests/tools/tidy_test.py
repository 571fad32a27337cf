"""tools/tidy finds a planted violation of each of its rules, and none in a clean tree."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import tidy_rooms
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
ROOM = {"sim/engine/README.md": "# The engine\n"}


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
    """A source with its mirror test, so that only `text` can break a rule."""
    return {path: text, f"tests/{path[:-3]}_test.cc": ""}


class EveryRule(unittest.TestCase):
    def test_a_clean_tree_has_no_violation(self):
        self.assertEqual(check({}), [])

    def test_a_file_of_401_lines(self):
        self.assertEqual(check({"sim/a.h": "\n" * 400}), [])
        self.assertEqual(check({"sim/a.h": "\n" * 401}), ["sim/a.h:401 file_size"])

    def test_a_function_of_71_lines(self):
        fits = "int f() {\n" + "  g();\n" * 68 + "}\n"
        self.assertEqual(check({"sim/a.h": fits}), [])
        self.assertEqual(check({"sim/a.h": "\n" + fits.replace("{", "{\n")}),
                         ["sim/a.h:2 function_size"])
        python = "def f():\n" + "    g()\n" * 70
        self.assertEqual(check({"tools/a.py": python}), ["tools/a.py:1 function_size"])

    def test_a_class_of_31_methods_or_21_members(self):
        for line, limit in (("  int f() const;\n", 30), ("  int f() { return 1; }\n", 30),
                            ("  int x_ = 0;\n", 20), ("  std::map<int, int> x_{};\n", 20)):
            with self.subTest(line):
                fits = "class A {\n public:\n  A();\n  ~A();\n" + line * limit + "};\n"
                self.assertEqual(check({"sim/a.h": fits}), [])
                larger = fits.replace("public:\n", "public:\n" + line)
                self.assertEqual(check({"sim/a.h": larger}), ["sim/a.h:1 class_size"])

    def test_the_class_that_is_the_vocabulary_may_be_large(self):
        text = "class Gang {\n" + "  void f();\n" * 31 + "};\n"
        self.assertEqual(check({"gang/gang.h": text}), [])
        self.assertEqual(check({"gang/a.h": text}), ["gang/a.h:1 class_size"])
        self.assertEqual(check({"gang/gang.h": "class Gang {\n  void f();\n};\n"}),
                         ["gang/gang.h:1 class_size"])

    def test_an_include_against_the_order_of_folders(self):
        for folder, included in (("gang", "sim/a.h"), ("sim", "harness/a.h"),
                                 ("harness", "properties/a.h"), ("properties", "tools/a.h"),
                                 ("gang", "tests/a.h"), ("tools", "tests/a.h")):
            with self.subTest(folder):
                text = f'#pragma once\n#  include "{included}"\n'
                self.assertEqual(check({f"{folder}/a.h": text}), [f"{folder}/a.h:2 include_rule"])

    def test_an_include_that_is_not_a_path_from_the_root(self):
        for included in ('"mesh.h"', '"../gang/mesh.h"', "<gangsim/gang.h>"):
            with self.subTest(included):
                self.assertEqual(check({"sim/a.h": f"#include {included}\n"}),
                                 ["sim/a.h:1 include_rule"])

    def test_an_include_in_a_comment_does_not_count(self):
        text = '// #include "sim/a.h"\n/*\n#include "sim/a.h"\n*/\n'
        self.assertEqual(check({"gang/a.h": text}), [])

    def test_a_consumer_includes_the_installed_headers(self):
        self.assertEqual(check({"tests/consumer/main.cc": "#include <gangsim/gang.h>\n"}), [])

    def test_an_include_against_the_order_of_rooms(self):
        for included, is_below in (("sim/state/task.h", True), ("sim/engine/clock.h", True),
                                   ("gang/gang.h", True), ("sim/matching/matching.h", False),
                                   ("sim/simulation.h", False)):
            with self.subTest(included):
                files = {**ROOM, "sim/engine/a.h": f'\n#include "{included}"\n'}
                self.assertEqual(check(files), [] if is_below else ["sim/engine/a.h:2 room_order"])

    def test_the_face_of_a_folder_is_above_its_rooms(self):
        self.assertEqual(check({"harness/a.h": '#include "harness/commands/run_command.h"\n'}), [])
        further = {"sim/further_runs/README.md": "", "sim/further_runs/a.h":
                   '#include "sim/simulation.h"\n'}
        self.assertEqual(check(further), [])
        self.assertEqual(check({"sim/a.h": '#include "sim/further_runs/a.h"\n'}),
                         ["sim/a.h:1 room_order"])

    def test_a_room_within_a_room_counts_as_that_room(self):
        files = {"sim/backends/README.md": "", "sim/backends/gloo/a.h":
                 '#include "sim/backends/strikes.h"\n#include "sim/simulation.h"\n'}
        self.assertEqual(check(files), ["sim/backends/gloo/a.h:2 room_order"])

    def test_a_room_without_a_place_in_the_order(self):
        self.assertEqual(check({"sim/attic/README.md": "", "sim/attic/a.h": ""}),
                         ["sim/attic/a.h:1 room_order"])

    def test_a_room_without_a_readme_or_with_a_long_one(self):
        self.assertEqual(check({"sim/engine/a.h": ""}), ["sim/engine/README.md:1 room_readmes"])
        files = {"sim/engine/README.md": "x\n" * 29, "sim/engine/a.h": ""}
        self.assertEqual(check(files), [])
        self.assertEqual(check({**files, "sim/engine/README.md": "x\n" * 30}),
                         ["sim/engine/README.md:30 room_readmes"])

    def test_text_of_ours_that_is_taken_apart(self):
        for text in ('bool b = call.operation.starts_with("send ");', "text.find('[');",
                     'auto i = finding->message.rfind(R"(x)");', "return gang.substr(0, end);",
                     "line.find_first_not_of(' ')", 'text.ends_with("...")'):
            with self.subTest(text):
                for path in ("sim/a.h", "harness/a.h"):
                    self.assertEqual(check({path: f"\n{text}\n"}), [f"{path}:2 own_text"])
                    self.assertEqual(check({path: f"// {text}\n"}), [])
                self.assertEqual(check({"gang/a.h": text, "tools/a.h": text}), [])

    def test_text_of_others_may_be_taken_apart(self):
        text = 'bool b = text.starts_with("x");\n'
        readme = {"harness/commands/README.md": "", "sim/text/README.md": ""}
        self.assertEqual(
            check({**readme, "harness/commands/a.h": text, "sim/text/a.h": text}), [])
        for harmless in ("path.substr(path.rfind('/') + 1)", 'path.ends_with(".toml")',
                         "text.ends_with('.')", "text.ends_with('\\n')", "ranks.find(rank)",
                         'lines.find("")'):
            with self.subTest(harmless):
                self.assertEqual(check({"sim/a.h": harmless}), [])

    def test_a_listed_place_that_takes_no_text_apart(self):
        path = "sim/schedule/schedule.cc"
        files = {"sim/schedule/README.md": "", **with_test(path, "text.substr(1);\n")}
        self.assertIn(path, tidy_rooms.MAY_TAKE_TEXT_APART)
        self.assertEqual(check(files), [])
        self.assertEqual(check({**files, path: ""}), [f"{path}:1 own_text"])

    def test_a_section_rule_in_two_lines(self):
        self.assertEqual(check({"sim/a.h": "// -- Cycles --\n// -- Cycles -----\n"}), [])
        self.assertEqual(check({"sim/a.h": "  // -- Cycles\n  // ---------\n"}),
                         ["sim/a.h:2 section_rules"])

    def test_a_public_header_that_shows_a_library(self):
        for included in ("gloo/context.h", "nccl.h", "cuda_runtime.h", "boost/asio.hpp"):
            with self.subTest(included):
                text = f"#include <{included}>\n"
                self.assertEqual(check({"gang/a.h": text}), ["gang/a.h:1 public_headers"])
                self.assertEqual(check({"gang/gloo/a.h": text}), [])
                self.assertEqual(check(with_test("gang/a.cc", text)), [])

    def test_an_installed_header(self):
        listed = {"tools/cmake/PublicHeaders.cmake": "set(A gang/a.h\n  gang/object.h)\n",
                  "gang/object.h": "#include <nlohmann/json_fwd.hpp>\n"}
        for included in ("<nlohmann/json_fwd.hpp>", "<fmt/format.h>", "<Eigen/Core>",
                         '"gang/object.h"', '"gang/b.h"'):
            with self.subTest(included):
                text = f"#include {included}\n"
                self.assertEqual(check({**listed, "gang/a.h": text}),
                                 ["gang/a.h:1 installed_headers"])
                self.assertEqual(check({**listed, "gang/a.h": "", "gang/b.h": text}), [])
        self.assertEqual(check(listed), ["tools/cmake/PublicHeaders.cmake:1 installed_headers"])
        standard = {"gang/a.h": "#include <vector>\n"}
        self.assertEqual(check({**listed, **standard}), [])

    def test_a_source_without_its_test(self):
        for path in ("gang/a.cc", "sim/a.cc", "gang/b/a.cc", "harness/a.cc", "properties/a.cc",
                     "tools/commands/a.cc"):
            with self.subTest(path):
                self.assertEqual(check({path: ""}), [f"{path}:1 mirror_tests"])
                self.assertEqual(check(with_test(path, "")), [])

    def test_a_source_that_no_target_compiles(self):
        all_but_one = ["tests/gang/mesh_test.cc"]
        self.assertEqual(check({}, all_but_one), ["gang/mesh.cc:1 compiled"])
        self.assertEqual(check({}, [*all_but_one, "gang/mesh.cc"]), [])

    def test_a_batch_compiles_the_sources_that_it_includes(self):
        with tempfile.TemporaryDirectory() as folder:
            batch = pathlib.Path(folder, "gang/Unity/unity_0_cxx.cxx")
            batch.parent.mkdir(parents=True)
            batch.write_text('#include "/gang/a.cc"\n\n#include "/gang/b.cc"\n')
            commands = pathlib.Path(folder, "compile_commands.json")
            commands.write_text(json.dumps([{"directory": folder, "file": str(batch)}]))
            self.assertEqual(list(tidy_rules.compiled_files(pathlib.Path(folder))),
                             [str(batch), "/gang/a.cc", "/gang/b.cc"])

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
        for path in ("sim/utils.h", "sim/test_helpers.h", "gang/common/a.h", "sim/gang_manager.h"):
            with self.subTest(path):
                self.assertEqual(check({path: ""}), [f"{path}:1 names"])

    def test_sim_depends_on_more_than_its_options(self):
        for text in ("int x = std::rand();", "std::random_device d;", "srand(1);",
                     "auto t = std::chrono::steady_clock::now();", "std::thread t;",
                     'auto h = std::getenv("HOME");', "std::this_thread::sleep_for(d);"):
            with self.subTest(text):
                self.assertEqual(check({"sim/a.h": f"\n{text}\n"}), ["sim/a.h:2 determinism"])
                self.assertEqual(check({"harness/a.h": text, "sim/a.h": f"// {text}\n"}), [])

    def test_files_that_implement_time_and_threads_may_use_the_real_ones(self):
        self.assertEqual(check({"sim/thread_context.h": "std::thread t;",
                                "sim/reduction_pool.h": "std::thread t;",
                                "sim/real_runtime.h": "std::chrono::steady_clock c;"}), [])

    def test_sim_iterates_in_the_order_of_a_hash(self):
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


class FindingClasses(unittest.TestCase):
    def find(self, text):
        code = tidy_sources.Source("", "a.h")
        code.text = text
        return [(c.name, c.first_line, c.methods, c.members) for c in code.classes]

    def test_what_counts(self):
        self.assertEqual(self.find(
            "namespace a {\n"
            "template <typename T>\nclass A final : public B<T> {\n public:\n"
            "  explicit A(int x) : B{x}, x_(x) {}\n  A(const A&) = delete;\n"
            "  ~A() override = default;\n"
            "  bool operator==(const A& a) const = default;\n  friend class C;\n"
            "  friend void swap(A& a, A& b) { g(); }\n  using D = std::vector<int>;\n"
            "  enum class Kind : int { a, b };\n  static constexpr int limit = f(3);\n"
            "  [[nodiscard]] std::vector<int> all(int n = 3) const&;\n"
            "  static void apply(const std::function<void(int)>& f) { f(1); }\n"
            " private:\n  int x_{0}; bool y_ = g(2);\n  std::function<void(int)> on_idle_;\n"
            "  void (*handler_)(int) = nullptr;\n  alignas(64) std::map<int, A<T>> z_;\n"
            "};\n}\n"), [("A", 3, 2, 5)])

    def test_a_class_within_a_class_and_one_within_a_function(self):
        self.assertEqual(self.find(
            "class A {\n  struct B {\n    int x;\n    int f();\n  };\n  B b_;\n"
            "  void g() {\n    struct C {\n      int y;\n    };\n    C c;\n  }\n};\n"),
            [("B", 2, 1, 1), ("A", 1, 1, 1)])


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
        self.assertRegex(result.stdout, r"^tidy: 0 violations in 4 files \(")


    def test_the_rules_name_the_order_of_the_rooms(self):
        rules = subprocess.run([ROOT / "tools/tidy", "--rules"], capture_output=True, text=True,
                               check=True).stdout
        self.assertIn("sim:     text <- schedule <- faults", rules)
        self.assertIn("<- commands <- harness/*.h", rules)


if __name__ == "__main__":
    unittest.main()
