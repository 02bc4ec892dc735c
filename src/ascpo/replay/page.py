"""The page of a replay: a chooser, a slider, buttons, words and traces. What is done on it is put into a queue."""

import html
import queue
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ascpo.replay.player import Player
from ascpo.replay.stage import Stage
from ascpo.replay.story import Line
from ascpo.replay.tale import Tale
from ascpo.replay.traces import Trace, traces

if TYPE_CHECKING:
    import viser

Order = Callable[[Player], None]
"""Something that a person wants the player to do."""

SPEEDS = {"1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "4": 4.0}
_INK, _RED = "#334155", "#dc2626"


class Page:
    """Shows a player."""

    def __init__(self, server: "viser.ViserServer", heading: str, titles: list[str]) -> None:
        self.orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._server, self._gui, self._titles = server, server.gui, titles
        self._stage: Stage | None = None
        self._plots: list[tuple[Trace, Any]] = []
        self._shown: Tale | None = None
        self._picture: Any = None
        self._gui.configure_theme(show_logo=False, show_share_button=False, control_width="large")
        self._gui.main_panel.dock_right()
        self._gui.set_panel_label(heading)
        self._add_controls()

    def _add_controls(self) -> None:
        gui = self._gui
        self._chooser = gui.add_dropdown("Episode", self._titles, hint="The worst first.")
        self._first = gui.add_markdown("")
        self._jump = gui.add_button("Go to the first violation", color="red")
        self._step = gui.add_slider("Step", min=0, max=1, step=1, initial_value=0, hint="Arrow keys move it too.")
        self._play = gui.add_button("Play")
        self._speed = gui.add_dropdown("Speed", tuple(SPEEDS), initial_value="1", hint="1 is 30 steps a second.")
        self._now = gui.add_html("")
        self._remark = gui.add_markdown("", visible=False)
        self._order(self._chooser.on_update, lambda player, chosen: player.choose(self._titles.index(chosen)))
        self._order(self._jump.on_click, lambda player, _: player.jump())
        self._order(self._step.on_update, Player.scrub)
        self._order(self._play.on_click, lambda player, _: player.toggle())
        self._order(self._speed.on_update, lambda player, chosen: player.set_speed(SPEEDS[chosen]))

    def _order(self, listen: Callable[[Any], object], order: Callable[[Player, Any], None]) -> None:
        def heard(event: Any) -> None:
            # What the program itself changes on the page is no order.
            if event.client_id is not None:
                if event.target is self._chooser:
                    self._now.content = _html([Line("Playing the episode again ...")])
                value = event.target.value
                self.orders.put(lambda player: order(player, value))

        listen(heard)

    def complain(self, words: str) -> None:
        """Say what went wrong. It stays until another episode is shown."""
        self._remark.content, self._remark.visible = words, True

    def show(self, player: Player) -> None:
        """What the player shows."""
        tale, head = player.tale, player.head
        with self._server.atomic():
            if tale is not self._shown:
                self._set(tale)
            self._chooser.value = self._titles[player.episode]
            self._step.value = head.step
            self._play.label = "Pause" if head.playing else "Play"
            self._now.content = _html(tale.story.now(head.step))
            for trace, plot in self._plots:
                plot.data = trace.columns(head.step)
            if self._stage is not None:
                self._stage.show(head.step)
            if tale.pictures:
                self._picture.image = tale.picture(head.step)

    def _set(self, tale: Tale) -> None:
        """Put another episode on."""
        self._shown = tale
        story = tale.story
        self._first.content = story.first()
        self._jump.disabled = story.first_violation is None
        self._step.max = max(len(story) - 1, 1)
        self._remark.content, self._remark.visible = tale.remark, bool(tale.remark)
        if tale.task is not None and tale.poses is not None:
            self._stage = self._stage or Stage(self._server, tale.task)
            self._stage.set(tale.poses, story.violated)
        if tale.pictures and self._picture is None:
            self._picture = self._gui.add_image(tale.picture(0), format="jpeg")
        for _, plot in self._plots:
            plot.remove()
        self._plots = [(trace, self._plot(trace)) for trace in traces(story)]

    def _plot(self, trace: Trace) -> Any:
        limit: dict[str, Any] = {
            "label": "limit",
            "stroke": _RED,
            "dash": (6, 4),
            "width": 1.5,
            "points": {"show": False},
        }
        series: list[Any] = [
            {"label": "step"},
            {"label": trace.name, "stroke": _INK, "width": 1.5, "points": {"show": False}},
            {"label": "now", "stroke": _RED, "points": {"show": True, "size": 9, "fill": _RED}},
            *([] if trace.limit is None else [limit]),
        ]
        return self._gui.add_uplot(
            trace.columns(0),
            tuple(series),
            title=trace.name,
            scales={"x": {"time": False}, "y": {"range": trace.range}},
            legend={"show": False},
            height=150,
            padding=(12, 20, 0, 0),
        )


def _html(lines: Iterable[Line]) -> str:
    """Small print, red and bold where it alarms."""
    alarm = f"color: {_RED}; font-weight: bold"
    said = (f'<div style="{alarm if line.alarming else ""}">{html.escape(line.words)}</div>' for line in lines)
    return f'<div style="font-size: 0.85em; line-height: 1.5; padding: 0 0.6em">{"".join(said)}</div>'
