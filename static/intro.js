/* The first sixty seconds: one sentence, and three ways on. "Break it" changes one rule of the example so that
   the machine and the run change before the visitor's eyes; the same button mends it again. */
"use strict";
wb.intro = (box) => {
  const { state } = wb;
  const line = box.querySelector("p"), breaks = box.querySelector(".break"), own = box.querySelector(".own");
  const OPENING = "A grammar decides which tokens a language model may say. Below is a finished run: click any token to see what the model wanted there, and what the grammar let through.";
  const OWN = { notation: "regex", text: "(I think|Surely) it is (red|green|blue), because [a-z ]{5,40}\\.", prompt: "What colour is it? " };
  let broken = null; // the example as it was before it was broken

  const brokenText = () => broken.text.replace(broken.breaks[0], () => broken.breaks[1]);
  const show = () => {
    breaks.hidden = !broken && !state.example?.breaks;
    breaks.textContent = broken ? "Mend it" : "Break it";
    line.textContent = broken ? broken.breaks[2] : OPENING;
  };

  breaks.addEventListener("click", () => {
    const example = broken || state.example;
    broken = broken ? null : example;
    wb.emit("rewrite", { text: (broken ? brokenText() : example.text).trimEnd(), run: true });
    show();
  });
  own.addEventListener("click", () => {
    wb.emit("open", OWN);
    wb.emit("focus editor", { select: true });
    line.textContent = "Write over it: the machine follows as you type, and Ctrl Enter lets the model write under it.";
  });
  box.querySelector(".lessons").addEventListener("click", () => wb.emit("look", "learn"));
  box.querySelector(".away").addEventListener("click", () => { box.hidden = true; wb.saved?.set("intro", "away"); });

  wb.on("example", () => { broken = null; show(); });
  wb.on("compiled", (compiled) => { if (broken && compiled.text.trimEnd() !== brokenText().trimEnd()) { broken = null; show(); } });
  box.hidden = wb.saved?.get("intro") === "away";
  show();
};
