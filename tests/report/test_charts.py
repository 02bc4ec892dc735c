"""Figures a reader can use: named axes, one scale for pairs, themes, and plots to zoom."""

import json

import numpy as np
import pytest

from ascpo.report import style
from ascpo.report.charts import Chart, Line, library
from ascpo.report.data import find_runs
from ascpo.report.document import write_report
from ascpo.report.figures import draw
from ascpo.report.groups import groups_of
from ascpo.report.palette import themed
from ascpo.report.style import Plot, panel, same_scale
from ascpo.report.symbols import typeset
from tests.browser import messages, opened
from tests.report.made import QUANTILES, evaluated, made
from tests.slow import slow


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two algorithms with two seeds, of which one has much larger costs."""
    place = tmp_path_factory.mktemp("charts")
    for algo, scale in (("cpo", 1.0), ("scpo", 3.0)):
        for seed in (0, 1):
            quantiles = {name: scale * (0.1 + 0.1 * i) for i, name in enumerate(QUANTILES)}
            path = place / "runs" / f"{algo}{seed}"
            evaluated(made(path, algo=algo, seed=seed, epochs=6, EpRet=[seed, 1, 2, 3, 4, 5], **quantiles))
    return place


@pytest.fixture(scope="module")
def sections(place):
    return {section.anchor: section for section in draw(groups_of(find_runs([place / "runs"])))}


def test_every_figure_names_both_axes(sections):
    for section in sections.values():
        for plot in section.plots:
            axes = plot.figure.axes[0]
            named = axes.get_ylabel() or [tick.get_text() for tick in axes.get_yticklabels()]
            assert axes.get_xlabel(), plot.name
            assert named, plot.name


def test_symbols_have_real_subscripts_in_figures_and_in_the_page(sections):
    cost = next(plot for plot in sections["learning"].plots if plot.name == "epcost-steps")
    label = cost.figure.axes[0].yaxis.label
    assert label.get_text() == "cost, $M_c$"
    assert label.get_parse_math()
    assert typeset("cost, $M_c$ < 1") == "cost, <i>M</i><sub>c</sub> &lt; 1"
    assert typeset("$ν$") == "<i>ν</i>"


def test_figures_of_groups_share_a_scale_and_name_it(sections):
    for kind in ("fan", "bounds", "largest"):
        plots = [plot for section in sections.values() for plot in section.plots if plot.name.startswith(f"{kind}-")]
        assert len(plots) == 2
        assert len({plot.figure.axes[0].get_ylim() for plot in plots}) == 1
        assert all("the same vertical scale" in plot.caption for plot in plots)


def test_figures_that_are_too_different_for_one_scale_say_that_scales_differ():
    def plot(top):
        figure, axes = panel("a", "x", "y")
        axes.set_ylim(0.0, top)
        return Plot("a", "a", "Caption.", figure)

    with style.look():
        found = same_scale([plot(1.0), plot(1000.0)])
    assert [one.figure.axes[0].get_ylim()[1] for one in found] == [1.0, 1000.0]
    assert all("differs" in one.caption for one in found)


def test_the_colours_of_a_drawing_follow_the_theme():
    assert themed("fill: #ffffff; stroke: #1f6fb2") == "fill: var(--figure, #ffffff); stroke: var(--hue-0, #1f6fb2)"
    assert themed("fill: #123456") == "fill: #123456"


def test_lines_with_different_points_have_gaps_at_each_others():
    lines = (
        Line("a", 0, np.array([0.0, 2.0]), np.array([1.0, np.nan])),
        Line("b", 1, np.array([1.0]), np.array([5.0])),
    )
    found = json.loads(Chart("steps", "y", lines).numbers())
    assert found["points"] == [0.0, 1.0, 2.0]
    assert [line["middle"] for line in found["lines"]] == [[1.0, None, None], [None, 5.0, None]]


def test_the_library_comes_with_its_licence_and_without_an_address():
    script, _ = library()
    assert "Permission is hereby granted" in script
    assert "http" not in script.partition("*/")[0]
    assert len(script) < 60_000


@slow("a browser draws all plots of a page")
def test_a_reader_zooms_reads_values_and_hides_a_group(place):
    page = write_report([place / "runs"], place / "out")
    look = "const f = document.querySelector('#figure-epret-steps');"
    with opened(page.as_uri()) as driver:
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.by import By

        canvas = driver.find_element(By.CSS_SELECTOR, "#figure-epret-steps .u-over")
        driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", canvas)
        ActionChains(driver).move_to_element_with_offset(canvas, canvas.size["width"] // 2 - 2, 0).perform()
        said = driver.execute_script(look + "return [...f.querySelectorAll('.key')].map(k => k.innerText)")
        assert [words.split() for words in said] == [["cpo", "5"], ["scpo", "5"]]
        pixels = look + "return f.querySelector('canvas').toDataURL()"
        before = driver.execute_script(pixels)
        ActionChains(driver).move_to_element(canvas).click_and_hold().move_by_offset(80, 0).release().perform()
        zoomed = driver.execute_script(pixels)
        assert zoomed != before
        ActionChains(driver).double_click(canvas).perform()
        assert driver.execute_script(pixels) != zoomed
        driver.find_element(By.CSS_SELECTOR, "#figure-epret-steps .key").click()
        pressed = driver.execute_script(look + "return [...f.querySelectorAll('.key')].map(k => k.ariaPressed)")
        assert pressed == ["false", "true"]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        static = (
            look + "return [...f.children].filter(e => getComputedStyle(e).display !== 'none').map(e => e.localName)"
        )
        assert driver.execute_script(static) == ["svg", "figcaption"], "paper has the drawing"
        assert messages(driver) == []


@slow("a browser draws all plots of a page")
def test_a_narrow_page_shows_that_a_table_continues(place):
    page = write_report([place / "runs"], place / "out")
    with opened(page.as_uri(), size=(400, 800)) as driver:
        wide, shadows, width = driver.execute_script(
            "const s = document.querySelector('.scroll'); return [s.scrollWidth - s.clientWidth,"
            "getComputedStyle(s).backgroundImage.split('linear-gradient').length - 1,"
            "document.documentElement.scrollWidth]"
        )
    assert wide > 0
    assert shadows == 4
    assert width <= 400
