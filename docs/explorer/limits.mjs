// The limit p/n -> c of the averaging classifier: mixjax/gaussian/limits.py and capacity.py in JavaScript.
import {ece, halfLine, slope, widestPoint} from "./population.mjs";

export const mixupWeight = (alpha) => alpha / (2 * alpha + 1); // t of lambda ~ Beta(alpha, alpha)

export function limitLaw(c, theta, t) {
  const keep = 1 - t, square = theta * theta;
  return {mean: keep * square, gap: keep * (keep * c - t * square)};
}

export const bestWeight = (c, theta) => c / (theta * theta + c); // ECE and MCE are 0 at this t
export const calibratedRatio = (theta, t) => theta * theta * t / (1 - t); // and at this c

// The p/n above which Mixup of weight t lowers the ECE, and below which it raises it: regula falsi (Illinois), of which
// ten steps give every digit.
export function criticalRatio(theta, t, rule, steps = 12) {
  const gain = (c) => ece(limitLaw(c, theta, 0), rule) - ece(limitLaw(c, theta, t), rule);
  let low = 0, high = calibratedRatio(theta, t), below = gain(low), above = gain(high), last = 0;
  const crossing = () => (low * above - high * below) / (above - below);
  for (let i = 0; i < steps; i++) {
    const c = crossing(), value = gain(c), side = Math.sign(value);
    if (side > 0) [high, above, below] = [c, value, side === last ? below / 2 : below];
    else [low, below, above] = [c, value, side === last ? above / 2 : above];
    last = side;
  }
  return crossing();
}

export const criticalRatioMce = (theta, t) => theta * theta * Math.expm1(-0.5 * Math.log1p(-t));

// D = dECE/dalpha at alpha = 0 for beta = 1, -E|v| sech^2 v / 2 with v ~ N(|theta|^2, |theta|^2 + c), and dD/dc.
export function derivative(c, theta) {
  const mean = theta * theta, w = mean + c;
  const fold = (weight) => (v) => { // both signs of v at once, by N(v; m, w) = e^{2mv/w} N(v; -m, w)
    const decay = Math.exp(-2 * v), other = Math.exp(-2 * v * c / w);
    return 4 * v * (decay * weight(v + mean) + other * weight(v - mean)) / (1 + decay) ** 2;
  };
  return {
    value: -0.5 * halfLine(-mean, w, fold(() => 1)),
    slope: -0.25 * halfLine(-mean, w, fold((d) => (d * d / w - 1) / w)),
  };
}

// The same of the MCE: -v sech^2 v / 2 at the widest point v.
export function derivativeMce(c, theta) {
  const rho = slope(limitLaw(c, theta, 0)), v = widestPoint(rho, bestWeight(c, theta));
  const sechSquare = 1 / Math.cosh(v) ** 2, steep = Math.tanh(rho * v);
  const vByRho = (1 / rho - 2 * v * steep) / (2 * (rho * steep - Math.tanh(v)));
  const byV = -0.5 * sechSquare * (1 - 2 * v * Math.tanh(v));
  return {value: -0.5 * v * sechSquare, slope: byV * vByRho * -rho / (theta * theta + c)};
}
