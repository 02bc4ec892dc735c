"""On a narrow page the panel is a sheet at the bottom. What it covers is empty."""

import numpy as np
import pytest

from ascpo.guard.suites import ARENA
from ascpo.replay.narrow import WIDTH, above_panel, free_size, view

PAPER = (1, 2, 3)


def seen(point, width, height):
    """Where a camera with 45 degrees of height sees a point: pixels from the left and from the top."""
    eye, target = (np.array(part) for part in view(width, height, ARENA))
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.array([1.0, 0.0, 0.0])
    up = np.cross(right, forward)
    offset = np.array(point) - eye
    unit = height / 2 / np.tan(np.pi / 8) / (offset @ forward)
    return width / 2 + offset @ right * unit, height / 2 - offset @ up * unit


@pytest.mark.parametrize(("width", "height"), [(400, 800), (360, 640), (WIDTH, 900), (890, 900), (1600, 900)])
def test_the_whole_arena_is_visible_beside_or_above_the_panel(width, height):
    for x in (-ARENA, ARENA):
        for y in (-ARENA, ARENA):
            left, top = seen((x, y, 0.0), width, height)
            assert 0.03 * width < left < 0.97 * width
            assert 0.02 * height < top < 0.99 * free_size(width, height)[1]


def test_the_panel_leaves_a_wide_page_free_and_covers_half_of_a_narrow_one():
    assert free_size(1000, 600) == (1000, 600)
    assert free_size(400, 800) == (400, 400)


def test_an_image_stands_above_the_panel_and_keeps_its_proportions():
    image = np.full((400, 400, 3), 9, np.uint8)
    whole = above_panel(image, (400, 800), PAPER)
    assert whole.shape == (800, 400, 3)
    assert (whole[:400] == 9).all()
    assert (whole[400:] == PAPER).all()
    assert above_panel(image, (1000, 1000), PAPER).shape == image.shape
