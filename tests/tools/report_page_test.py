#!/usr/bin/env python3
"""The HTML explanation of a run, opened and clicked in headless Chromium."""

import base64
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("GANGSIM_BINARY_DIR", ROOT / "build/release")).resolve()
GANGSIM = BUILD / "tools/gangsim"
CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")

MISSING = [name for name, found in (("python3-selenium", webdriver), ("chromium", CHROMIUM),
                                    ("chromium-driver", DRIVER)) if not found]

LABELLED = r"""
world = 4
layout = { tp = 2 }
[[do]]
ranks = [0, 3]
calls = ["dp barrier label \"<script>document.title = 'changed'</script><b id='bold'>x</b>\"",
         "tp barrier"]
[[do]]
ranks = [1, 2]
calls = ["tp barrier", "dp barrier"]
"""

MISSING_RANK = r"""
world = 8
[[do]]
repeat = 4
  [[do.do]]
  when = "not (rank == 7 and iteration == 3)"
  calls = ["root all_reduce mean f32[4096]"]
"""


def pixels_of(png):
    """Rows of pixels, each a tuple of channels, of an 8-bit PNG (source: RFC 2083)."""
    width, height, depth, colour = struct.unpack(">IIBB", png[16:26])
    channels = {2: 3, 6: 4}[colour]
    assert depth == 8
    data, place = b"", 8
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place:place + 8])
        if kind == b"IDAT":
            data += png[place + 8:place + 8 + length]
        place += length + 12
    raw, stride = zlib.decompress(data), width * channels
    rows, above = [], bytearray(stride)
    for y in range(height):
        start = y * (stride + 1)
        row = unfiltered(raw[start], bytearray(raw[start + 1:start + 1 + stride]), above, channels)
        rows.append([tuple(row[x:x + 3]) for x in range(0, stride, channels)])
        above = row
    return rows


def unfiltered(kind, row, above, channels):
    for i, value in enumerate(row):
        left = row[i - channels] if i >= channels else 0
        corner = above[i - channels] if i >= channels else 0
        if kind == 1:
            value += left
        elif kind == 2:
            value += above[i]
        elif kind == 3:
            value += (left + above[i]) // 2
        elif kind == 4:
            guess = left + above[i] - corner
            value += min((abs(guess - left), 0, left), (abs(guess - above[i]), 1, above[i]),
                         (abs(guess - corner), 2, corner))[2]
        row[i] = value & 255
    return row


@unittest.skipIf(MISSING, f"needs {', '.join(MISSING)}; tools/test installs them")
class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="gangsim-page-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                         "--disable-dev-shm-usage", "--window-size=1280,800",
                         "--force-device-scale-factor=1", f"--user-data-dir={cls.folder}/profile"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(service=Service(DRIVER), options=options)
        cls.addClassCleanup(cls.browser.quit)
        (cls.folder / "labelled.toml").write_text(LABELLED, encoding="utf-8")
        (cls.folder / "missing.toml").write_text(MISSING_RANK, encoding="utf-8")

    def setUp(self):
        self.show_at(1280, 800)
        self.prefer_colours("light")

    def open_run(self, program, *options, status=1):
        """Runs a program, opens its report, and expects no complaint from the browser."""
        page = self.folder / "report.html"
        result = subprocess.run([GANGSIM, "run", program, "--report", page, *options], check=False,
                                cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, timeout=60)
        self.assertEqual(result.returncode, status, result.stdout)
        self.browser.get(page.as_uri())
        self.assertEqual([entry for entry in self.browser.get_log("browser")
                          if entry["level"] in ("SEVERE", "WARNING")], [])
        return result.stdout

    def open_edited(self, program, edit):
        """Saves a run, lets `edit` change its report, and opens the explanation of that."""
        saved, page = self.folder / "run.json", self.folder / "explained.html"
        subprocess.run([GANGSIM, "run", program, "--json", saved], check=False, cwd=self.folder,
                       stdout=subprocess.DEVNULL, timeout=60)
        run = json.loads(saved.read_text(encoding="utf-8"))
        edit(run)
        saved.write_text(json.dumps(run), encoding="utf-8")
        subprocess.run([GANGSIM, "explain", saved, "--html", page], check=True, timeout=60,
                       stdout=subprocess.DEVNULL)
        self.browser.get(page.as_uri())

    def open_deadlock(self):
        self.open_run(ROOT / "tests/programs/tp_dp_deadlock.toml")

    def show_at(self, width, height):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def prefer_colours(self, scheme):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def details(self):
        return self.find("#details").text

    def screenshot(self):
        """The pixels of a screenshot at a quarter of its size."""
        size = self.browser.execute_script("return [innerWidth, innerHeight]")
        shot = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": {
            "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 0.25}})
        return pixels_of(base64.b64decode(shot["data"]))

    def assert_fits(self):
        widths = self.browser.execute_script(
            "return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(widths[0], widths[1], "the page is wider than the screen")

    def test_a_click_on_a_blocked_call_shows_its_details(self):
        self.open_deadlock()
        self.find("tr[data-node='2']").click()
        for text in ("all_reduce #0 sum f32[1024]", "tp[2,3]", "tp_dp_deadlock.toml:10", "rank 3",
                     "15 min"):
            self.assertIn(text, self.details())
        self.assertIn("chosen", self.find("tr[data-node='2']").get_attribute("class"))

    def test_the_graph_is_used_with_the_keyboard(self):
        self.open_deadlock()
        node = self.find(".node[aria-label^='rank 3:']")
        node.send_keys(Keys.ENTER)
        self.assertIn("dp[1,3]", self.details())
        self.assertEqual(len(self.find_all(".edge.core")), 4 + 1, "four edges and the key")

    def test_the_timeline_has_the_blocked_tail(self):
        self.open_deadlock()
        self.assertEqual(len(self.find_all(".slice.blocked")), 4)
        self.find(".lane:nth-child(2) .slice.blocked").click()
        self.assertIn("tp[0,1]", self.details())
        earlier = self.find(".lane:nth-child(2) .slice.complete")
        earlier.send_keys(Keys.ARROW_RIGHT)
        self.browser.switch_to.active_element.send_keys(Keys.ENTER)
        self.assertIn("split #1", self.details())
        self.assertIn("completed", self.details())

    def test_texts_of_the_program_are_shown_as_they_are(self):
        self.open_run("labelled.toml")
        self.assertEqual(self.browser.title, "labelled.toml: cross_gang_cycle")
        self.assertEqual(self.find_all("#bold"), [])
        self.find("tr.choice").click()
        self.assertIn("<script>document.title = 'changed'</script><b id='bold'>", self.details())

    def test_nothing_is_fetched(self):
        self.open_deadlock()
        fetched = self.browser.execute_script(
            "return performance.getEntriesByType('resource').map((entry) => entry.name)")
        self.assertEqual(fetched, [])

    def test_a_large_world_is_grouped(self):
        self.open_run("missing.toml", "--world", "1024")
        self.assertEqual(len(self.find_all("tr.choice")), 1)
        self.assertEqual(len(self.find_all(".node")), 2)
        self.assertEqual(len(self.find_all(".lane")), 2)
        self.assertIn("rank 7", self.find(".lane").text)
        box = self.find("input[name='rank']")
        box.send_keys("7", Keys.ENTER)
        self.assertNotIn("mean", self.details())
        box.clear()
        box.send_keys("1000", Keys.ENTER)
        self.assertIn("mean f32[4096]", self.details())

    def test_it_fits_a_laptop_and_a_phone(self):
        for program, world in ((ROOT / "tests/programs/tp_dp_deadlock.toml", "4"),
                               ("missing.toml", "64"), ("missing.toml", "16384")):
            for width, height in ((1280, 800), (390, 844)):
                with self.subTest(program=program, world=world, width=width):
                    self.show_at(width, height)
                    self.open_run(program, "--world", world)
                    self.assert_fits()

    def test_on_a_phone_details_open_and_close(self):
        self.show_at(390, 844)
        self.open_deadlock()
        self.assertFalse(self.find("#details").is_displayed())
        row = self.find("tr[data-node='1']")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", row)
        row.click()
        self.assertIn("tp[0,1]", self.details())
        self.find("#details .close").click()
        self.assertFalse(self.find("#details").is_displayed())

    def test_the_screen_is_not_blank_in_either_colour_scheme(self):
        self.open_deadlock()
        corners = {}
        for scheme in ("light", "dark"):
            self.prefer_colours(scheme)
            rows = self.screenshot()
            colours = {pixel for row in rows for pixel in row}
            self.assertGreater(len(colours), 50, scheme)
            corners[scheme] = sum(rows[-1][1])
        self.assertGreater(corners["light"], 3 * 200)
        self.assertLess(corners["dark"], 3 * 60)

    def test_a_run_that_holds_says_so(self):
        self.open_run("ring", status=0)
        self.assertIn("Completed", self.find(".badge.holds").text)
        self.assertIn("nothing is blocked", self.find("h1").text)
        self.assertEqual(self.find_all(".node"), [])

    def test_faults_are_marked_where_they_struck(self):
        self.open_run(ROOT / "tests/scenarios/stall_inside.toml", status=0)
        self.assertIn("every rank that the faults left", self.find("h1").text)
        self.assertIn("Faults", self.find(".advice").text)
        mark = self.find(".lane .fault")
        struck = [len(lane.find_elements(By.CSS_SELECTOR, ".fault"))
                  for lane in self.find_all(".lane")]
        self.assertEqual(sorted(struck), [0] * 7 + [1], "one rank of eight was struck, once")
        mark.click()
        for text in ("stall", "Virtual time", "In the plan"):
            self.assertIn(text, self.details())
        self.assertIn("chosen", mark.get_attribute("class"))
        self.find("button.chip[data-fault='0']").send_keys(Keys.ENTER)
        self.assertIn("chosen", self.find(".lane .fault").get_attribute("class"))
        self.assert_fits()

    def test_a_run_without_faults_has_no_marks(self):
        self.open_deadlock()
        self.assertEqual(self.find_all(".fault"), [])
        self.assertNotIn("a fault struck", self.find("main").text)

    def test_handled_errors_are_shown_apart_from_the_findings(self):
        def handle(report):
            report["handled"] = report["findings"] * 3
            report["handled"][1]["message"] = "<b id='bold'>Another error.</b>"
            report["findings"] = []
        self.open_edited(ROOT / "tests/programs/timeouts_fire.toml", handle)
        self.assertIn("Errors that the program handled", self.find("main").text)
        errors = self.find_all(".handled")
        self.assertEqual(len(errors), 3)
        self.assertIn("timed_out at ", errors[0].text)
        self.assertIn("timeouts_fire.toml:", errors[0].text)
        self.assertIn("<b id='bold'>", errors[1].text)
        self.assertEqual(self.find_all("#bold"), [])
        self.assert_fits()

    def test_contexts_that_leak_are_shown(self):
        def leave_behind(report):
            report["left_behind"] = [{"rank": rank, "context": "", "by": "unwinding"}
                                     for rank in (0, 1)]
        self.open_edited(ROOT / "tests/programs/missing_rank.toml", leave_behind)
        advice = self.find(".advice").text
        self.assertIn("Leaks", advice)
        self.assertIn("2 contexts could not be unwound", advice)
        self.assertIn("ranks 0-1", advice)
        self.assert_fits()

    def test_a_run_that_handles_and_leaks_nothing_says_nothing_about_it(self):
        self.open_deadlock()
        self.assertEqual(self.find_all(".handled"), [])
        self.assertNotIn("Leaks", self.find(".advice").text)

    def test_a_mismatch_and_its_consequences_are_shown(self):
        self.open_run(ROOT / "tests/programs/mismatch_count.toml")
        self.assertIn("mismatch_count", self.find("header").text)
        self.assertIn("What followed", self.find("main").text)
        self.assertTrue(self.find_all(".slice.failed"))


if __name__ == "__main__":
    unittest.main()
