// Axes on a canvas: sharp on every screen, in the colors of the page, with ticks and labels as in a paper.

export const byId = (id) => document.getElementById(id);
export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const MARGIN = {left: 46, right: 18, top: 8, bottom: 42}; // CSS pixels

// A canvas made ready to draw on; `height` is in units of its width.
export function prepared(canvas, height) {
  const width = canvas.clientWidth, scale = window.devicePixelRatio || 1;
  canvas.style.height = `${Math.round(width * height)}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(width * height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = "12px system-ui, sans-serif";
  context.lineJoin = "round";
  return {
    context,
    left: MARGIN.left,
    top: MARGIN.top,
    width: width - MARGIN.left - MARGIN.right,
    height: Math.round(width * height) - MARGIN.top - MARGIN.bottom,
  };
}

// The part of a box's width and height at which an event happened.
export function partOf(canvas, event) {
  const box = canvas.getBoundingClientRect();
  const width = box.width - MARGIN.left - MARGIN.right, height = box.height - MARGIN.top - MARGIN.bottom;
  return [(event.clientX - box.left - MARGIN.left) / width, 1 - (event.clientY - box.top - MARGIN.top) / height];
}

// Points of a box: x and y from 0 to 1, from its lower left corner.
export const at = ({left, top, width, height}, x, y) => [left + x * width, top + (1 - y) * height];

export function line(box, points, {stroke, width = 1, dash = []}) {
  const {context} = box;
  context.beginPath();
  points.forEach(([x, y]) => context.lineTo(...at(box, x, y)));
  Object.assign(context, {strokeStyle: stroke, lineWidth: width});
  context.setLineDash(dash);
  context.stroke();
  context.setLineDash([]);
}

export function area(box, points, fill, opacity) {
  const {context} = box;
  context.beginPath();
  points.forEach(([x, y]) => context.lineTo(...at(box, x, y)));
  Object.assign(context, {fillStyle: fill, globalAlpha: opacity});
  context.fill();
  context.globalAlpha = 1;
}

// Draw inside the box only.
export function clipped(box, draw) {
  const {context, left, top, width, height} = box;
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  draw();
  context.restore();
}

// Frame, ticks [place, text] of both axes, and their labels; `grid` draws lines at the ticks.
export function axes(box, {x, y, xLabel, yLabel, grid = false}) {
  const {context, left, top, width, height} = box;
  Object.assign(context, {strokeStyle: color("line"), lineWidth: 1, fillStyle: color("soft")});
  context.strokeRect(left, top, width, height);
  const mark = (place, text, along) => {
    const [px, py] = along ? at(box, place, 0) : at(box, 0, place);
    Object.assign(context, {textAlign: along ? "center" : "right", textBaseline: along ? "top" : "middle"});
    context.beginPath();
    context.moveTo(px, py);
    context.lineTo(px + (along ? 0 : grid ? width : -4), py + (along ? (grid ? -height : 4) : 0));
    context.stroke();
    context.fillText(text, px - (along ? 0 : 7), py + (along ? 7 : 0));
  };
  x.forEach(([place, text]) => mark(place, text, true));
  y.forEach(([place, text]) => mark(place, text, false));
  context.fillStyle = color("ink");
  Object.assign(context, {textAlign: "center", textBaseline: "bottom"});
  context.fillText(xLabel, left + width / 2, top + height + MARGIN.bottom);
  context.save();
  context.translate(0, top + height / 2);
  context.rotate(-Math.PI / 2);
  context.textBaseline = "top";
  context.fillText(yLabel, 0, 0);
  context.restore();
}
