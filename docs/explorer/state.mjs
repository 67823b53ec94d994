// What the page shows: the state, the round values that its sliders have, and the link that holds it.

// Round numbers from low to high in even steps of the logarithm, about: mantissas as 1.02, 2.05, 5.1.
function roundNumbers(low, high, steps = [[1, 2, 0.02], [2, 5, 0.05], [5, 10, 0.1]]) {
  const values = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    for (const [start, end, step] of steps) {
      for (let k = 0; k < Math.round((end - start) / step); k++) {
        values.push(Number(`${(start + k * step).toFixed(2)}e${power}`)); // as it is written, without rounding
      }
    }
  }
  return values.filter((value) => value >= low && value <= high);
}

export const VALUES = {
  theta: roundNumbers(0.25, 4),
  ratio: roundNumbers(0.05, 8),
  alpha: roundNumbers(0.01, 10),
  n: roundNumbers(10, 1e6, [[1, 2, 0.5], [2, 3, 1], [3, 7, 2], [7, 10, 3]]),
};
export const CLASSIFIERS = ["averaging", "logistic"];
export const PENALTIES = [0.001, 0.01, 0.1, 1];
export const START = {theta: 2, ratio: 2, alpha: 1, n: 1000, classifier: "averaging", penalty: 0.01};

export const dimension = ({ratio, n}) => Math.max(1, Math.round(ratio * n));
const ends = (name) => [VALUES[name][0], VALUES[name][VALUES[name].length - 1]];

// The index of the value of a slider that is nearest in the logarithm.
export function nearest(name, value) {
  const distance = (other) => Math.abs(Math.log(other / value));
  return VALUES[name].reduce((best, other, i, all) => (distance(other) < distance(all[best]) ? i : best), 0);
}

// The place of a value along its axis, from 0 to 1 in the logarithm, and back to the nearest round value.
export function place(name, value) {
  const [low, high] = ends(name);
  return Math.log(value / low) / Math.log(high / low);
}

export function valueAt(name, part) {
  const [low, high] = ends(name);
  return low * (high / low) ** part;
}

export const roundAt = (name, part) => VALUES[name][nearest(name, valueAt(name, Math.min(1, Math.max(0, part))))];

export function linkOf(state) {
  return "#" + Object.keys(START).map((name) => `${name}=${state[name]}`).join("&");
}

// The state of a link; what it lacks, or has wrong, is as at the start.
export function stateOf(link) {
  const state = {...START};
  for (const part of link.replace(/^#/, "").split("&")) {
    const [name, text] = part.split("="), value = Number(text);
    if (name in VALUES && value > 0) state[name] = Math.min(Math.max(value, ends(name)[0]), ends(name)[1]);
    if (name === "penalty" && PENALTIES.includes(value)) state.penalty = value;
    if (name === "classifier" && CLASSIFIERS.includes(text)) state.classifier = text;
  }
  state.n = Math.round(state.n);
  return state;
}
