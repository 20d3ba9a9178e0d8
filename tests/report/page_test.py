#!/usr/bin/env python3
"""The page of headroom report in a browser: figures, keys, search, hostile names, colours, widths.

usage: page_test.py HEADROOM [unittest arguments]

Needs Debian's chromium, and is skipped (exit 77) where there is none. HEADROOM_SCREENSHOTS=FOLDER
keeps pictures of the page.
"""

import json
import os
import pickle
import re
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from at_night import IS_NIGHT  # noqa: E402
from browser import Browser, find_chromium  # noqa: E402
from made_snapshot import BASE, MIB, hostile_snapshot, long_snapshot, snapshot_of  # noqa: E402

HEADROOM = ""
RUN = ["--model-size", "small", "--profile-type", "training", "--device", "virtual:h200"]
KEY = """(() => {
  const chart = document.getElementById('chart');
  chart.dispatchEvent(new KeyboardEvent('keydown', {key: '%s'}));
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
})()"""


def setUpModule():
    global FOLDER, RECORD, BROWSER
    BROWSER = Browser()
    unittest.addModuleCleanup(BROWSER.close)
    FOLDER = Path(unittest.enterModuleContext(tempfile.TemporaryDirectory()))
    run = subprocess.run([HEADROOM, "profile", *RUN, "--snapshot", FOLDER / "run.pickle", "--format", "json"],
                         capture_output=True, text=True, check=True)
    RECORD = json.loads(run.stdout)
    (FOLDER / "run.jsonl").write_text(run.stdout)
    second = subprocess.run([HEADROOM, "profile", *RUN, "--context-length", "1024", "--format", "json"],
                            capture_output=True, text=True, check=True)
    (FOLDER / "two.jsonl").write_text(run.stdout + second.stdout)
    report("run.html", "run.pickle", "two.jsonl")


def report(name, *files):
    subprocess.run([HEADROOM, "report", *files, "--output", name], cwd=FOLDER, check=True, capture_output=True)
    return FOLDER / name


class Page(unittest.TestCase):
    def open(self, name="run.html", **looks):
        BROWSER.open(FOLDER / name, **looks)
        return BROWSER

    def text(self, browser, name):
        return browser.value(f"document.getElementById('{name}').textContent")

    def drawn_peak(self, browser):
        return int(browser.value("document.getElementById('chart').dataset.drawnPeak"))

    def test_the_peak_drawn_is_the_peak_printed_and_the_records(self):
        browser = self.open()
        peak = RECORD["recorded_peak"]["requested_bytes"]
        self.assertEqual(self.drawn_peak(browser), peak)
        self.assertEqual(int(browser.value("document.getElementById('peak').dataset.bytes")), peak)
        self.assertIn(f"({peak:,} bytes)", self.text(browser, "facts"))
        self.assertIn(f"({peak:,} bytes)", self.text(browser, "cursor"))
        self.assertEqual(self.text(browser, "problems"), "")
        for _ in range(6):  # zoomed in at the peak, it is still drawn
            browser.value(KEY % "p")
            browser.value(KEY % "+")
        browser.value(KEY % "p")
        self.assertEqual(self.drawn_peak(browser), peak)

    def test_by_time_the_peak_is_the_same(self):
        browser = self.open()
        browser.value("(document.getElementById('axis').value = 'time', document.getElementById('axis').onchange())")
        self.assertEqual(self.drawn_peak(browser), RECORD["recorded_peak"]["requested_bytes"])
        browser.value("(document.getElementById('colour-by').value = 'line',"
                      " document.getElementById('colour-by').onchange())")
        self.assertEqual(self.drawn_peak(browser), RECORD["recorded_peak"]["requested_bytes"])

    def test_it_opens_from_a_file_and_loads_nothing(self):
        browser = self.open()
        self.assertEqual(browser.console, [])
        self.assertEqual([url for url in browser.requests if not url.startswith(("file://", "data:"))], [])
        linked = browser.value("[...document.querySelectorAll('[src], [href], [action]')].map("
                               "(one) => one.src ?? one.href ?? one.action)")
        self.assertEqual([link for link in linked if not link.startswith("data:")], [])
        page = (FOLDER / "run.html").read_text()
        elements = re.sub(r"<script\b.*?</script>", "", page, flags=re.DOTALL)
        self.assertNotRegex(elements, r"\b(src|href|action)=|url\(|@import")

    def test_keys_move_the_chart_and_the_cursor(self):
        browser = self.open()
        browser.value(KEY % "+")
        browser.value(KEY % "ArrowRight")
        self.assertNotEqual(self.drawn_peak(browser), 0)
        before = self.text(browser, "cursor")
        browser.value(KEY % ".")
        self.assertNotEqual(self.text(browser, "cursor"), before)
        browser.value(KEY % ",")
        self.assertEqual(self.text(browser, "cursor"), before)
        browser.value(KEY % "0")
        self.assertEqual(self.drawn_peak(browser), RECORD["recorded_peak"]["requested_bytes"])

    def test_the_pointer_zooms_and_moves_the_cursor(self):
        browser = self.open()
        peak = self.drawn_peak(browser)
        box = browser.value("(({x, y, width}) => ({x, y, width}))(document.getElementById('chart').getBoundingClientRect())")
        left, right, middle = box["x"] + 0.6 * box["width"], box["x"] + 0.9 * box["width"], box["y"] + 150
        browser.mouse(("press", left, middle), ("move", left + 40, middle), ("move", right, middle),
                      ("release", right, middle))
        browser.wait(f"document.getElementById('chart').dataset.drawnPeak !== '{peak}'")
        self.assertLess(self.drawn_peak(browser), peak)
        before = self.text(browser, "cursor")
        browser.mouse(("press", left, middle), ("release", left, middle))
        browser.wait(f"document.getElementById('cursor').textContent !== {json.dumps(before)}")
        self.assertIn("in optimizer", self.text(browser, "cursor"))
        browser.value("document.getElementById('zoom-all').click()")
        self.assertEqual(self.drawn_peak(browser), peak)

    def test_a_block_says_its_origin(self):
        browser = self.open()
        browser.wait("document.getElementById('blocks').style.width !== ''")
        browser.value("document.getElementById('blocks').scrollIntoView({block: 'center'})")
        box = browser.value("(({x, y, width, height}) => ({x, y, width, height}))("
                            "document.getElementById('blocks').getBoundingClientRect())")
        # The highest addresses are those of the parameters, which were reserved first.
        browser.mouse(("move", box["x"] + box["width"] / 2, box["y"] + box["height"] - 5))
        browser.wait("document.getElementById('block').textContent.includes('live from')")
        self.assertRegex(self.text(browser, "block"), r"parameters.*live from before the recording to the end")

    def tree_sizes(self, browser):
        return browser.value("[...document.querySelectorAll('#tree > ul > li .item')].filter("
                             "(item) => item.closest('ul').parentElement.id === 'tree').map("
                             "(item) => item.querySelector('.name').textContent)")

    def test_the_tree_names_purposes_and_can_be_searched(self):
        browser = self.open()
        self.assertEqual(self.tree_sizes(browser)[:3], ["activations", "optimizer state", "parameters"])
        browser.value("(document.getElementById('search').value = 'layers.3.attn',"
                      " document.getElementById('search').oninput())")
        self.assertEqual(sorted(self.tree_sizes(browser)), ["optimizer state", "parameters"])
        browser.value("(document.getElementById('search').value = 'no such word',"
                      " document.getElementById('search').oninput())")
        self.assertIn("Nothing is live here", self.text(browser, "tree"))

    def test_framework_frames_are_hidden_until_they_are_wanted(self):
        browser = self.open()
        browser.value("(document.getElementById('order').value = 'innermost',"
                      " document.getElementById('order').onchange())")
        hidden = self.text(browser, "tree")
        self.assertNotIn("empty_generic", hidden)
        self.assertRegex(hidden, "libtorch: aten::")
        browser.value("(document.getElementById('framework').checked = true,"
                      " document.getElementById('framework').onchange())")
        self.assertNotEqual(self.text(browser, "tree"), hidden)

    def test_tables_are_sorted_and_copied(self):
        browser = self.open()
        column = "[...document.querySelectorAll('table.sortable')[0].tHead.rows[0].cells].findIndex(" \
                 "(cell) => cell.textContent === 'peak allocated')"
        sizes = f"[...document.querySelectorAll('table.sortable')[0].tBodies[0].rows].map(" \
                f"(row) => Number(row.cells[{column}].dataset.value))"
        press = f"document.querySelectorAll('table.sortable')[0].tHead.rows[0].cells[{column}]" \
                ".querySelector('button').click()"
        browser.value(press)
        upward = browser.value(sizes)
        self.assertEqual(upward, sorted(upward))
        self.assertEqual(upward[0], RECORD["peak_allocated_bytes"])
        browser.value(press)
        self.assertEqual(browser.value(sizes), upward[::-1])
        table = "rowsOf(document.querySelectorAll('table.sortable')[0], %s)"
        self.assertIn("| --- |", browser.value(f"kTableFormats.Markdown({table % 'false'})"))
        self.assertIn(r"context\_length", browser.value(f"kTableFormats.LaTeX({table % 'false'})"))
        self.assertIn(str(RECORD["peak_allocated_bytes"]), browser.value(f"kTableFormats.CSV({table % 'true'})"))
        self.assertIn("headroom profile --model-size small", browser.value("document.body.textContent"))

    def test_hostile_names_are_text(self):
        with open(FOLDER / "hostile.pickle", "wb") as file:
            pickle.dump(hostile_snapshot(), file, protocol=4)
        report("hostile.html", "hostile.pickle")
        browser = self.open("hostile.html")
        browser.value("(document.getElementById('order').value = 'stack', document.getElementById('order').onchange())")
        browser.wait("document.getElementById('tree').textContent.includes('<script>')")
        self.assertIsNone(browser.value("window.broken"))
        self.assertEqual(browser.console, [])
        self.assertIsNone(browser.value("document.querySelector('img[src=x]')"))
        self.assertIn("1.000 GiB", self.text(browser, "ooms"))

    def test_it_fits_narrow_and_wide_pages_in_both_schemes(self):
        papers = set()
        for width in (1280, 390):
            for dark in (False, True):
                with self.subTest(width=width, dark=dark):
                    browser = self.open(width=width, dark=dark)
                    self.assertLessEqual(browser.value("document.documentElement.scrollWidth"), width)
                    papers.add(browser.value("getComputedStyle(document.body).backgroundColor"))
                    if "HEADROOM_SCREENSHOTS" in os.environ:
                        name = f"report_{width}_{'dark' if dark else 'light'}.webp"
                        browser.screenshot(Path(os.environ["HEADROOM_SCREENSHOTS"]) / name, most=1060)
        self.assertEqual(len(papers), 2)

    def test_paper_is_narrow_and_white_in_both_schemes(self):
        for dark in (False, True):
            with self.subTest(dark=dark):
                browser = self.open(dark=dark)
                widths = "['chart', 'blocks', 'segments'].map((id) => document.getElementById(id).clientWidth)"
                cut = ("[...document.querySelectorAll('.wide')].filter((place) => place.scrollWidth > "
                       "place.clientWidth + 1).length")
                self.assertGreater(browser.value(cut), 0)
                before = browser.value(widths)
                paper = browser.value(f"(dispatchEvent(new Event('beforeprint')), [pageColour('ink'), {widths}])")
                self.assertEqual(paper[0], "#000")
                self.assertEqual(browser.value(cut), 0)
                self.assertLessEqual(max(paper[1]), 660)
                self.assertTrue(browser.value("(({width, height}, context) => context.getImageData(0, 0, width, height)"
                                              ".data.some((value) => value > 0))(...((canvas) => [canvas, "
                                              "canvas.getContext('2d')])(document.querySelectorAll('#chart canvas')[0]))"))
                self.assertEqual(browser.value(f"(dispatchEvent(new Event('afterprint')), {widths})"), before)

    def test_every_moment_adds_up(self):
        browser = self.open()
        wrong = browser.value("""(async () => {
          const [facts] = await readFacts();
          const shown = new Snapshot(facts, 0, await inflatedBytes("snapshot-0-0"));
          const {history} = shown;
          const groups = [shown.groups("purpose"), shown.groups("line")];
          const extremes = new Extremes(history.total);
          const wrong = [];
          for (let position = 0; position <= history.events; position += 37) {
            const sums = groups.map((of) => of.at(position).reduce((sum, bytes) => sum + bytes, 0));
            sums.push(history.liveBlocks(position).reduce((sum, block) => sum + history.sizeOf(block), 0));
            if (sums.some((sum) => sum !== history.total[position])) wrong.push([position, sums]);
            const end = Math.min(history.events + 1, position + 1 + (position * 31) % 5000);
            const range = history.total.slice(position, end);
            if (range[extremes.indexOfMax(position, end) - position] !== Math.max(...range)) wrong.push([position, end]);
            if (range[extremes.indexOfMin(position, end) - position] !== Math.min(...range)) wrong.push([position, end]);
          }
          return wrong;
        })()""")
        self.assertEqual(wrong, [])

    def test_columns_hold_every_moment_once_and_a_pan_keeps_them(self):
        with open(FOLDER / "columns.pickle", "wb") as file:
            pickle.dump(long_snapshot(40_000), file, protocol=4)
        report("columns.html", "columns.pickle")
        browser = self.open("columns.html")
        found = browser.value("""(async () => {
          const [facts] = await readFacts();
          const {history} = new Snapshot(facts, 0, await inflatedBytes("snapshot-0-0"));
          const timeline = new Timeline(history);
          const wrong = [];
          const made = [];
          const point = timeline.point;
          timeline.point = (...range) => { made.push(range); return point.apply(timeline, range); };
          for (const byTime of [false, true]) {
            timeline.setByTime(byTime);
            const {end} = timeline;
            for (const width of [end, 0.7 * end, end / 3, end / 50, end / 5000]) {
              for (let x0 = 0; x0 + width <= end; x0 += 0.23 * width) {
                const points = timeline.pointsBetween(x0, x0 + width, 500);
                let next = Math.min(timeline.positionAt(x0), timeline.firstFrom(x0));
                for (const {begin, end, top, low, x} of points) {
                  const values = history.total.slice(begin, end);
                  const isRight = begin === next && x >= x0 && x <= x0 + width &&
                    history.total[top] === Math.max(...values) && history.total[low] === Math.min(...values);
                  if (!isRight) wrong.push([byTime, width, x0, begin, end]);
                  next = end;
                }
                if (next !== timeline.positionAt(x0 + width) + 1 || points.length > 502) wrong.push([x0, width]);
                if (x0 + 3 * width > end && x0 > 0) break;
              }
            }
          }
          timeline.setByTime(true);  // two events at a window's beginning: both are in it
          const twice = history.time.findIndex((time, i) => i > 0 && time === history.time[i - 1]);
          const [{begin}] = timeline.pointsBetween(history.time[twice], timeline.end, 500);
          if (begin !== twice - 1) wrong.push(["twice", begin, twice]);
          timeline.setByTime(false);
          timeline.pointsBetween(5000, 15000, 500);
          const first = made.length;
          timeline.pointsBetween(7000, 17000, 500);
          const second = made.length;
          return {wrong, ofAPan: second - first};
        })()""")
        self.assertEqual(found["wrong"], [])
        self.assertLessEqual(found["ofAPan"], 103)  # a fifth of the columns, and parts of columns at the ends

    def test_a_snapshot_without_events_still_opens(self):
        for name, snapshot in (("still", snapshot_of([], {BASE: (MIB, [])}, 2 * MIB, [])),
                               ("empty", {"segments": [], "device_traces": []})):
            with self.subTest(name), open(FOLDER / f"{name}.pickle", "wb") as file:
                pickle.dump(snapshot, file, protocol=4)
        report("still.html", "still.pickle")
        browser = self.open("still.html")
        self.assertIn("(1,048,576 bytes), before the first event", self.text(browser, "facts"))
        self.assertEqual(browser.console, [])
        report("empty.html", "empty.pickle")
        browser = self.open("empty.html")
        self.assertIn("empty.pickle", self.text(browser, "status"))
        self.assertEqual(browser.console, [])

    def test_an_old_snapshot_has_no_times(self):
        snapshot = long_snapshot(2000)
        for event in snapshot["device_traces"][0]:
            del event["time_us"]
        for block in snapshot["segments"][0]["blocks"]:
            del block["address"]
        for key in ("external_annotations", "allocator_settings"):
            del snapshot[key]
        with open(FOLDER / "old.pickle", "wb") as file:
            pickle.dump(snapshot, file, protocol=2)
        report("old.html", "old.pickle")
        browser = self.open("old.html")
        self.assertTrue(browser.value("document.getElementById('axis').disabled"))
        self.assertRegex(self.text(browser, "facts"), r"at event [0-9,]+ of 2,000\.")
        self.assertEqual([*browser.console, self.text(browser, "problems")], [""])

    def test_several_snapshots_are_chosen_from_a_list(self):
        with open(FOLDER / "other.pickle", "wb") as file:
            pickle.dump(long_snapshot(500), file, protocol=4)
        report("both.html", "run.pickle", "other.pickle")
        browser = self.open("both.html")
        first = self.text(browser, "facts")
        browser.value("(document.getElementById('snapshot-choice').value = '1',"
                      " document.getElementById('snapshot-choice').onchange())")
        browser.wait(f"document.getElementById('facts').textContent !== {json.dumps(first)}")
        self.assertIn("500 events", self.text(browser, "facts"))
        self.assertEqual(browser.console, [])

    # Times are of this machine, which may be busy: they are printed, and only bytes are compared.
    @unittest.skipUnless(IS_NIGHT, "a million events")
    def test_a_million_events_stay_small(self):
        with open(FOLDER / "long.pickle", "wb") as file:
            pickle.dump(long_snapshot(1_000_000), file, protocol=4)
        page = report("long.html", "long.pickle")
        self.assertLess(page.stat().st_size, 5e6)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 1 << 20)  # KiB
        browser = self.open("long.html")
        self.assertEqual(self.text(browser, "problems"), "")
        ready = browser.value("performance.now()")
        pans = browser.value("""(() => Array.from({length: 11}, (_, i) => {
          const begin = performance.now();
          const key = i < 3 ? "+" : i % 2 ? "ArrowRight" : "ArrowLeft";
          document.getElementById('chart').dispatchEvent(new KeyboardEvent('keydown', {key}));
          return performance.now() - begin;
        }).slice(3).sort((a, b) => a - b))()""")
        print(f"a million events: {page.stat().st_size} bytes, ready after {ready:.0f} ms, "
              f"pans in {pans[0]:.0f} to {pans[-1]:.0f} ms, median {pans[len(pans) // 2]:.0f} ms")


if __name__ == "__main__":
    HEADROOM = str(Path(sys.argv[1]).resolve())
    if find_chromium() is None:
        print("skipped: the page is tested in chromium, which is not installed (Debian: apt-get install chromium)")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
