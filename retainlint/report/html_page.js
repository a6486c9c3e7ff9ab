"use strict";
const every = (from, what) => Array.from(from.querySelectorAll(what));
const findings = every(document, ".finding");

// -- what is shown ------------------------------------------------------------------------------------------------

const form = document.querySelector(".find");
const chosen = { rule: null, folder: null };
const words = new Map();

function textOf(finding) {
  if (!words.has(finding)) words.set(finding, finding.textContent.toLowerCase());
  return words.get(finding);
}

function show() {
  const wanted = form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
  let many = 0;
  for (const finding of findings) {
    const { rule, folder, grade } = finding.dataset;
    const fits = form[grade].checked && (!chosen.rule || chosen.rule === rule) &&
      (!chosen.folder || chosen.folder === folder) && wanted.every((word) => textOf(finding).includes(word));
    finding.hidden = !fits;
    many += fits;
  }
  form.querySelector("output").textContent = `${many.toLocaleString("en")} of ${findings.length.toLocaleString("en")} shown`;
}

if (form) {
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("click", (event) => {
    const open = { open: true, shut: false }[event.target.dataset.do];
    if (open !== undefined) for (const finding of findings) if (!finding.hidden) finding.open = open;
  });
  for (const kind of ["rule", "folder"]) {
    const buttons = every(document, `.tables [data-${kind}]`);
    for (const button of buttons) {
      button.addEventListener("click", () => {
        chosen[kind] = chosen[kind] === button.dataset[kind] ? null : button.dataset[kind];
        for (const each of buttons) each.setAttribute("aria-pressed", String(each.dataset[kind] === chosen[kind]));
        show();
      });
    }
  }
}

// -- graphs, step by step -----------------------------------------------------------------------------------------

const PACE = 900;

class Life {
  constructor(section) {
    this.section = section;
    this.steps = every(section, ".steps li");
    this.nodes = every(section, ".n");
    this.arrows = every(section, ".e");
    this.slider = section.querySelector("input");
    this.said = section.querySelector(".steer output");
    this.list = section.querySelector(".steps");
    this.play = section.querySelector("[data-go=play]");
    this.at = this.steps.length;
    this.timer = null;
    this.go(this.at);
    section.addEventListener("click", (event) => this.clicked(event.target));
    section.addEventListener("keydown", (event) => this.pressed(event));
    this.slider.addEventListener("input", () => { this.stop(); this.go(Number(this.slider.value)); });
  }

  go(at) {
    this.at = Math.max(1, Math.min(this.steps.length, at));
    const step = this.steps[this.at - 1];
    const states = step.dataset.s;
    const on = new Set(step.dataset.e.split(" "));
    this.nodes.forEach((node) => {
      node.setAttribute("class", `n ${states[node.dataset.n]}${node.classList.contains("leaf") ? " leaf" : ""}`);
    });
    this.arrows.forEach((arrow) => {
      const [start, end] = arrow.dataset.e.split("-");
      const unbuilt = states[start] === "u" || states[end] === "u";
      arrow.setAttribute("class", `e ${unbuilt ? "u" : on.has(arrow.dataset.e) ? "on" : ""}`);
    });
    this.steps.forEach((each) => each.removeAttribute("aria-current"));
    step.setAttribute("aria-current", "step");
    this.list.scrollTop = step.offsetTop - this.list.offsetTop - this.list.clientHeight / 2;
    this.section.classList.toggle("failing", step.className === "fail");
    this.section.classList.toggle("done", this.at === this.steps.length);
    this.slider.value = this.at;
    this.said.textContent = `${this.at} of ${this.steps.length}`;
  }

  run() {
    if (this.timer) return this.stop();
    if (this.at === this.steps.length) this.go(1);
    this.timer = setInterval(() => { this.go(this.at + 1); if (this.at === this.steps.length) this.stop(); }, PACE);
    this.play.textContent = "❚❚";
    this.play.setAttribute("aria-label", "pause");
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "▶";
    this.play.setAttribute("aria-label", "play");
  }

  clicked(target) {
    const step = target.closest(".steps li");
    const way = target.closest("[data-go]")?.dataset.go;
    if (way === "play") return this.run();
    if (!step && !way) return;
    this.stop();
    this.go(step ? this.steps.indexOf(step) + 1 : { first: 1, back: this.at - 1, on: this.at + 1, last: this.steps.length }[way]);
  }

  pressed(event) {
    const to = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 1, End: this.steps.length }[event.key];
    if (to === undefined || event.target === this.slider || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.stop();
    this.go(to);
  }
}

const seen = new IntersectionObserver((sections) => {
  for (const { target, isIntersecting } of sections) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    new Life(target);
  }
});
for (const section of every(document, ".life")) seen.observe(section);

function reveal() {
  const asked = /^#f\d+$/.test(location.hash) && document.querySelector(location.hash);
  if (asked) { asked.open = true; asked.scrollIntoView(); }
}
addEventListener("hashchange", reveal);
reveal();
addEventListener("beforeprint", () => findings.forEach((finding) => { if (!finding.hidden) finding.open = true; }));
