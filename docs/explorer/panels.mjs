// The three pictures: reliability curves, the map, and the spread over training sets.
import {area, at, axes, byId, clipped, color, line, prepared} from "./charts.mjs";
import {criticalRatio, limitLaw} from "./limits.mjs";
import {decodedTable, logisticLaws} from "./logistic.mjs";
import {ece, confidenceDensity, FAST, reliability} from "./population.mjs";
import {place, valueAt} from "./state.mjs";

let decodedOnce;
export const table = () => (decodedOnce ??= decodedTable(TABLE)); // TABLE and VERDICTS: build.py
const STYLES = [{name: "before", width: 2.5, dash: []}, {name: "after", width: 2.5, dash: [7, 4]}];
const evenly = (count, low, high) => Array.from({length: count}, (_, i) => low + (high - low) * i / (count - 1));

// Accuracy against confidence; below, how often each confidence occurs.
export function drawReliability(laws) {
  const box = prepared(byId("reliability"), 0.86), ticks = [0.5, 0.6, 0.7, 0.8, 0.9, 1];
  const part = (value) => 2 * value - 1, marks = ticks.map((value) => [part(value), value.toFixed(1)]);
  axes(box, {x: marks, y: marks, xLabel: "confidence", yLabel: "accuracy", grid: true});
  const confidence = evenly(241, 0.5, 1 - 1e-4);
  const densities = laws.map((law) => confidence.map((c) => confidenceDensity(law, c)));
  const highest = Math.min(Math.max(...densities.flat()), 12);
  clipped(box, () => {
    line(box, [[0, 0], [1, 1]], {stroke: color("soft")});
    laws.forEach((law, k) => {
      const curve = confidence.map((c, i) => [part(c), 0.3 * densities[k][i] / highest]);
      area(box, [[0, 0], ...curve, [1, 0]], color(STYLES[k].name), 0.22);
    });
    laws.forEach((law, k) => {
      const {name, ...style} = STYLES[k];
      line(box, confidence.map((c) => [part(c), part(reliability(law, c))]), {stroke: color(name), ...style});
    });
  });
}

export const SIZE = 64; // cells of the map along each axis
const CENTERS = evenly(SIZE, 0.5 / SIZE, 1 - 0.5 / SIZE);
const COLUMNS = CENTERS.map((part) => valueAt("ratio", part)), ROWS = CENTERS.map((part) => valueAt("theta", part));
const LINEAR = 0.005, LARGEST = 0.2; // of the color scale
const shade = (difference) => Math.asinh(difference / LINEAR) / Math.asinh(LARGEST / LINEAR);

function remembered(compute) { // the last two results, by their arguments
  const kept = new Map();
  return (...values) => {
    const key = values.join();
    if (!kept.has(key)) {
      if (kept.size > 1) kept.delete(kept.keys().next().value);
      kept.set(key, compute(...values));
    }
    return kept.get(key);
  };
}

const eces = (classifier, penalty, t) => {
  const laws = classifier === "averaging"
    ? ROWS.map((theta) => COLUMNS.map((c) => limitLaw(c, theta, t)))
    : logisticLaws(table(), penalty, t, COLUMNS, ROWS);
  return laws.map((row) => Float64Array.from(row, (law) => ece(law, FAST)));
};
const plainEces = remembered((classifier, penalty) => eces(classifier, penalty, 0));

// ECE(mix) - ECE at the centers of the cells, [row][column].
export const differences = remembered((classifier, penalty, t) => {
  const plain = plainEces(classifier, penalty);
  return eces(classifier, penalty, t).map((row, j) => row.map((value, i) => value - plain[j][i]));
});

function painted(values) { // one pixel a cell
  const cells = document.createElement("canvas"), ends = ["better", "middle", "worse"].map(rgb);
  cells.width = cells.height = SIZE;
  const image = new ImageData(SIZE, SIZE);
  values.forEach((row, j) => row.forEach((value, i) => {
    const s = Math.max(-1, Math.min(1, shade(value))), end = ends[s < 0 ? 0 : 2];
    const start = 4 * ((SIZE - 1 - j) * SIZE + i);
    for (let k = 0; k < 3; k++) image.data[start + k] = ends[1][k] + (end[k] - ends[1][k]) * Math.abs(s);
    image.data[start + 3] = 255;
  }));
  cells.getContext("2d").putImageData(image, 0, 0);
  return cells;
}

const rgb = (name) => color(name).match(/\w\w/g).map((pair) => parseInt(pair, 16));

const boundary = remembered((t) => evenly(129, 0, 1).map((y) => (
  [place("ratio", criticalRatio(valueAt("theta", y), t, FAST, 8)), y])));

// Where the map changes sign, as segments between the centers of neighboring cells.
function zeroSegments(values) {
  const segments = [];
  for (let j = 0; j + 1 < SIZE; j++) {
    for (let i = 0; i + 1 < SIZE; i++) {
      const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]], crossings = [];
      corners.forEach(([x, y], k) => {
        const [u, v] = corners[(k + 1) % 4], first = values[y][x], second = values[v][u];
        if (first < 0 === second < 0) return;
        const part = first / (first - second);
        crossings.push([CENTERS[x] + part * (CENTERS[u] - CENTERS[x]), CENTERS[y] + part * (CENTERS[v] - CENTERS[y])]);
      });
      for (let k = 0; k + 1 < crossings.length; k += 2) segments.push(crossings.slice(k, k + 2));
    }
  }
  return segments;
}

const ticks = (name, values) => values.map((value) => [place(name, value), String(value)]);

// The map, its boundary and where you stand.
export function drawMap({classifier, penalty, ratio, theta}, t) {
  const box = prepared(byId("map"), 0.86), {context, left, top, width, height} = box;
  const values = differences(classifier, penalty, t), stroke = color("ink");
  clipped(box, () => {
    context.imageSmoothingQuality = "high";
    context.drawImage(painted(values), left, top, width, height);
    const lines = classifier === "averaging" ? [boundary(t)] : zeroSegments(values);
    lines.forEach((points) => line(box, points, {stroke, width: 2}));
  });
  axes(box, {
    x: ticks("ratio", [0.05, 0.1, 0.2, 0.5, 1, 2, 5]), y: ticks("theta", [0.25, 0.5, 1, 2, 4]),
    xLabel: "p / n", yLabel: "|θ| / σ",
  });
  context.beginPath();
  context.arc(...at(box, place("ratio", ratio), place("theta", theta)), 7, 0, 7);
  Object.assign(context, {fillStyle: color("paper"), strokeStyle: stroke, lineWidth: 3});
  context.fill();
  context.stroke();
  drawScale();
}

function drawScale() {
  const bar = byId("scale"), marks = [-0.1, -0.01, 0, 0.01, 0.1];
  const [better, middle, worse] = ["better", "middle", "worse"].map(color);
  bar.style.background = `linear-gradient(90deg, ${better}, ${middle}, ${worse})`;
  bar.innerHTML = marks.map((value) => {
    const sign = value > 0 ? "+" : value < 0 ? "\u2212" : "";
    return `<span style="left:${50 + 50 * shade(value)}%">${sign}${Math.abs(value)}</span>`;
  }).join("");
}

// Histograms of the ECE of training sets, before and after.
export function drawSpread(samples, limits) {
  const box = prepared(byId("spread"), 0.86), sorted = samples.flat().sort((a, b) => a - b);
  const top = roundUp(Math.max(sorted[Math.floor(0.995 * (sorted.length - 1))], ...limits)), bins = 48;
  const counts = samples.map((sample) => {
    const bars = new Array(bins).fill(0);
    sample.forEach((value) => { if (value < top) bars[Math.floor(bins * value / top)]++; });
    return bars;
  });
  const highest = Math.max(...counts.flat()), digits = Math.max(2, 1 - Math.floor(Math.log10(top)));
  const x = evenly(6, 0, 1).map((part) => [part, (part * top).toFixed(digits)]);
  axes(box, {x, y: [], xLabel: "ECE of a training set", yLabel: "training sets"});
  clipped(box, () => counts.forEach((bars, k) => {
    const {name, ...style} = STYLES[k], steps = bars.flatMap((count, i) => (
      [[i / bins, 0.92 * count / highest], [(i + 1) / bins, 0.92 * count / highest]]));
    area(box, [[0, 0], ...steps, [1, 0]], color(name), 0.22);
    line(box, steps, {stroke: color(name), width: 1.5});
    line(box, [[limits[k] / top, 0], [limits[k] / top, 1]], {stroke: color(name), ...style, width: 1.5});
  }));
}

function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 1.5, 2, 3, 4, 5, 7.5, 10].find((mantissa) => mantissa * power >= value);
}
