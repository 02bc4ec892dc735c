"""The page of a replay in one browser: controls, text and plots. Its controls send commands for the player."""

import html
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ascpo.replay.episode import Episode, Line
from ascpo.replay.legend import legend, unit_of
from ascpo.replay.narrow import above_panel, free_size
from ascpo.replay.pictures import PAPER, SIZE, Curve, Drawing, draw_curves, padded
from ascpo.replay.player import Player
from ascpo.replay.viewer import Viewer

if TYPE_CHECKING:
    import viser
    from viser import uplot

Command = Callable[[Player], None]

SPEEDS = {"1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "4": 4.0}
_INK, _RED = {False: "#334155", True: "#cbd5e1"}, {False: "#dc2626", True: "#f87171"}
"""By whether the page is dark."""


def curves(episode: Episode) -> tuple[Curve, ...]:
    """Each cost, or its sum so far, with the limit on it, and the return."""
    record = episode.record
    costs = zip(record.cost_names, episode.limited.T, record.limits, strict=True)
    what = "cost" if record.limits_on == "state" else "cost so far"
    return (
        *(
            Curve(what if name == "cost" else f"{what}: {name}", cost, limit, unit_of(episode, name))
            for name, cost, limit in costs
        ),
        Curve("return so far", episode.returns),
    )


class Page:
    """Shows the state of a player."""

    def __init__(
        self,
        client: "viser.ClientHandle",
        heading: str,
        titles: list[str],
        send: Callable[[Command], None],
        *,
        dark: bool = False,
    ) -> None:
        self._client, self._titles, self._send, self._dark = client, titles, send, dark
        self._gui = gui = client.gui
        self._viewer: Viewer | None = None
        self._plots: list[tuple[Curve, viser.GuiUplotHandle]] = []
        self._shown: Episode | None = None
        self._drawing: Drawing | None = None
        self._filled: tuple[int, int] | None = None
        gui.configure_theme(show_logo=False, show_share_button=False, control_width="large", dark_mode=dark)
        gui.main_panel.dock_right()
        gui.set_panel_label(heading)
        self._chooser = gui.add_dropdown("Episode", self._titles, hint="The worst episode comes first.")
        self._violation = gui.add_html("")
        self._seek = gui.add_button("Go to the first violation", color="red")
        self._step = gui.add_slider("Step", min=0, max=1, step=1, initial_value=0, hint="The arrow keys move it too.")
        self._play = gui.add_button("Play")
        self._speed = gui.add_dropdown("Speed", tuple(SPEEDS), initial_value="1", hint="1 is 30 steps a second.")
        self._text = gui.add_html("")
        self._note = gui.add_html("", visible=False)
        self._legend = gui.add_html("", visible=False)
        self._chooser.on_update(self._listener(lambda player, chosen: player.choose(self._titles.index(chosen))))
        self._seek.on_click(self._listener(lambda player, _: player.seek_violation()))
        self._step.on_update(self._listener(Player.seek))
        self._play.on_click(self._listener(lambda player, _: player.toggle()))
        self._speed.on_update(self._listener(lambda player, chosen: player.set_speed(SPEEDS[chosen])))

    def _listener(self, act: Callable[[Player, Any], None]) -> Callable[["viser.GuiEvent"], None]:
        def on_event(event: "viser.GuiEvent") -> None:
            # Changes by the program itself have no client.
            if event.client_id is not None:
                if event.target is self._chooser:
                    self._text.content = self._html([Line("Playing the episode again ...")])
                value = event.target.value
                self._send(lambda player: act(player, value))

        return on_event

    def show_error(self, text: str) -> None:
        """Show an error until the page shows another episode."""
        self._note.content, self._note.visible = self._html([Line(text)]), True

    def show(self, player: Player) -> None:
        episode, head = player.episode, player.head
        with self._client.atomic():
            if episode is not self._shown:
                self._show_episode(episode)
            self._chooser.value = self._titles[player.index]
            self._step.value = head.step
            self._play.label = "Pause" if head.playing else "Play"
            self._text.content = self._html(episode.step_text(head.step))
            for curve, plot in self._plots:
                plot.data = curve.columns(head.step)
            if self._viewer is not None:
                self._viewer.show(head.step)
            elif (image := self._image(episode, head.step)) is not None:
                self._client.scene.set_background_image(image, format="jpeg", jpeg_quality=85)

    def _image(self, episode: Episode, step: int) -> np.ndarray | None:
        """The background for a user's own environment: its frame, or a drawing of the costs."""
        self._filled = self._size
        if episode.frames:
            return self._above(padded(episode.frame(step), free_size(*self._size), dark=self._dark))
        if self._drawing is None:
            return None
        height, width = self._drawing.image.shape[:2]
        if (width, height) != free_size(*self._size):
            self._drawing = draw_curves(curves(episode), free_size(*self._size), dark=self._dark)
        return self._above(self._drawing.at(step))

    def _above(self, image: np.ndarray) -> np.ndarray:
        """The image above a panel at the bottom."""
        return above_panel(image, self._size, PAPER[self._dark])

    @property
    def resized(self) -> bool:
        """Whether the image that fills the page was made for another size."""
        return self._filled is not None and self._filled != self._size

    @property
    def _size(self) -> tuple[int, int]:
        """The width and height of the part of the page that a panel at its side leaves, in pixels."""
        camera = getattr(self._client, "camera", None)
        if camera is None:
            return SIZE
        width, height = (min(max(side, 200), 2000) for side in (camera.image_width, camera.image_height))
        return width, height

    def _show_episode(self, episode: Episode) -> None:
        self._shown = episode
        self._violation.content = self._html([Line(episode.first_violation_text())])
        self._seek.disabled = episode.first_violation is None
        self._step.max = max(len(episode) - 1, 1)
        self._note.content, self._note.visible = self._html([Line(episode.note)]), bool(episode.note)
        if episode.task is not None and episode.poses is not None:
            self._viewer = self._viewer or Viewer(self._client, episode.task)
            self._viewer.set_episode(episode.poses, episode.violated)
            self._legend.content, self._legend.visible = legend(episode.task), True
        shown = curves(episode)
        drawn = not (episode.frames or episode.poses)
        self._drawing = draw_curves(shown, free_size(*self._size), dark=self._dark) if drawn else None
        # Plots are reused if they fit, because data for a removed plot is an error in the browser.
        if [curve.name for curve, _ in self._plots] == [curve.name for curve in shown]:
            self._plots = [(curve, plot) for curve, (_, plot) in zip(shown, self._plots, strict=True)]
            for curve, plot in self._plots:
                plot.scales = _scales(curve)
            return
        for _, plot in self._plots:
            plot.remove()
        self._plots = [(curve, self._plot(curve)) for curve in shown]

    def _plot(self, curve: Curve) -> "viser.GuiUplotHandle":
        red = _RED[self._dark]
        series: list[uplot.Series] = [
            {"label": "step"},
            {"label": curve.name, "stroke": _INK[self._dark], "width": 1.5, "points": {"show": False}},
            {"label": "now", "stroke": red, "points": {"show": True, "size": 9, "fill": red}},
            {"label": "limit", "stroke": red, "dash": (6, 4), "width": 1.5, "points": {"show": False}},
        ]
        columns, scales = curve.columns(0), _scales(curve)
        look = {"legend": {"show": False}, "height": 150, "padding": (12, 20, 0, 0)}
        return self._gui.add_uplot(columns, tuple(series[: len(columns)]), title=curve.title, scales=scales, **look)

    def _html(self, lines: Iterable[Line]) -> str:
        """Small text; alarms are red and bold. Names come from files, so that nothing in them is markup."""
        alarm = f"color: {_RED[self._dark]}; font-weight: bold"
        parts = (f'<div style="{alarm if line.alarm else ""}">{html.escape(line.text)}</div>' for line in lines)
        return f'<div style="font-size: 0.85em; line-height: 1.5; padding: 0 0.6em">{"".join(parts)}</div>'


def _scales(curve: Curve) -> dict[str, "uplot.Scale"]:
    return {"x": {"time": False}, "y": {"range": curve.range}}
