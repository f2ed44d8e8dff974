/** Follow a run while it goes on: the curves grow, the bar moves; when it has ended the page shows its report. */

import { h } from "../viewer/dom.js";
import { draw } from "./plots.js";

const live = document.getElementById("live");
const sentence = document.getElementById("sentence");
const progress = document.getElementById("progress");
const plots = document.querySelector("#plots .plots");

function show(state) {
  sentence.textContent = state.sentence;
  progress.hidden = !state.total;
  if (state.total) {
    progress.max = state.total;
    progress.value = state.done;
  }
  state.plots.forEach((plot, index) => {
    if (!plots.children[index]) plots.append(h("div", { class: "plot", role: "figure" }));
    const element = plots.children[index];
    element.setAttribute("aria-label", plot.layout.title.text);
    draw(element, plot);
  });
}

if (live.dataset.state === "running") {
  const events = new EventSource(`/runs/${live.dataset.run}/events`);
  let ended = false;
  events.addEventListener("state", (event) => {
    const state = JSON.parse(event.data);
    show(state);
    ended = state.state !== "running";
    if (state.state === "finished") {
      events.close();
      location.reload();
    }
  });
  events.addEventListener("gone", (event) => {
    events.close();
    sentence.textContent = JSON.parse(event.data).sentence;
  });
  events.addEventListener("error", () => {
    // The server has said all: a run that has stopped may turn out to be removed, which comes after its state.
    if (ended) events.close();
    else if (events.readyState === EventSource.CLOSED) sentence.textContent = "The server does not answer: is it still running?";
  });
}
