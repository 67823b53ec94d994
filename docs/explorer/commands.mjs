// The command and the Python lines that compute what the page shows.
import {dimension} from "./state.mjs";

const MAP = "--ratio 0.05:8:64:log --theta-norm 0.25:4:64:log";

export function simsCommand({classifier, alpha, n, penalty}) {
  return classifier === "averaging"
    ? `python -m sims phase_diagram ${MAP} --alpha ${alpha} --n ${n} --out runs/explorer`
    : `python -m sims logistic_diagram ${MAP} --alpha ${alpha} --penalty ${penalty} --out runs/explorer`;
}

const averagingLines = ({theta, ratio, alpha, n}) => `
import jax
from mixjax.gaussian import limit_scores, mixup_weight, population_ece, population_errors, sample_scores

t = [0.0, mixup_weight(${alpha}, ${alpha})]  # without and with Mixup
print(population_errors(limit_scores(${ratio}, ${theta}, t)))
laws = sample_scores(jax.random.key(0), n=${n}, p=${dimension({ratio, n})}, theta_norm=${theta}, t=t, replicates=1000)
print(population_ece(laws).mean(axis=-1))`;

const logisticLines = ({theta, ratio, alpha, penalty}) => `
from mixjax.gaussian import limit_logistic_scores, population_errors

alpha = [0.0, ${alpha}]  # without and with Mixup
print(population_errors(limit_logistic_scores(${ratio}, ${theta}, penalty=${penalty}, alpha=alpha)))`;

export const pythonLines = (state) => (state.classifier === "averaging" ? averagingLines : logisticLines)(state).trim();
