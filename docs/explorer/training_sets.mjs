// Score laws of random training sets, exact at every n and p: mixjax/gaussian/samplers.py in JavaScript.
//
// Six numbers decide a training set, whatever n and p. Each set has random numbers of its own, so that the sets change
// little when n, p or theta do.

function generator(seed) { // sfc32: uniform on [0, 1)
  let a = seed, b = 0x243f6a88, c = 0x9e3779b9, count = 1;
  const next = () => {
    const sum = (a + b | 0) + count | 0;
    count = count + 1 | 0;
    a = b ^ b >>> 9;
    b = c + (c << 3) | 0;
    c = (c << 21 | c >>> 11) + sum | 0;
    return (sum >>> 0) / 4294967296;
  };
  for (let i = 0; i < 12; i++) next();
  return next;
}

function normal(next) {
  return Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
}

function chiSquare(next, freedom) { // Marsaglia and Tsang (2000)
  let sum = 0;
  if (freedom < 3) {
    for (let i = 0; i < freedom; i++) sum += normal(next) ** 2;
    return sum;
  }
  const d = freedom / 2 - 1 / 3;
  for (;;) {
    const z = normal(next), v = (1 + z / Math.sqrt(9 * d)) ** 3;
    if (v > 0 && Math.log(1 - next()) < 0.5 * z * z + d - d * v + d * Math.log(v)) return 2 * d * v;
  }
}

// The distribution function of Binomial(n, 1/2) within nine standard deviations of its mean.
function binomial(n) {
  const reach = Math.ceil(4.5 * Math.sqrt(n)) + 1, middle = n >> 1;
  const low = Math.max(0, middle - reach), high = Math.min(n, middle + reach);
  const mass = new Float64Array(high - low + 1), sums = new Float64Array(mass.length);
  mass[middle - low] = 1;
  for (let k = middle; k < high; k++) mass[k + 1 - low] = mass[k - low] * (n - k) / (k + 1);
  for (let k = middle; k > low; k--) mass[k - 1 - low] = mass[k - low] * k / (n - k + 1);
  let total = 0;
  for (let i = 0; i < mass.length; i++) sums[i] = total += mass[i];
  return {low, sums};
}

function meanLabel(next, n, {low, sums}) { // ybar, by inversion
  const u = next() * sums[sums.length - 1];
  let first = 0, last = sums.length - 1;
  while (first < last) {
    const middle = first + last >> 1;
    if (sums[middle] > u) last = middle; else first = middle + 1;
  }
  return 2 * (low + first) / n - 1;
}

// Laws of `count` training sets at each weight of `weights`; all weights see the same sets.
export function trainingSets(n, p, theta, weights, count, seed = 1) {
  const labels = binomial(n), laws = weights.map(() => []);
  for (let i = 0; i < count; i++) {
    const next = generator(Math.imul(seed, 0x85ebca6b) + i | 0);
    const ybar = meanLabel(next, n, labels), spread = (1 - ybar) * (1 + ybar), scale = Math.sqrt(spread / n);
    const along = normal(next) / Math.sqrt(n), across = Math.sqrt(chiSquare(next, p - 1) / n);
    const pushAlong = scale * normal(next), pushAligned = p > 1 ? scale * normal(next) : 0;
    const pushAcross = spread / n * chiSquare(next, p - 2);
    weights.forEach((t, j) => {
      const kappa = 1 - t * spread, push = t * ybar;
      const error = kappa * along + push * pushAlong - t * spread * theta, inner = theta + error;
      const rest = (kappa * across + push * pushAligned) ** 2 + push * push * pushAcross;
      laws[j].push({mean: theta * inner, gap: inner * error + rest});
    });
  }
  return laws;
}
