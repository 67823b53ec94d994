// The page: what a move changes, and how one moves.
import {byId, partOf} from "./charts.mjs";
import {pythonLines, simsCommand} from "./commands.mjs";
import {criticalRatio, limitLaw, mixupWeight} from "./limits.mjs";
import {logisticLaws} from "./logistic.mjs";
import {drawMap, drawReliability, drawSpread, table} from "./panels.mjs";
import {accuracy, ece, FAST, mce, rmsEce, slope} from "./population.mjs";
import {dimension, linkOf, nearest, PENALTIES, roundAt, stateOf, VALUES} from "./state.mjs";
import {theoremsAt} from "./theorems.mjs";
import {trainingSets} from "./training_sets.mjs";

const SETS = 1000; // training sets of the histograms
let state = stateOf(location.hash);

const lawsAt = ({classifier, ratio, theta, penalty}, weights) => weights.map((t) => (
  classifier === "averaging" ? limitLaw(ratio, theta, t) : logisticLaws(table, penalty, t, [ratio], [theta])[0][0]));

const grouped = (value) => value.toLocaleString("en");
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function showControls() {
  for (const name of Object.keys(VALUES)) {
    const text = name === "n" ? grouped(state.n) : String(+state[name].toPrecision(4));
    byId(name).value = nearest(name, state[name]);
    byId(name).setAttribute("aria-valuetext", text);
    byId(`${name}-value`).textContent = text;
  }
  for (const name of ["classifier", "penalty"]) byId(name).value = String(state[name]);
  byId("penalty").parentNode.classList.toggle("off", state.classifier !== "logistic");
  byId("n").parentNode.classList.toggle("off", state.classifier === "logistic");
}

function showNumbers(laws, t) {
  const rows = laws.map((law) => [ece, rmsEce, mce, accuracy, slope].map((value) => value(law)));
  byId("numbers").innerHTML = rows.map((row, k) => (
    `<tr><th scope="row" class="${k ? "after" : "before"}">${k ? "with Mixup" : "without"}</th>`
    + row.map((value) => `<td>${value.toFixed(4)}</td>`).join("") + "</tr>")).join("");
  const [before, after] = rows.map(([value]) => value), word = after < before ? "lowers" : "raises";
  const border = state.classifier === "averaging"
    ? ` At this |θ| and α it helps where p/n is above ${criticalRatio(state.theta, t).toPrecision(4)}.` : "";
  byId("verdict").innerHTML = `Mixup <b>${word}</b> the ECE here, from <b class="before">${before.toFixed(4)}</b> `
    + `to <b class="after">${after.toFixed(4)}</b>.${border}`;
}

function showSpread(laws, t) {
  const averaging = state.classifier === "averaging";
  byId("spread").hidden = !averaging;
  if (!averaging) {
    byId("spread-text").textContent = "The exact law at finite n is known for the averaging classifier. The limit of the "
      + "trained one is interpolated from a table of mixjax, and agrees with literal fits from n of a few hundred on.";
    return;
  }
  const {n, theta} = state, p = dimension(state);
  const samples = trainingSets(n, p, theta, [0, t], SETS).map((sets) => sets.map((law) => ece(law, FAST)));
  const better = samples[0].filter((value, i) => samples[1][i] < value).length;
  drawSpread(samples, laws.map((law) => ece(law)));
  byId("spread-text").innerHTML = `The ECE of ${grouped(SETS)} training sets at n = ${grouped(n)}, p = ${grouped(p)}, from `
    + `their exact law: mean <b class="before">${mean(samples[0]).toFixed(4)}</b> without and `
    + `<b class="after">${mean(samples[1]).toFixed(4)}</b> with Mixup, which is better in ${(100 * better / SETS).toFixed(1)} % `
    + "of them. Vertical lines: the limit.";
}

const MARKS = new Map([[true, ["holds", "✓ true here"]], [false, ["fails", "✗ false here"]], [null, ["", "– silent here"]]]);

function showTheorems() {
  byId("overall").hidden = state.classifier === "logistic";
  if (state.classifier === "logistic") {
    byId("theorems").innerHTML = "<p>The paper's theorems are about the averaging classifier. For the trained one Mixup can "
      + "help, hurt and help again as p/n grows.</p>";
    return;
  }
  byId("theorems").innerHTML = `<table><tbody>${theoremsAt(state).map(({theorem, claim, here, holds}) => {
    const [name, text] = MARKS.get(holds);
    return `<tr class="${holds === null ? "silent" : ""}"><th scope="row">${theorem}</th><td>${claim}<small>${here}</small></td>`
      + `<td><span class="${name}">${text}</span><small>overall: ${VERDICTS[theorem]}</small></td></tr>`;
  }).join("")}</tbody></table>`;
}

let linking = 0;
function rememberLink() { // at rest: browsers limit how often a page may
  clearTimeout(linking);
  linking = setTimeout(() => history.replaceState(null, "", linkOf(state)), 200);
}

function show() {
  const t = mixupWeight(state.alpha), laws = lawsAt(state, [0, t]);
  showControls();
  showNumbers(laws, t);
  drawMap(state, t);
  drawReliability(laws);
  showSpread(laws, t);
  showTheorems();
  byId("command").textContent = simsCommand(state);
  byId("python").textContent = pythonLines(state);
}

let waiting = false;
function move(change) { // one drawing a frame, however many events there are
  Object.assign(state, change);
  rememberLink();
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; show(); });
}

function copy(text, button) {
  const done = () => {
    const label = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1200);
  };
  navigator.clipboard?.writeText(text).then(done, () => window.prompt("Copy this:", text));
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function listen() {
  for (const [name, values] of Object.entries(VALUES)) {
    Object.assign(byId(name), {min: 0, max: values.length - 1, step: 1});
    byId(name).addEventListener("input", (event) => move({[name]: values[event.target.value]}));
  }
  byId("penalty").innerHTML = PENALTIES.map((value) => `<option>${value}</option>`).join("");
  byId("penalty").addEventListener("change", (event) => move({penalty: Number(event.target.value)}));
  byId("classifier").addEventListener("change", (event) => move({classifier: event.target.value}));
  const map = byId("map"), to = (event) => {
    const [x, y] = partOf(map, event);
    move({ratio: roundAt("ratio", x), theta: roundAt("theta", y)});
  };
  map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); to(event); });
  map.addEventListener("pointermove", (event) => { if (event.buttons) to(event); });
  map.addEventListener("keydown", (event) => {
    const [name, step] = {ArrowLeft: ["ratio", -1], ArrowRight: ["ratio", 1], ArrowDown: ["theta", -1], ArrowUp: ["theta", 1]}[event.key] || [];
    if (!name) return;
    event.preventDefault();
    const values = VALUES[name], index = nearest(name, state[name]) + step * (event.shiftKey ? 10 : 1);
    move({[name]: values[Math.max(0, Math.min(values.length - 1, index))]});
  });
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copy(byId(button.dataset.copy).textContent, button));
  }
  byId("copy-link").addEventListener("click", (event) => copy(location.href.split("#")[0] + linkOf(state), event.target));
  const dark = matchMedia("(prefers-color-scheme: dark)"), system = () => setTheme(dark.matches ? "dark" : "light");
  system();
  dark.addEventListener("change", () => { system(); move({}); });
  byId("theme").addEventListener("click", () => {
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    move({});
  });
  addEventListener("hashchange", () => move(stateOf(location.hash)));
  addEventListener("resize", () => move({}));
}

listen();
show();
