/* The first minute: one sentence about what the page shows, and three things to try. "Break it" changes one rule of the
   example and runs the model again, so that the picture, the rings and the perplexity change; the same button undoes it. */

wb.intro = (box) => {
  const { state } = wb;
  const line = box.querySelector("p"),
    breaks = box.querySelector(".break"),
    own = box.querySelector(".own");
  const WHAT = "A grammar decides which tokens a language model may write. ";
  const OWN = {
    notation: "regex",
    text: "(I think|Surely) it is (red|green|blue), because [a-z ]{5,40}\\.",
    prompt: "What colour is it? ",
    from: "own",
  };
  /** What to do next, by whether a finished run is on the page. */
  const NEXT = {
    true: "Click a token to see what the model preferred there.",
    false: "Press Run to let the model write under it.",
  };
  const FROM = {
    own: "Edit this grammar: the picture follows as you type. ",
    link: "This grammar was shared with you. ",
    draft: "This is your draft. ",
    lesson: "This grammar is from a lesson. ",
  };
  let broken = null; // the example as it was before it was broken

  const brokenText = () => broken.text.replace(broken.breaks[0], () => broken.breaks[1]);
  /** Whether a finished run of this grammar is shown. */
  const ran = () => state.steps.length > 0 && !state.running && state.ran === wb.key(state);
  const show = () => {
    const { example } = state;
    breaks.hidden = !broken && !example?.breaks;
    breaks.textContent = broken ? "Undo the break" : "Break it";
    own.hidden = example?.from === "own";
    const said = broken ? broken.breaks[2] : (FROM[example?.from] ?? (example?.name ? WHAT : FROM.own)) + NEXT[ran()];
    if (line.textContent !== said) line.textContent = said;
  };

  breaks.addEventListener("click", () => {
    const example = broken || state.example;
    broken = broken ? null : example;
    const text = (broken ? brokenText() : example.text).trimEnd(),
      piece = example.breaks[broken ? 1 : 0];
    wb.emit("rewrite", { text, run: true });
    const start = [...text.slice(0, example.text.indexOf(example.breaks[0]))].length;
    wb.emit("place", { start, end: start + [...piece].length }); // select the piece that changed
    show();
  });
  own.addEventListener("click", () => {
    wb.emit("open", OWN);
    wb.emit("focus editor", { select: true });
  });
  box.querySelector(".lessons").addEventListener("click", () => wb.emit("look", "learn"));
  box.querySelector(".away").addEventListener("click", () => {
    box.hidden = true;
    wb.saved?.set("intro", "away");
  });

  wb.on("example", () => {
    broken = null;
    show();
  });
  wb.on("compiled", (compiled) => {
    if (broken && compiled.text.trimEnd() !== brokenText().trimEnd()) broken = null;
    show();
  });
  for (const event of ["step", "finished", "typed"]) wb.on(event, show);
  box.hidden = wb.saved?.get("intro") === "away";
  show();
};
