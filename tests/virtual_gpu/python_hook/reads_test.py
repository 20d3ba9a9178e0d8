#!/usr/bin/env python3
"""The start-up hook's messages about a line that reads a value, and about a loop. No torch."""

from __future__ import annotations

import contextlib
import io
import math
import struct
import sys
import unittest
from pathlib import Path

HOOK = Path(__file__).resolve().parents[3] / "virtual_gpu/python_hook"
sys.path.insert(0, str(HOOK))
import headroom_answers  # noqa: E402
import headroom_reads  # noqa: E402
import headroom_uses  # noqa: E402

found: list[tuple[str, str]] = []


class Value:
    """Reads where a tensor of the card would."""

    def read(self):
        found.append(headroom_uses.of_frame(sys._getframe(2)))

    def item(self):
        self.read()
        return 0

    def nonzero(self):
        self.read()
        return self

    def __bool__(self):
        self.read()
        return False

    def __index__(self):
        self.read()
        return 0

    def __float__(self):
        self.read()
        return 0.0

    def __format__(self, text):
        self.read()
        return "0"

    def __eq__(self, other):
        return self


v = Value()


def in_conditions():
    if v.item() > 1:
        pass
    if v == 0:
        pass
    while not v:
        break
    [x for x in (1,) if v.item()]
    for _ in range(v.item()):
        pass
    return 1 if v else 2


def in_indexes():
    [1, 2][v]
    (4, 5)[v.item()]
    "ab"[: v.item()]


def in_prints():
    print("", end=f"{v}")
    print("" * v.item(), end="")
    f"{v.item():.3f}".format(round(v.item(), 2))
    total = 0.0
    total += v.item()
    mean = total / 2
    print(f"{mean:.1f}"[:0], end="")


def in_texts_with_more_in_them():
    print(f"loss {v.item():.3f}"[:0], end="")
    print(f"loss {v.item() / 2:.3f} of {len('abc')}"[:0], end="")
    print(f"step {len('abc')}: {v.item()} and {v.item() * 2}"[:0], end="")
    print(f"step {v} of {v}"[:0], end="")


def in_names_that_decide():
    best = v.item()
    worst = best * 2
    print(worst, end="\r")
    if worst < 3:
        pass


def in_tests_by_another_way():
    while (n := v.item()) > 1:
        pass
    if any(x.item() > 0 for x in (v, v)):
        pass
    if not math.isfinite(v.item()):
        pass
    if math.log(v.item() + 1) > 3:
        pass
    match n:
        case _ if v.item():
            pass


done = 0


def in_a_name_of_the_module():
    global done
    done = v.item()


def until_done():
    while done:
        pass


def in_walruses_that_are_printed():
    print("" * (n := v.item()), end="")
    print("" * n, end="")
    math and print("" * v.item(), end="")


def that_are_not_known():
    history = []
    history.append(v.item())
    history += [v.item()]
    v.nonzero()

    class Held:
        value = v.item()

    n, Held.other = v.item(), 1
    print("" * n, end="")
    return v.item()


@unittest.skipIf(sys.version_info < (3, 11), "columns are known from Python 3.11 on")
class Uses(unittest.TestCase):
    def uses(self, function):
        found.clear()
        function()
        return found

    def test_tests_loops_and_short_forms_are_conditions(self):
        self.assertEqual(self.uses(in_conditions), [
            ("item", "condition"), ("bool", "condition"), ("bool", "condition"),
            ("item", "condition"), ("item", "condition"), ("bool", "condition")])

    def test_indexes_and_slices_are_indexes(self):
        self.assertEqual([use for _, use in self.uses(in_indexes)], ["index"] * 3)

    def test_what_is_printed_also_by_way_of_names_steers_nothing(self):
        self.assertEqual({use for _, use in self.uses(in_prints)}, {"printed"})
        self.assertEqual(len(found), 5)

    def test_a_text_with_words_and_other_values_around_a_value_is_printed(self):
        self.assertEqual(
            self.uses(in_texts_with_more_in_them),
            [("item", "printed")] * 4 + [("format", "printed")] * 2,
        )

    def test_a_name_that_is_tested_later_is_a_condition(self):
        self.assertEqual(self.uses(in_names_that_decide), [("item", "condition")])

    def test_a_test_is_found_behind_a_walrus_a_function_of_the_value_and_a_guard(self):
        self.assertEqual([use for _, use in self.uses(in_tests_by_another_way)], ["condition"] * 6)
        self.assertEqual({use for _, use in self.uses(in_walruses_that_are_printed)}, {"printed"})

    def test_a_name_of_the_module_is_followed_through_all_of_it(self):
        self.assertEqual(self.uses(in_a_name_of_the_module), [("item", "condition")])

    def test_a_value_that_leaves_the_line_in_another_way_is_not_known(self):
        names = [operation for operation, _ in self.uses(that_are_not_known)]
        self.assertEqual(names, ["item", "item", "nonzero", "item", "item", "item"])
        self.assertEqual([use for _, use in found], [""] * 6)

    def test_code_without_a_file_is_not_known(self):
        found.clear()
        exec("if v.item():\n  pass")
        self.assertEqual(found, [("", "")])


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Loops(unittest.TestCase):
    def test_a_thousand_reads_at_no_new_line_are_said_and_then_ten_thousand(self):
        loop = headroom_reads.Loop(Clock())
        said = [n for n in range(1, 20001) if loop.note(n == 1, True)]
        self.assertEqual(said, [1000, 10000])

    def test_a_new_line_begins_anew_and_reads_that_decide_nothing_here_wait_longer(self):
        loop = headroom_reads.Loop(Clock())
        self.assertFalse(any(loop.note(n % 900 == 0, True) for n in range(5000)))
        loop = headroom_reads.Loop(Clock())
        said = [n for n in range(1, 20001) if loop.note(n == 1, False)]
        self.assertEqual(said, [10000])

    def test_the_lines_of_a_loop_are_named_tests_first_and_prints_not_at_all(self):
        reads, said = headroom_reads.Reads(), io.StringIO()
        places = []
        for line, use in (("a.py:1", ""), ("a.py:2", "condition"), ("a.py:3", "printed")):
            place = headroom_reads.Place(None)
            place.line = place.where = line
            place.use = use
            places.append(place)
            reads.loop.note(True, True, place)
        for place in places * 2:
            reads.loop.note(False, True, place)
        with contextlib.redirect_stderr(said):
            reads.say_loop(7)
        self.assertIn("7 reads of device values in a row, none at a new line: at a.py:2 and "
                      "a.py:1; ",
                      said.getvalue())
        self.assertIn("--value 'a.py:2=1' answers the first", said.getvalue())

    def test_slow_reads_are_said_after_ten_seconds_and_ever_more_rarely(self):
        clock = Clock()
        loop = headroom_reads.Loop(clock)
        said = []
        for n in range(1, 900):
            clock.now += 0.25
            if loop.note(n == 1, True):
                said.append(clock.now)
        self.assertEqual(said, [12.5, 59.25])  # of 50 reads; then 4 times 12.25 s and 10 s


class Answers(unittest.TestCase):
    def answer(self, *numbers):
        return headroom_answers.Answer(
            {"text": "", "file": "b/train.py", "line": 7, "numbers": list(numbers)})

    def test_numbers_are_given_in_turn_and_the_last_one_stays(self):
        answer = self.answer(("0", 2), ("1.5", 1), ("3", 1))
        self.assertEqual([answer.next() for _ in range(6)], [0, 0, 1.5, 3, 3, 3])

    def test_a_file_is_named_by_the_end_of_its_path(self):
        answer = self.answer(("1", 1))
        self.assertTrue(answer.is_for("/a/b/train.py", 7))
        self.assertTrue(answer.is_for("b/train.py", 7))
        self.assertFalse(answer.is_for("/a/b/train.py", 8))
        self.assertFalse(answer.is_for("/ab/train.py", 7))

    def test_numbers_are_written_as_the_tensors_type_has_them(self):
        element = headroom_answers._element
        self.assertEqual(element(2, "?"), b"\1")
        self.assertEqual(element(1, "bfloat16"), b"\x80\x3f")
        self.assertEqual(element(3, "e"), struct.pack("<e", 3))
        self.assertEqual(element(-1.0, "q"), struct.pack("<q", -1))
        with self.assertRaises(struct.error):
            element(300, "B")


if __name__ == "__main__":
    unittest.main()
