/* A question of a lesson: what is right is asked of the engine, and so is why an answer is not. */
(() => {
  const { el } = wb;
  const HOW = {
    several: "Choose all that are right.",
    text: "Type a text.",
    tokens: "Type tokens, with spaces between.",
    number: "Type a number.",
  };

  wb.quiz = (question, ask, solved, { checked, done }) => {
    const reply = el("div", { class: "reply", role: "status" });
    const form = el("form", {
      class: "quiz",
      "aria-label": "Question",
      onsubmit: (event) => {
        event.preventDefault();
        check();
      },
    });
    const button = el("button", { type: "submit", class: "primary" }, "Check");
    let read;

    if (question.form === "several") {
      const box = el("div", { class: "options", role: "group", "aria-label": question.ask });
      const options = question.options.map((text, i) =>
        el(
          "button",
          {
            type: "button",
            role: "checkbox",
            "aria-checked": "false",
            tabindex: i ? "-1" : "0",
            onclick: (event) => toggle(event.currentTarget),
          },
          el("i", { "aria-hidden": "true" }),
          el("code", {}, text),
        ),
      );
      const toggle = (option) => {
        option.setAttribute("aria-checked", String(option.getAttribute("aria-checked") !== "true"));
        stop(option);
        reply.replaceChildren();
      };
      const stop = (chosen) => {
        for (const each of options) each.tabIndex = each === chosen ? 0 : -1;
      };
      box.append(...options);
      wb.roving(box, stop);
      read = () => options.flatMap((option, i) => (option.getAttribute("aria-checked") === "true" ? [i] : []));
      form.append(
        el("p", { class: "ask" }, question.ask),
        el("p", { class: "quiet small" }, HOW.several),
        box,
        el("div", { class: "acts" }, button),
      );
    } else {
      // no type: Gradio's reset of forms paints every [type=text] white
      const input = el("input", {
        maxlength: "200",
        spellcheck: "false",
        autocapitalize: "off",
        autocomplete: "off",
        inputmode: question.form === "number" ? "decimal" : null,
        "aria-label": question.ask,
        placeholder: HOW[question.form],
      });
      read = () => input.value;
      form.append(el("p", { class: "ask" }, question.ask), el("div", { class: "acts" }, input, button));
    }
    form.append(reply);
    if (solved) reply.append(el("p", { class: "good" }, "✓ You have answered this one."));

    async function check() {
      button.disabled = true;
      const answer = await wb.ask(ask, { answer: read() });
      button.disabled = false;
      if (answer.fault || !answer.ok) {
        reply.replaceChildren(el("p", { class: "no" }, `✗ ${answer.fault || answer.why}`));
        return;
      }
      const notes = answer.notes.map((note) => el("li", {}, el("code", {}, note.option), " ", note.why));
      reply.replaceChildren(
        el("p", { class: answer.right ? "good" : "no" }, (answer.right ? "✓ " : "✗ ") + answer.say),
        notes.length ? el("ul", {}, ...notes) : "",
      );
      checked();
      if (answer.right) done();
    }
    return form;
  };
})();
