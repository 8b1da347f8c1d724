// Charts by uPlot, which a script of the page defines. Colours are those of the page.
/* global uPlot */

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

/** chart draws into a box and follows its width and the page's colours; it gives what ends it. */
function chart(box, options, data) {
  const axis = { stroke: () => colour("ink"), grid: { stroke: () => colour("grid"), width: 1 }, ticks: { stroke: () => colour("grid") } };
  const size = () => ({ width: Math.max(240, box.clientWidth), height: 280 });
  const u = new uPlot({
    ...size(), legend: { show: false }, cursor: { y: false },
    ...options, axes: options.axes.map((a) => ({ ...axis, ...a })),
  }, data, box);
  const resized = new ResizeObserver(() => u.setSize(size()));
  resized.observe(box);
  const themed = () => u.redraw(false);
  addEventListener("themed", themed);
  return {
    set: (next) => u.setData(next),
    leave: () => {
      resized.disconnect();
      removeEventListener("themed", themed);
      u.destroy();
    },
  };
}

/** histogram draws bins of a width from 0 on; lines() gives [{at, text, colour, left}] to be drawn across. */
export function histogram(box, width, bins, lines) {
  const data = (counts) => [counts.map((_, i) => (i + 0.5) * width), counts];
  const made = chart(box, {
    scales: { x: { time: false, range: [0, width * bins.length] }, y: { range: (_, __, max) => [0, Math.max(1, max * 1.15)] } },
    axes: [{ label: "score, 100 is neutral" }, { label: "edges", size: 56 }],
    series: [{}, { paths: uPlot.paths.bars({ size: [0.92] }), fill: () => colour("accent"), stroke: () => colour("accent"), points: { show: false } }],
    hooks: { draw: [(u) => across(u, lines())] },
  }, data(bins));
  return { ...made, set: (next) => made.set(data(next)) };
}

function across(u, lines) {
  const ctx = u.ctx, ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  lines.forEach((l, i) => {
    const x = Math.round(u.valToPos(l.at, "x", true));
    const top = u.bbox.top + (3 + 17 * i) * ratio;
    ctx.strokeStyle = ctx.fillStyle = colour(l.colour);
    ctx.lineWidth = 2 * ratio;
    ctx.setLineDash([6 * ratio, 4 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, u.bbox.top);
    ctx.lineTo(x, u.bbox.top + u.bbox.height);
    ctx.stroke();
    const wide = ctx.measureText(l.text).width + 8 * ratio;
    const left = l.left ? x - wide > u.bbox.left : x + wide > u.bbox.left + u.bbox.width;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    ctx.fillStyle = colour("card");
    ctx.fillRect(left ? x - wide : x + 2 * ratio, top - ratio, wide - 2 * ratio, 15 * ratio);
    ctx.fillStyle = colour(l.colour);
    ctx.fillText(l.text, left ? x - wide + 2 * ratio : x + 5 * ratio, top);
  });
  ctx.restore();
}

/** course draws how a score went, a step at a time. */
export function course(box, values) {
  return chart(box, {
    scales: { x: { time: false, range: [-0.5, Math.max(1, values.length - 1) + 0.5] }, y: { range: (_, min, max) => [Math.max(0, Math.min(min, 95) - 2), Math.min(200, Math.max(max, 105) + 2)] } },
    axes: [{ label: "updates", incrs: [1, 2, 5, 10, 50, 100, 1000] }, { label: "score", size: 56 }],
    series: [{}, { paths: uPlot.paths.stepped({ align: 1 }), stroke: () => colour("accent"), width: 2, points: { show: true, size: 7, fill: () => colour("accent") } }],
    hooks: { draw: [(u) => {
      const y = Math.round(u.valToPos(100, "y", true));
      u.ctx.save();
      u.ctx.strokeStyle = colour("line");
      u.ctx.setLineDash([4, 4]);
      u.ctx.beginPath();
      u.ctx.moveTo(u.bbox.left, y);
      u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
      u.ctx.stroke();
      u.ctx.restore();
    }] },
  }, [values.map((_, i) => i), values]);
}
