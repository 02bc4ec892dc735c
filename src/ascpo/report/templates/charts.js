"use strict";
// Draws the charts of a report with uPlot, in the place of their drawings. Names are text, never markup.
(() => {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const HUES = 8;
  const DASHES = [[], [8, 3], [2, 3], [10, 3, 2, 3]];

  // Three digits, as in the tables.
  function words(value, chart) {
    if (value == null) return "–";
    const large = Math.abs(value) >= 1000;
    const text = large ? value.toFixed(0) : String(Number(value.toPrecision(3)));
    return text.replace("-", "−") + (chart.share ? " %" : "");
  }

  function element(tag, parent, name, text) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  // The series of a group: its middle, the edges of its band, and its worst seed.
  function seriesOf(chart) {
    const columns = [chart.points], series = [{}], bands = [], groups = [];
    const add = (values, options) => {
      columns.push(values);
      series.push({ spanGaps: true, points: { show: chart.points.length === 1 }, ...options });
      return series.length - 1;
    };
    for (const line of chart.lines) {
      const stroke = colour(`hue-${line.hue % HUES}`), dash = DASHES[Math.floor(line.hue / HUES) % DASHES.length];
      const members = [];
      if (line.low) {
        const edges = [line.high, line.low].map((values) => add(values, { width: 0, points: { show: false } }));
        bands.push({ series: edges, fill: `${stroke}30` });
        members.push(...edges, add(line.worst, { stroke, width: 0.7 }));
      }
      const middle = add(line.middle, { stroke, width: 2, dash });
      groups.push({ ...line, stroke, middle, members: [...members, middle] });
    }
    if (chart.reference) {
      const [value, name] = chart.reference, stroke = colour("figure-limit");
      const flat = chart.points.map(() => value);
      const middle = add(flat, { stroke, width: 1, dash: [5, 3], points: { show: false } });
      groups.push({ label: name, stroke, middle, members: [middle] });
    }
    return { columns, series, bands, groups };
  }

  function options(chart, parts, width, onCursor) {
    const axis = { stroke: colour("figure-quiet"), font: "11px system-ui, sans-serif" };
    const lines = { grid: { stroke: colour("figure-faint"), width: 1 }, ticks: { show: false } };
    const range = chart.fromZero ? fromZero : chart.share ? share : undefined;
    const y = chart.logarithmic ? { distr: 3 } : { range };
    const whole = chart.x === "epoch" ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] } : {};
    return {
      width, height: 230, series: parts.series, bands: parts.bands, legend: { show: false },
      scales: { x: { time: false, range: around }, y },
      axes: [
        { ...axis, ...lines, ...whole, size: 26, values: (u, ticks) => ticks.map((tick) => words(tick, {})) },
        { ...axis, ...lines, size: 58, values: (u, ticks) => ticks.map((tick) => tick == null ? "" : words(tick, chart)) },
      ],
      cursor: { drag: { x: true, y: false }, points: { size: 7 }, sync: { key: `charts over ${chart.x}` } },
      hooks: { setCursor: [onCursor] },
    };
  }

  function fromZero(u, low, high) {
    const top = high > 0 ? high * 1.05 : 1;
    return [Math.min(-0.015 * top, low), top];
  }

  // There is no share above 100 %.
  function share(u, low, high) {
    const room = Math.max(0.08 * (high - low), 1);
    return [Math.max(low - room, -1), Math.min(high + room, 101)];
  }

  // A single point stands in the middle.
  function around(u, low, high) {
    return low === high ? [low - 1, high + 1] : [low, high];
  }

  // Buttons that hide and show a group. They also say its value under the cursor.
  function legendOf(place, parts, hidden, plot) {
    return parts.groups.map((group, at) => {
      const button = element("button", place, "key");
      button.type = "button";
      element("i", button).style.background = group.stroke;
      element("span", button, "", group.label);
      const value = element("b", button);
      const show = () => {
        button.setAttribute("aria-pressed", String(!hidden.has(at)));
        plot().batch(() => group.members.forEach((i) => plot().setSeries(i, { show: !hidden.has(at) })));
      };
      button.onclick = () => {
        if (!hidden.delete(at)) hidden.add(at);
        show();
      };
      return { group, value, show };
    });
  }

  function draw(figure) {
    const chart = JSON.parse(figure.dataset.chart), place = figure.querySelector(".chart"), hidden = new Set();
    let plot = null;
    const make = () => {
      plot?.destroy();
      place.querySelector(".keys")?.remove();
      const parts = seriesOf(chart), keys = element("div", place, "keys");
      let legend = [];
      const onCursor = (u) => {
        for (const { group, value } of legend) {
          const i = u.cursor.idx;
          value.textContent = i == null ? "" : words(u.data[group.middle][i], chart);
        }
        place.querySelector(".at").textContent =
          u.cursor.idx == null ? chart.x : `${words(chart.points[u.cursor.idx], {})} ${chart.x}`;
      };
      const canvas = place.querySelector(".canvas");
      plot = new uPlot(options(chart, parts, canvas.clientWidth, onCursor), parts.columns, canvas);
      legend = legendOf(keys, parts, hidden, () => plot);
      legend.forEach(({ show }) => show());
    };
    figure.classList.add("live");
    place.hidden = false;
    make();
    new ResizeObserver(() => {
      const width = place.querySelector(".canvas").clientWidth;
      if (width && width !== plot.width) plot.setSize({ width, height: 230 });
    }).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", make);
  }

  document.querySelectorAll(".hint").forEach((hint) => (hint.hidden = false));
  document.querySelectorAll("figure[data-chart]").forEach(draw);
})();
