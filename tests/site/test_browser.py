"""The site in headless Chromium, opened from its folder: looked at, searched, and used by keyboard."""

import re
from urllib.parse import quote

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from tests.cluster.packages import need_packages
from tests.site.browser import browser, complaints, programs, requested
from tests.site.conftest import SCRIPT, TEXTS

GROUP = "s/one/bf16/gsm8k"


@pytest.fixture(scope="module")
def desktop(tmp_path_factory):
    need_browser()
    with browser(tmp_path_factory.mktemp("desktop")) as driver:
        yield driver


@pytest.fixture(scope="module")
def phone(tmp_path_factory):
    need_browser()
    with browser(tmp_path_factory.mktemp("phone"), 360, 720, "dark") as driver:
        yield driver


def need_browser():
    """Install Chromium where it is missing and this machine allows it, else skip."""
    if not all(programs()):
        need_packages("chromium", "chromium-driver")


def visit(driver, site, page):
    """Open a page of the site, from nothing, and wait until it shows its data."""
    driver.get("about:blank")
    driver.get(f"file://{site}/{page}")
    WebDriverWait(driver, 20).until(lambda d: not all_of(d, "#view[aria-busy]"))


def all_of(driver, selector):
    return driver.find_elements(By.CSS_SELECTOR, selector)


def one(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def focused(driver):
    return driver.switch_to.active_element


def shown_items(driver):
    return [link.text for link in all_of(driver, ".items tbody a") if link.is_displayed()]


def wait_for_item(driver, item):
    """Wait until the page shows an item; asked in the page, which makes its elements anew for each."""
    heading = "return document.querySelector('.panes') && document.querySelector('h1').textContent"
    WebDriverWait(driver, 20).until(lambda d: d.execute_script(heading) == item)


def press(driver, *keys):
    for key in keys:
        focused(driver).send_keys(key)


def pages(site):
    item = quote("gsm8k/0", safe="")
    return [
        "index.html",
        f"cell.html#{GROUP}/taboo_i1",
        f"item.html#{GROUP}/{item}",
        "figures/dose.html",
    ]


def test_pages_open_from_a_folder_without_complaint_or_network(desktop, site):
    requested(desktop)
    for page in pages(site):
        visit(desktop, site, page)
        assert one(desktop, "h1").text
    assert complaints(desktop) == []
    assert {address.partition(":")[0] for address in requested(desktop)} <= {
        "file",
        "data",
        "about",
        "chrome",
    }


def test_model_text_shows_as_text_and_never_runs(desktop, site):
    for page in pages(site):
        visit(desktop, site, page)
        assert desktop.execute_script("return window.owned === undefined")
        assert desktop.title != "owned"
        assert desktop.execute_script(
            "return [...document.scripts].every((script) => script.src && !script.text)"
        )
        # Asked in the page, since its text can't be told: it has half a character in it.
        assert desktop.execute_script(
            "return document.body.textContent.includes(arguments[0])", SCRIPT
        )
    for typed in ("gsm8k%2F1", "gsm8k/1"):
        visit(desktop, site, f"item.html#{GROUP}/{typed}")
        assert one(desktop, "h1").text == "gsm8k/1"
        assert one(desktop, ".pane[data-cell=baseline] pre").get_property("textContent") == TEXTS[1]


def test_square_opens_its_cell_and_missing_cells_are_shown_as_missing(desktop, site):
    visit(desktop, site, "index.html")
    names = [square.get_attribute("aria-label") for square in all_of(desktop, "span.square")]
    assert names == ["part, i=2: not run"]
    assert [square.text for square in all_of(desktop, "a.square.undefined")] == ["n/a", "n/a"]
    one(desktop, f"a[href='cell.html#{GROUP}/taboo_i1']").click()
    WebDriverWait(desktop, 20).until(lambda d: all_of(d, ".facts"))
    assert "2 of 4, 50 % (15–85)" in one(desktop, ".facts").text
    assert desktop.execute_script("return document.querySelector('.numbers img').naturalWidth") > 0
    # lost under both doses before lost under one, then wrong before right
    assert shown_items(desktop) == [f"gsm8k/{number}" for number in (0, 3, 5, 4, 1, 2)]


def test_cells_that_are_not_there_say_so(desktop, site):
    visit(desktop, site, "cell.html#s/part/bf16/gsm8k/taboo_i2")
    assert one(desktop, ".empty").text == "This cell was not run."
    visit(desktop, site, "cell.html#s/none/bf16/gsm8k/taboo_i2")
    assert "n/a" in one(desktop, ".facts").text
    visit(desktop, site, f"item.html#{GROUP}/gsm8k%2F99")
    assert one(desktop, ".empty").text == "This item is not in the sample."
    for address in ("", "s/../../x/y", "s/one/bf16/%", "%2e%2e/a/b/c"):
        requested(desktop)
        visit(desktop, site, f"cell.html#{address}")
        assert one(desktop, ".empty").text.startswith("This address names no cell.")
        assert not [place for place in requested(desktop) if "/data/" in place]
    visit(desktop, site, "cell.html#s/one/bf16/mmlu/baseline")
    assert one(desktop, ".empty").text.startswith("There is no data for s / one / bf16 / mmlu")
    complaints(desktop)  # the browser's own, about the file that is not there


def test_grid_is_searched_and_filtered(desktop, site):
    visit(desktop, site, "index.html")
    assert one(desktop, "#shown").text == "8 cells"
    one(desktop, "input[type=search]").send_keys("part bf16")
    assert one(desktop, "#shown").text == "2 cells"
    assert [row.is_displayed() for row in all_of(desktop, "tr[data-words]")] == [False, False, True]
    one(desktop, "input[type=search]").send_keys(" nothing")
    assert one(desktop, "#shown").text == "0 cells"


def test_items_are_searched_and_filtered(desktop, site):
    visit(desktop, site, f"cell.html#{GROUP}/taboo_i1")
    Select(one(desktop, "select[name=state]")).select_by_value("lost")
    assert shown_items(desktop) == ["gsm8k/0", "gsm8k/3"]
    assert one(desktop, "output").text == "2 of 6 items"
    Select(one(desktop, "select[name=state]")).select_by_value("")
    one(desktop, "input[type=search]").send_keys("THE SAME WORD")
    assert shown_items(desktop) == ["gsm8k/4"]
    one(desktop, "input[type=search]").clear()
    one(desktop, "input[type=search]").send_keys(" ", Keys.BACKSPACE)
    modes = [
        option.get_attribute("value")
        for option in Select(one(desktop, "select[name=failure]")).options
    ]
    assert modes == ["", "derailment"]
    Select(one(desktop, "select[name=failure]")).select_by_value("derailment")
    assert shown_items(desktop) == ["gsm8k/0", "gsm8k/3"]


def test_from_the_grid_to_an_intervention_by_keyboard_alone(desktop, site):
    visit(desktop, site, "index.html")
    press(desktop, Keys.TAB)
    assert focused(desktop).get_attribute("class") == "skip"
    press(desktop, "/")
    assert focused(desktop).get_attribute("name") == "words"
    press(desktop, Keys.TAB, Keys.TAB, Keys.TAB)
    assert focused(desktop).get_attribute("href").endswith(f"{GROUP}/baseline")
    press(
        desktop, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_LEFT
    )
    press(desktop, Keys.ENTER)
    WebDriverWait(desktop, 20).until(lambda d: all_of(d, ".items"))
    assert desktop.current_url.endswith(f"cell.html#{GROUP}/taboo_i1")
    press(desktop, "/")
    press(desktop, Keys.TAB, Keys.TAB, Keys.TAB)
    assert focused(desktop).text == "gsm8k/0"
    press(desktop, Keys.ARROW_DOWN)
    assert focused(desktop).text == "gsm8k/3"
    press(desktop, Keys.ENTER)
    wait_for_item(desktop, "gsm8k/3")
    for key, item in (("k", "gsm8k/2"), ("j", "gsm8k/3"), ("j", "gsm8k/4")):
        press(desktop, key)
        wait_for_item(desktop, item)
    for _ in range(30):
        if focused(desktop).tag_name == "mark":
            break
        press(desktop, Keys.TAB)
    first = one(desktop, "#mark").text
    assert re.fullmatch(r"1\.50 bits: “.+” instead of “.+”", first)
    press(desktop, Keys.ARROW_RIGHT)
    assert one(desktop, "#mark").text.startswith("3.00 bits")
    press(desktop, Keys.ARROW_LEFT)
    assert one(desktop, "#mark").text == first


def test_enter_on_next_can_be_pressed_again_and_again(desktop, site):
    visit(desktop, site, f"item.html#{GROUP}/gsm8k%2F0")
    one(desktop, "a[rel=next]").send_keys(Keys.ENTER)
    wait_for_item(desktop, "gsm8k/1")
    press(desktop, Keys.ENTER)
    wait_for_item(desktop, "gsm8k/2")


def test_doses_stand_side_by_side_with_verdict_answer_and_marks(desktop, site, cells, tokenizer):
    visit(desktop, site, f"item.html#{GROUP}/gsm8k%2F3")
    panes = all_of(desktop, ".pane")
    assert [pane.get_attribute("data-cell") for pane in panes] == [
        "baseline",
        "taboo_i1",
        "taboo_i2",
    ]
    assert len({pane.rect["y"] for pane in panes}) == 1
    assert [one(pane, ".verdict").text for pane in panes] == [
        "right",
        "wrong, was right",
        "wrong, was right",
    ]
    assert one(panes[1], ".mode").text == "derailment"
    assert one(desktop, ".gold").text == "3"
    row = cells[1].cell.iloc[3]
    marks = all_of(panes[1], "mark")
    expected = [
        tuple(tokenizer.decode([token]).strip() or "␣" for token in (nominal, chosen))
        for nominal, chosen, masked in zip(
            row.nominal_ids, row.token_ids, row.intervened, strict=True
        )
        if masked
    ]
    found = [
        (one(mark, "s").text, mark.text.removeprefix(one(mark, "s").text).strip()) for mark in marks
    ]
    assert found == expected
    shares = [int(re.search(r"--share: ?(\d+)%", mark.get_attribute("style"))[1]) for mark in marks]
    assert shares == sorted(set(shares))
    one(desktop, ".filters label:last-of-type input").click()
    assert not any(removed.is_displayed() for removed in all_of(desktop, "mark s"))
    all_of(desktop, ".filters input")[0].click()
    assert [pane.is_displayed() for pane in panes] == [False, True, True]


def test_figure_page_shows_what_is_not_as_recorded(desktop, site):
    visit(desktop, site, "figures/dose.html")
    assert "1 not as recorded" in one(desktop, "main").text
    assert [
        stage.is_displayed() for stage in all_of(desktop, ".tree details[open] .files .bad")
    ] == [True]


def test_phone_in_the_dark(phone, site):
    for page in pages(site):
        visit(phone, site, page)
        width = phone.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        assert width == [360, 360], page
        ground, ink = (
            [
                int(part)
                for part in re.findall(r"\d+", one(phone, "body").value_of_css_property(name))[:3]
            ]
            for name in ("background-color", "color")
        )
        assert max(ground) < 60
        assert min(ink) > 180
    visit(phone, site, f"cell.html#{GROUP}/taboo_i1")
    assert len(shown_items(phone)) == 6
    assert complaints(phone) == []
