// What the paper's theorems on p/n say at a state of the averaging classifier, and whether it is so there.
import {bestWeight, criticalRatio, criticalRatioMce, derivative, derivativeMce} from "./limits.mjs";
import {limitLaw, mixupWeight} from "./limits.mjs";
import {ece, mce} from "./population.mjs";

const signed = (value) => value.toPrecision(3).replace("-", "\u2212");
const short = (value) => String(+value.toPrecision(4));

// 3.1, 5.1: some Mixup lowers the error.
function helps(error, {ratio, theta}) {
  const t = Math.min(bestWeight(ratio, theta), 0.5), alpha = t < 0.5 ? `α = ${short(t / (1 - 2 * t))}` : "α → ∞";
  const [before, after] = [0, t].map((weight) => error(limitLaw(ratio, theta, weight)));
  const change = `from ${before.toFixed(4)} to ${after.toFixed(4)}`;
  return {holds: after < before, here: `${alpha} is best: it takes the error ${change}.`};
}

// 3.2, 5.2: where p/n is small enough, this Mixup raises the error.
function hurts(critical, {ratio}) {
  return ratio < critical
    ? {holds: true, here: `p/n is below ${short(critical)}: Mixup with this α raises the error.`}
    : {holds: null, here: `Silent: p/n is above ${short(critical)}, where this α helps.`};
}

// 3.3, 5.3: the derivative at no Mixup is negative, and falls as p/n grows.
function falls({value, slope}) {
  return `The derivative is ${signed(value)}, and its slope in p/n is ${signed(slope)}`;
}

function eceFalls(change) {
  const here = falls(change);
  return change.slope < 0
    ? {holds: change.value < 0, here: `${here}.`}
    : {holds: null, here: `${here}: silent, |θ| is too small.`};
}

const mceFalls = (change) => ({holds: change.value < 0 && change.slope < 0, here: `${falls(change)}: it rises.`});

// Rows {theorem, claim, here, holds}; holds is null where the theorem does not speak.
export function theoremsAt(state) {
  const {ratio, theta, alpha} = state, t = mixupWeight(alpha);
  const claims = (error) => [
    `p comparable to n: some Mixup lowers the ${error}.`,
    `p/n → 0: Mixup with any fixed α raises the ${error}.`,
    `|θ| large: d${error}/dα at α = 0 is negative, and falls as p/n grows.`,
  ];
  const rows = {
    ECE: [helps(ece, state), hurts(criticalRatio(theta, t), state), eceFalls(derivative(ratio, theta))],
    MCE: [helps(mce, state), hurts(criticalRatioMce(theta, t), state), mceFalls(derivativeMce(ratio, theta))],
  };
  return Object.entries(rows).flatMap(([error, found], k) => found.map((row, i) => (
    {theorem: `${3 + 2 * k}.${i + 1}`, claim: claims(error)[i], ...row})));
}
