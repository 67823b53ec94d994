// The limit of logistic regression with Mixup, the classifier that people train: logistic_table.json, interpolated.
import {mixupWeight} from "./limits.mjs";

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const DIGIT = Object.fromEntries([...DIGITS].map((digit, value) => [digit, value]));

function decoded({low, high, text}) {
  return Float64Array.from({length: text.length / 3}, (_, i) => {
    const level = DIGIT[text[3 * i]] << 12 | DIGIT[text[3 * i + 1]] << 6 | DIGIT[text[3 * i + 2]];
    return low + (high - low) * level / (64 ** 3 - 1);
  });
}

// The weights with which the values at nodes make the value at x, a polynomial through them: the barycentric formula.
function barycentric(x, nodes, factor) {
  const parts = nodes.map((node, j) => factor(j) * (j % 2 ? -1 : 1) / (x - node || 1e-300));
  const total = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => part / total);
}

// At Chebyshev points of [0, 1].
function chebyshev(x, count) {
  const nodes = Array.from({length: count}, (_, j) => 0.5 * (1 - Math.cos(Math.PI * j / (count - 1))));
  return barycentric(x, nodes, (j) => (j === 0 || j === count - 1 ? 0.5 : 1));
}

// At evenly spaced points of [0, 1], through the six that are nearest: what bends sharply disturbs its neighbors alone.
const BINOMIALS = [1, 5, 10, 10, 5, 1];
function local(x, count) {
  const place = x * (count - 1), first = Math.min(Math.max(Math.floor(place) - 2, 0), count - 6);
  const weights = new Array(count).fill(0), near = BINOMIALS.map((_, j) => first + j);
  barycentric(place, near, (j) => BINOMIALS[j]).forEach((weight, j) => { weights[first + j] = weight; });
  return weights;
}

const part = (value, [low, high]) => Math.log(value / low) / Math.log(high / low);

export function decodedTable(table) {
  const layers = table.layers.map((layer) => (
    {...layer, logMean: decoded(layer.logMean), logSlope: decoded(layer.logSlope)}));
  return {...table, layers};
}

// The values at one t of a layer, [ratio node][theta node].
function atWeight(values, [ratios, thetas, weights], parts) {
  return Array.from({length: ratios}, (_, a) => Float64Array.from({length: thetas}, (_, b) => {
    const start = (a * thetas + b) * weights;
    return parts.reduce((sum, weight, d) => sum + weight * values[start + d], 0);
  }));
}

// Laws at t for every p/n and |theta| of two lists: laws[row of theta][column of p/n].
export function logisticLaws(table, penalty, t, ratioList, thetaList) {
  const {shape, ...layer} = table.layers.find((one) => one.penalty === penalty);
  const parts = chebyshev(Math.sqrt(t / mixupWeight(table.alpha)), shape[2]);
  const across = ratioList.map((c) => local(part(c, table.ratio), shape[0]));
  const along = thetaList.map((theta) => local(part(theta, table.theta), shape[1]));
  const [logMean, logSlope] = [layer.logMean, layer.logSlope].map((values) => {
    const nodes = atWeight(values, shape, parts);
    const columns = across.map((weights) => Float64Array.from({length: shape[1]}, (_, b) => (
      weights.reduce((sum, weight, a) => sum + weight * nodes[a][b], 0))));
    return along.map((weights) => columns.map((column) => (
      weights.reduce((sum, weight, b) => sum + weight * column[b], 0))));
  });
  return logMean.map((row, j) => row.map((value, i) => {
    const mean = Math.exp(value);
    return {mean, gap: mean * Math.expm1(-logSlope[j][i])}; // m (1/rho - 1)
  }));
}
