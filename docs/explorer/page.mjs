// The page: what a move changes, and how one moves.
import {byId, partOf} from "./charts.mjs";
import {pythonLines, simsCommand} from "./commands.mjs";
import {limitLaw, mixupWeight} from "./limits.mjs";
import {logisticLaws} from "./logistic.mjs";
import {drawMap, drawReliability, table} from "./panels.mjs";
import {linkOf, nearest, PENALTIES, roundAt, stateOf, VALUES} from "./state.mjs";
import {grouped, showNumbers, showSpread, showTheorems} from "./words.mjs";

const state = stateOf(location.hash);

const lawsAt = ({classifier, ratio, theta, penalty}, weights) => weights.map((t) => (
  classifier === "averaging" ? limitLaw(ratio, theta, t) : logisticLaws(table(), penalty, t, [ratio], [theta])[0][0]));

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

let linking = 0;
function rememberLink() { // at rest: browsers limit how often a page may
  clearTimeout(linking);
  linking = setTimeout(() => history.replaceState(null, "", linkOf(state)), 200);
}

function show() {
  const t = mixupWeight(state.alpha), laws = lawsAt(state, [0, t]);
  showControls();
  showNumbers(state, laws, t);
  drawMap(state, t);
  drawReliability(laws);
  showSpread(state, laws, t);
  showTheorems(state);
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
  button.dataset.label ??= button.textContent;
  const done = () => {
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = button.dataset.label; }, 1200);
  };
  const copied = navigator.clipboard?.writeText(text) ?? Promise.reject(); // there is none without https
  copied.then(done, () => window.prompt("Copy this:", text));
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function listenToControls() {
  for (const [name, values] of Object.entries(VALUES)) {
    Object.assign(byId(name), {min: 0, max: values.length - 1, step: 1});
    byId(name).addEventListener("input", (event) => move({[name]: values[event.target.value]}));
  }
  byId("penalty").innerHTML = PENALTIES.map((value) => `<option>${value}</option>`).join("");
  byId("penalty").addEventListener("change", (event) => move({penalty: Number(event.target.value)}));
  byId("classifier").addEventListener("change", (event) => move({classifier: event.target.value}));
}

const ARROWS = {ArrowLeft: ["ratio", -1], ArrowRight: ["ratio", 1], ArrowDown: ["theta", -1], ArrowUp: ["theta", 1]};

function listenToMap() {
  const map = byId("map"), to = (event) => {
    const [x, y] = partOf(map, event);
    move({ratio: roundAt("ratio", x), theta: roundAt("theta", y)});
  };
  map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); to(event); });
  map.addEventListener("pointermove", (event) => { if (event.buttons) to(event); });
  map.addEventListener("keydown", (event) => {
    if (!(event.key in ARROWS)) return;
    event.preventDefault();
    const [name, step] = ARROWS[event.key], values = VALUES[name];
    const index = nearest(name, state[name]) + step * (event.shiftKey ? 10 : 1);
    move({[name]: values[Math.max(0, Math.min(values.length - 1, index))]});
  });
}

function listenToPage() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copy(byId(button.dataset.copy).textContent, button));
  }
  byId("copy-link").addEventListener("click", ({target}) => copy(location.href.split("#")[0] + linkOf(state), target));
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

listenToControls();
listenToMap();
listenToPage();
showControls();
requestAnimationFrame(() => setTimeout(show)); // after the first paint
