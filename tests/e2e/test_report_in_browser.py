"""The report page in a real browser: it is quiet, asks nobody, sorts, filters, and reads in the
dark and on a phone.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

EVIL = "<img src=x onerror=alert(1)>"
SORT = """
(name, times) => {
  const frame = Array.from(document.querySelectorAll('#results .wide'))[0];
  const heads = Array.from(frame.querySelectorAll('th'));
  const at = heads.findIndex((head) => head.textContent === name);
  for (let i = 0; i < times; i++) heads[at].querySelector('button').click();
  const cells = Array.from(frame.querySelectorAll('tbody tr')).map((row) => row.cells[at]);
  return [heads[at].getAttribute('aria-sort'), cells.map((cell) => cell.textContent)];
}
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, made_up: ModuleType) -> Path:
    right = {f"method{i}": 0.95 - 0.13 * i for i in range(5)}
    study = made_up.Study(("one", "two"), right, (1,), names=(EVIL, "b & c"))
    root = tmp_path_factory.mktemp("report")
    made_up.write(root, study)
    found: Path = made_up.report(root)
    return found


def test_the_page_is_quiet_asks_nobody_and_runs_no_name(browser: Any, page: Path) -> None:
    browser.open(page)
    assert browser.run("document.querySelectorAll('table').length") > 5
    assert EVIL in browser.run("document.querySelector('#classes').textContent")
    assert browser.run("document.querySelectorAll('img[src=x]').length") == 0
    broken = "Array.from(document.images).filter((i) => !i.complete || !i.naturalWidth).length"
    assert browser.run(broken) == 0
    assert browser.requests() == []
    assert browser.trouble() == []


def test_a_click_on_a_column_sorts_by_number_and_another_turns_it_round(
    browser: Any, page: Path
) -> None:
    browser.open(page)
    falling, cells = browser.run(f"({SORT})('AA %', 1)")
    numbers = [float(cell.split()[0]) for cell in cells]
    assert falling == "descending"
    assert numbers == sorted(numbers, reverse=True)
    assert len(numbers) == 10
    rising, cells = browser.run(f"({SORT})('AA %', 1)")
    assert rising == "ascending"
    assert [float(cell.split()[0]) for cell in cells] == numbers[::-1]
    _, names = browser.run(f"({SORT})('method', 1)")
    assert names == sorted(names)


def test_the_keyboard_reaches_a_column_and_the_filter_hides_lines(browser: Any, page: Path) -> None:
    browser.open(page)
    browser.run("document.querySelector('#results th button').focus()")
    for kind in ("keyDown", "keyUp"):
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
        browser.call("Input.dispatchKeyEvent", type=kind, **key)
    assert browser.run("document.querySelector('#results th').getAttribute('aria-sort')")
    shown = """
    (() => {
      const input = document.querySelector('#results .filter input');
      input.value = 'two METHOD3';
      input.dispatchEvent(new Event('input'));
      const rows = Array.from(document.querySelectorAll('#results tbody tr'));
      return rows.filter((row) => row.offsetParent !== null).map((row) => row.textContent);
    })()
    """
    (line,) = browser.run(shown)
    assert "two" in line and "method3" in line


def _ground(browser: Any) -> int:
    """Return the brightness of the page's ground, 0 to 255."""
    colour = browser.run("getComputedStyle(document.body).backgroundColor")
    return int(colour.removeprefix("rgb(").split(",")[0])


def test_it_is_dark_where_that_is_wished_and_its_pictures_too(browser: Any, page: Path) -> None:
    # The mean brightness of the first picture's ink, drawn onto a canvas.
    drawn = """
    (() => {
      const image = document.querySelector('.picture img');
      const canvas = document.createElement('canvas');
      canvas.width = image.naturalWidth;
      canvas.height = image.naturalHeight;
      const context = canvas.getContext('2d');
      context.drawImage(image, 0, 0);
      const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
      let sum = 0, count = 0, clear = 0;
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] > 200) { sum += data[i] + data[i + 1] + data[i + 2]; count += 3; }
        if (data[i + 3] === 0) clear += 1;
      }
      return [sum / count, clear / (data.length / 4)];
    })()
    """
    browser.open(page)
    light, (light_ink, clear) = _ground(browser), browser.run(drawn)
    browser.open(page, dark=True)
    dark, (dark_ink, _) = _ground(browser), browser.run(drawn)
    assert light > 240 and dark < 40
    assert clear > 0.5  # the page's ground shows through
    assert dark_ink > light_ink + 30


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen_and_what_is_cut_says_so(
    browser: Any, page: Path, width: int
) -> None:
    browser.open(page, width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    cut = """
    Array.from(document.querySelectorAll('.wide, .picture')).map((frame) => [
      frame.scrollWidth > frame.clientWidth + 1,
      frame.previousElementSibling.classList.contains('hint'),
      frame.previousElementSibling.offsetParent !== null,
    ])
    """
    found = browser.run(cut)
    assert all(hint and shown == is_cut for is_cut, hint, shown in found)
    assert any(is_cut for is_cut, *_ in found) or width > 1000


def test_the_name_of_a_class_stays_in_sight_on_a_phone(browser: Any, page: Path) -> None:
    browser.open(page, 390)
    moved = """
    (() => {
      const frame = document.querySelector('#classes .wide');
      frame.scrollLeft = frame.scrollWidth;
      const cell = frame.querySelector('tbody tr').cells[1];
      const inside = cell.getBoundingClientRect().left - frame.getBoundingClientRect().left;
      return [frame.scrollLeft, inside, cell.scrollWidth - cell.clientWidth];
    })()
    """
    scrolled, inside, cut = browser.run(moved)
    assert scrolled > 100
    assert abs(inside) <= 1
    assert cut <= 1


def test_a_replay_has_a_section_of_its_own(
    browser: Any, tmp_path: Path, made_up: ModuleType
) -> None:
    made_up.write(tmp_path, made_up.Study(("one",), {"taam": 0.9}, (1,)))
    made_up.replay(tmp_path, "grow", ("analytic", "finetune"))
    browser.open(made_up.report(tmp_path), 390)
    text = browser.run("document.querySelector('#streams').textContent")
    assert "prequential" in text and "no grouped and no mixed" in " ".join(text.split())
    drawn = "document.querySelector('#streams img').naturalWidth > 0"
    assert browser.run(drawn)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    assert browser.trouble() == []
