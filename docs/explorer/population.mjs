// Calibration errors of a linear score under the Gaussian model, exact: mixjax/gaussian/population.py in JavaScript.
//
// A law is {mean, gap}: y v ~ N(m, w) with m = mean and w = mean + gap. With rho = m/w and the logistic s, a score v is
// right with probability s(2 rho |v|) where the classifier claims s(2|v|), and gap(v) = |s(2 rho v) - s(2v)|.

function legendre(count) { // nodes and weights on [0, 1], by Newton's method
  const nodes = new Float64Array(count), weights = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    let z = Math.cos(Math.PI * (i + 0.75) / (count + 0.5)), slope = 0;
    for (let step = 0; step < 20; step++) {
      let before = 1, value = z;
      for (let k = 2; k <= count; k++) [before, value] = [value, ((2 * k - 1) * z * value - (k - 1) * before) / k];
      slope = count * (z * value - before) / (z * z - 1);
      z -= value / slope;
    }
    nodes[i] = 0.5 * (1 - z);
    weights[i] = 1 / ((1 - z * z) * slope * slope);
  }
  return {nodes, weights};
}

export const PRECISE = {...legendre(64), reach: 38}; // reach: -log of the neglected tail
export const FAST = {...legendre(12), reach: 12}; // within 2e-6, for what is drawn

// The integral over v >= 0 of N(v; center, w) f(v): mixjax/numerics/quadrature.py.
export function halfLine(center, w, f, {nodes, weights, reach} = PRECISE) {
  const spread = Math.sqrt(2 * reach * w), low = Math.max(0, center - spread), tail = Math.min(center, 0);
  const width = center > 0 ? center + spread - low : 2 * reach * w / (Math.sqrt(tail * tail + 2 * reach * w) - tail);
  const linear = Math.min(1, (10 + 1.75 * Math.max(center - 2 * Math.sqrt(w), 0)) / width);
  let total = 0;
  for (let k = 0; k < nodes.length; k++) {
    const square = nodes[k] * nodes[k], v = low + width * nodes[k] * (linear + (1 - linear) * square), d = v - center;
    total += weights[k] * (linear + 3 * (1 - linear) * square) * Math.exp(-0.5 * d * d / w) * f(v);
  }
  return total * width / Math.sqrt(2 * Math.PI * w);
}

// E gap(v)^r, folded at 0 so that nothing cancels.
function gapMoment({mean, gap}, r, rule) {
  const w = mean + gap;
  if (!(w > 0)) return NaN;
  const under = Math.min(gap, 0), kappa = Math.abs(gap) / w, slow = 2 * Math.min(mean / w, 1);
  const integrand = (v) => {
    const excess = -Math.expm1(-2 * kappa * v), ratio = excess / (1 + Math.exp(-2 * v));
    return r === 1 ? ratio : ratio * ratio / (Math.exp(slow * v) + (under < 0 ? 1 - excess : 1));
  };
  return Math.exp(2 * under) * halfLine(-mean - 2 * under, w, integrand, rule);
}

export const ece = (law, rule) => gapMoment(law, 1, rule);
export const rmsEce = (law, rule) => Math.sqrt(gapMoment(law, 2, rule));

// The score x of the largest gap, where sech^2 x = r sech^2 rx, by bisection; r = min(rho, 1/rho), q = 1 - r.
export function widestPoint(r, q) {
  const excess = (x) => { // 2 log(cosh x / cosh rx) + log r, increasing
    const decay = Math.exp(-2 * r * x);
    return 2 * (q * x + Math.log1p(decay * Math.expm1(-2 * q * x) / (1 + decay))) + Math.log1p(-q);
  };
  let low = 0, high = 1 - Math.log(r);
  for (let i = 0; i < 60; i++) {
    const x = 0.5 * (low + high);
    if (excess(x) > 0) high = x; else low = x;
  }
  return 0.5 * (low + high);
}

// sup_v gap(v), a function of rho alone: (tanh x - tanh rx) / 2 at the widest point.
export function mce({mean, gap}) {
  const w = mean + gap;
  if (!(w > 0)) return NaN;
  if (mean <= 0) return mean < 0 ? 1 : 0.5;
  const larger = Math.max(mean, w), r = Math.min(mean, w) / larger, q = Math.abs(gap) / larger;
  if (q === 0) return 0;
  const x = widestPoint(r, q), decay = Math.exp(-2 * r * x), excess = -Math.expm1(-2 * q * x);
  return decay * excess / ((1 + decay) * (1 + decay * (1 - excess)));
}

export const logistic = (u) => 1 / (1 + Math.exp(-u));
export const logit = (c) => Math.log(c) - Math.log1p(-c);
export const slope = ({mean, gap}) => mean / (mean + gap); // rho
export const reliability = (law, confidence) => logistic(slope(law) * logit(confidence));

// P(sgn v = y), as 1/2 plus the odd part of an integral that starts at 0.
export function accuracy({mean, gap}) {
  return halfLine(mean, mean + gap, () => 1);
}

// The density of the confidence c = s(2|v|) in [1/2, 1).
export function confidenceDensity({mean, gap}, confidence) {
  const w = mean + gap, v = 0.5 * logit(confidence), density = (d) => Math.exp(-0.5 * d * d / w);
  return (density(v - mean) + density(v + mean)) / Math.sqrt(2 * Math.PI * w) / (2 * confidence * (1 - confidence));
}
