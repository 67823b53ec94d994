"""The page of the explorer: one small file that asks the network for nothing, and its numbers in Chromium."""

from __future__ import annotations

import html
import json
import re
import shlex

import jax
import numpy as np
import pytest

import mixjax.sims.cli as cli
from mixjax.gaussian import limit_logistic_scores, limit_scores, mixup_weight, population_errors
from tests.explorer.engine import EXPLORER, builder, evaluate, opened

PAGE = EXPLORER / "index.html"
LARGEST = 100_000  # bytes
LINKS = (
    "#theta=1.5&ratio=0.7&alpha=0.3&n=50",
    "#theta=1&ratio=0.8&alpha=2&classifier=logistic&penalty=0.1",
)
PROBE = """
(async () => {
  window.requestAnimationFrame = (draw) => setTimeout(draw, 16); // there may be no frames without a screen
  const pause = () => new Promise((done) => setTimeout(done, 300)); // until what happened is drawn, and in the link
  const text = (id) => document.getElementById(id).innerText;
  const seen = () => Object.fromEntries(["command", "theorems", "verdict"].map((id) => [id, text(id)]));
  const numbers = () => [...document.querySelectorAll("#numbers tr")].map(
    (row) => [...row.querySelectorAll("td")].map((cell) => Number(cell.innerText)));
  const found = {states: [], width: document.documentElement.scrollWidth, screen: innerWidth};
  for (const link of LINKS) {
    location.hash = link;
    await pause();
    found.states.push({...seen(), numbers: numbers()});
  }
  location.hash = "#theta=1&ratio=1";
  await pause();
  const map = document.getElementById("map"), box = map.getBoundingClientRect();
  map.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
  map.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown", bubbles: true}));
  await pause();
  found.keys = location.hash;
  map.setPointerCapture = () => {};
  const touch = {clientX: box.right, clientY: box.top, buttons: 1, pointerType: "touch"};
  map.dispatchEvent(new PointerEvent("pointerdown", touch));
  await pause();
  found.corner = location.hash;
  const slider = document.getElementById("alpha");
  slider.value = 0;
  slider.dispatchEvent(new Event("input", {bubbles: true}));
  await pause();
  found.slider = location.hash;
  const theme = () => document.documentElement.dataset.theme;
  const shade = () => document.getElementById("reliability").getContext("2d").strokeStyle;
  found.themes = [theme(), shade()];
  document.getElementById("theme").click();
  await pause();
  found.themes.push(theme(), shade());
  found.requests = performance.getEntriesByType("resource").length;
  document.body.append(Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(found)}));
})();
"""


def test_is_built_from_its_sources():
    assert PAGE.read_text() == builder().page(), "run python docs/explorer/build.py"


def test_is_small_and_asks_for_nothing():
    """Under 100 kB; a policy of the page forbids every request, and no address is in it."""
    text = PAGE.read_text()
    assert len(text.encode()) < LARGEST
    assert "default-src 'none'" in text
    assert re.findall(r"https?://|\bimport\(|fetch\(|XMLHttpRequest|@import|url\(", text) == []


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What a visitor of the page sees who follows two links, moves on the map and with a slider, and makes it dark."""
    folder = tmp_path_factory.mktemp("explorer")
    page = folder / "probed.html"
    probe = f"<script>const LINKS = {json.dumps(LINKS)};{PROBE}</script></body>"
    page.write_text(PAGE.read_text().replace("</body>", probe))
    options = ["--dump-dom", "--virtual-time-budget=20000", "--window-size=390,1200", "--enable-logging=stderr"]
    done = opened(page, folder / "profile", *options)
    assert "CONSOLE" not in done.stderr
    return json.loads(html.unescape(re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)[1]))


@pytest.mark.medium
def test_numbers_are_those_of_mixjax(found):
    averaging = limit_scores(0.7, 1.5, np.array([0.0, float(mixup_weight(0.3, 0.3))]))
    laws = [averaging, limit_logistic_scores(0.8, 1.0, penalty=0.1, alpha=np.array([0.0, 2.0]))]
    for state, law, tolerance in zip(found["states"], laws, (5.1e-5, 7e-4), strict=True):  # four decimals; three
        shown = np.array(state["numbers"])[:, :3].T
        np.testing.assert_allclose(shown, np.stack(population_errors(law)), rtol=0, atol=tolerance)
        word = "lowers" if shown[0, 1] < shown[0, 0] else "raises"
        assert word in state["verdict"]


@pytest.mark.medium
def test_moves(found):
    """Arrow keys, a touch at the corner of the map, a slider, the theme; a narrow screen does not scroll sideways."""
    assert found["keys"].startswith("#theta=0.99&ratio=1.02&")
    assert found["corner"].startswith("#theta=4&ratio=8&")
    assert "alpha=0.01&" in found["slider"]
    assert found["themes"][0] != found["themes"][2]
    assert found["themes"][1] != found["themes"][3]
    assert found["requests"] == 0
    assert found["width"] <= found["screen"]


@pytest.mark.medium
def test_theorems_speak_of_the_averaging_classifier(found):
    averaging, trained = (state["theorems"] for state in found["states"])
    verdicts = builder().data().partition("VERDICTS")[2]
    assert all(f"{theorem}\t" in averaging for theorem in ("3.1", "3.2", "3.3", "5.1", "5.2", "5.3"))
    assert averaging.count("overall: refuted") == verdicts.count("refuted")
    assert "false here" in averaging.rpartition("5.3\t")[2]
    assert "averaging classifier" in trained


def configuration(command: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What a command of `python -m sims` would run."""
    works = []

    def stop(work, *_):
        works.append(work)
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "execute", stop)
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "sims"]
    assert cli.main(words[3:]) == 130
    return vars(works[0].config)


@pytest.mark.medium
def test_commands_are_commands(found, monkeypatch, capsys):
    averaging, trained = (configuration(state["command"], monkeypatch) for state in found["states"])
    assert (averaging["alpha"], averaging["n"], averaging["theta_norm"]) == ("0.3", "50", "0.25:4:64:log")
    assert (trained["alpha"], trained["penalty"], trained["ratio"]) == ("2", "0.1", "0.05:8:64:log")


LAWS = {  # of the state at the start, for each classifier, and how far the page may be off
    "averaging": ("limitLaw(START.ratio, START.theta, t)", 5e-5),
    "logistic": ("logisticLaws(decodedTable(TABLE), START.penalty, t, [START.ratio], [START.theta])[0][0]", 6e-4),
}


@pytest.mark.medium
@pytest.mark.parametrize("classifier", LAWS)
def test_python_lines_run(classifier, tmp_path, capsys):
    """With the settings that JAX has by default, they print the numbers of the state."""
    lines = evaluate(f"pythonLines({{...START, classifier: '{classifier}'}})", tmp_path)
    law, tolerance = LAWS[classifier]
    expected = evaluate(f"[0, mixupWeight(START.alpha)].map((t) => ece({law}))", tmp_path)
    with jax.enable_x64(False), jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        exec(compile(lines, "lines", "exec", dont_inherit=True), {"__name__": "__main__"})
    printed = [float(number) for number in re.findall(r"\d\.\d+(?:e[+-]\d+)?", capsys.readouterr().out)]
    np.testing.assert_allclose(printed[:2], expected, rtol=0, atol=tolerance)
