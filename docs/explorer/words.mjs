// The numbers of a state in words: the summary, the training sets, the theorems.
import {byId} from "./charts.mjs";
import {criticalRatio} from "./limits.mjs";
import {drawSpread} from "./panels.mjs";
import {accuracy, ece, FAST, mce, rmsEce, slope} from "./population.mjs";
import {dimension} from "./state.mjs";
import {theoremsAt} from "./theorems.mjs";
import {trainingSets} from "./training_sets.mjs";

const SETS = 1000; // training sets of the histograms
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const digits = {averaging: 4, logistic: 3}; // what the table of the trained classifier is good for
const before = (text) => `<b class="before">${text}</b>`;
const after = (text) => `<b class="after">${text}</b>`;

export const grouped = (value) => value.toLocaleString("en");

export function showNumbers(state, laws, t) {
  const rows = laws.map((law) => [ece, rmsEce, mce, accuracy, slope].map((value) => value(law)));
  const texts = rows.map((row) => row.map((value) => value.toFixed(digits[state.classifier])));
  const cells = texts.map((row) => row.map((text) => `<td>${text}</td>`).join(""));
  byId("numbers").innerHTML = `<tr><th scope="row" class="before">without</th>${cells[0]}</tr>`
    + `<tr><th scope="row" class="after">with</th>${cells[1]}</tr>`;
  const word = rows[1][0] < rows[0][0] ? "lowers" : "raises";
  const border = state.classifier === "averaging"
    ? ` At this |θ| and α it helps where p/n is above ${criticalRatio(state.theta, t).toPrecision(4)}.` : "";
  byId("verdict").innerHTML = `Mixup <b>${word}</b> the ECE here, from ${before(texts[0][0])} to ${after(texts[1][0])}.${border}`;
}

const NO_SPREAD = "The exact law at finite n is known for the averaging classifier. The limit of the trained one is "
  + "interpolated from a table: the ECE is off by up to 0.002 at μ = 0.001, and by less than 0.0005 at the other "
  + "penalties. Literal fits agree with the limit at n = 200 (docs/logistic.md).";

export function showSpread(state, laws, t) {
  byId("spread").hidden = state.classifier === "logistic";
  if (state.classifier === "logistic") {
    byId("spread-text").textContent = NO_SPREAD;
    return;
  }
  const {n, theta} = state, p = dimension(state);
  const [plain, mixed] = trainingSets(n, p, theta, [0, t], SETS).map((sets) => sets.map((law) => ece(law, FAST)));
  const better = 100 * mean(plain.map((value, i) => mixed[i] < value));
  drawSpread([plain, mixed], laws.map((law) => ece(law)));
  byId("spread-text").innerHTML = `${grouped(SETS)} training sets at n = ${grouped(n)}, p = ${grouped(p)}, from their `
    + `exact law: the mean ECE is ${before(mean(plain).toFixed(4))} without and ${after(mean(mixed).toFixed(4))} with Mixup, which is better in `
    + `${better.toFixed(1)} % of them. Vertical lines: the limit.`;
}

const MARKS = new Map([
  [true, ["holds", "✓ true here"]], [false, ["fails", "✗ false here"]], [null, ["", "– silent here"]],
]);
const NO_THEOREMS = "<p>The paper's theorems are about the averaging classifier. For the trained one Mixup can help, hurt and "
  + "help again as p/n grows.</p>";

function theoremRow({theorem, claim, here, holds}) {
  const [name, text] = MARKS.get(holds);
  return `<tr class="${holds === null ? "silent" : ""}"><th scope="row">${theorem}</th>`
    + `<td>${claim}<small>${here}</small></td>`
    + `<td><span class="${name}">${text}</span><small>overall: ${VERDICTS[theorem]}</small></td></tr>`;
}

export function showTheorems(state) {
  const averaging = state.classifier === "averaging";
  byId("overall").hidden = !averaging;
  byId("theorems").innerHTML = averaging
    ? `<table><tbody>${theoremsAt(state).map(theoremRow).join("")}</tbody></table>` : NO_THEOREMS;
}
