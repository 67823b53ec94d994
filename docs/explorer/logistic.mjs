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

// The weights with which the values at `count` Chebyshev points of [low, high] make the value at x.
function interpolation(x, count, [low, high]) {
  const position = 2 * (x - low) / (high - low) - 1;
  const parts = Array.from({length: count}, (_, j) => {
    const distance = position + Math.cos(Math.PI * j / (count - 1)), end = j === 0 || j === count - 1;
    return (j % 2 ? -1 : 1) * (end ? 0.5 : 1) / (distance || 1e-300);
  });
  const total = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => part / total);
}

const logs = (range) => range.map(Math.log);

export function decodedTable(table) {
  const layers = table.layers.map((layer) => (
    {...layer, logMean: decoded(layer.logMean), logSlope: decoded(layer.logSlope)}));
  return {...table, layers};
}

// The values at one t of a layer, [ratio node][theta node].
function atWeight(values, [ratios, thetas, weights], parts) {
  return Array.from({length: ratios}, (_, a) => Float64Array.from({length: thetas}, (_, b) => {
    const start = (a * thetas + b) * weights;
    return parts.reduce((sum, part, d) => sum + part * values[start + d], 0);
  }));
}

// Laws at t for every p/n and |theta| of two lists: laws[row of theta][column of p/n].
export function logisticLaws(table, penalty, t, ratioList, thetaList) {
  const {shape, ...layer} = table.layers.find((one) => one.penalty === penalty);
  const parts = interpolation(t, shape[2], [0, mixupWeight(table.alpha)]);
  const across = ratioList.map((c) => interpolation(Math.log(c), shape[0], logs(table.ratio)));
  const along = thetaList.map((theta) => interpolation(Math.log(theta), shape[1], logs(table.theta)));
  const [logMean, logSlope] = [layer.logMean, layer.logSlope].map((values) => {
    const nodes = atWeight(values, shape, parts);
    const columns = across.map((weights) => Float64Array.from({length: shape[1]}, (_, b) => (
      weights.reduce((sum, weight, a) => sum + weight * nodes[a][b], 0))));
    return along.map((weights) => columns.map((column) => weights.reduce((sum, weight, b) => sum + weight * column[b], 0)));
  });
  return logMean.map((row, j) => row.map((value, i) => {
    const mean = Math.exp(value), under = -logSlope[j][i]; // w = m / rho, gap = m (1/rho - 1)
    return {mean, gap: mean * Math.expm1(under)};
  }));
}
