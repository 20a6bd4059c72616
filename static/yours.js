/* The drafts of this browser: a menu to save, open, rename and delete them, and a line about the draft
   that is open. */

(() => {
  const { el, drafts, saved } = wb;
  const PATIENCE = 4000; // milliseconds within which the second click must come

  const when = (time) =>
    new Date(time).toLocaleString([], { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

  /** A button that acts on its second click, for actions that cannot be undone. */
  function sure(properties, words, question, act) {
    let armed = 0;
    const button = el("button", { type: "button", ...properties }, words);
    button.addEventListener("click", (event) => {
      event.stopPropagation(); // the action may remove the button, and the menu would take the click for one outside
      if (armed) {
        clearTimeout(armed);
        act();
        return;
      }
      button.textContent = question;
      armed = setTimeout(() => {
        armed = 0;
        button.textContent = words;
      }, PATIENCE);
    });
    return button;
  }

  /** The menu: ``Drafts``, to be put wherever there is room. */
  drafts.menu = () => {
    const name = el("input", {
      type: "text",
      maxlength: "80",
      placeholder: "a name",
      spellcheck: "false",
      autocomplete: "off",
      "aria-label": "Name of the draft",
    });
    const status = el("p", { class: "quiet told", role: "status" });
    const list = el("ul", { "aria-label": "Drafts in this browser" });
    const form = el(
      "form",
      { class: "saveas" },
      el("label", {}, "Save this grammar as", name),
      el("button", { type: "submit" }, "Save"),
    );
    const forget = sure({ class: "link no" }, "Delete everything", "Delete all drafts and settings?", drafts.forget);
    const sheet = el(
      "div",
      { class: "sheetlet", hidden: true },
      form,
      status,
      list,
      el("p", { class: "quiet keeps" }, el("span", {}, "Stored in this browser only."), forget),
    );
    const box = el(
      "div",
      { class: "menu drafts" },
      el("button", { type: "button", "aria-haspopup": "true", "aria-expanded": "false" }, "Drafts"),
      sheet,
    );
    const menu = wb.menu(box);

    function rename(row, draft) {
      const field = el("input", { type: "text", maxlength: "80", "aria-label": "New name" });
      field.value = draft.name;
      const done = () => {
        status.textContent = drafts.rename(draft.name, field.value);
        if (status.textContent) field.focus();
        else show();
      };
      row.replaceChildren(
        el(
          "form",
          {
            onsubmit: (event) => {
              event.preventDefault();
              done();
            },
          },
          field,
          el("button", { type: "submit" }, "Rename"),
        ),
      );
      field.addEventListener("keydown", (event) => {
        if (event.key === "Escape") {
          event.stopPropagation();
          show();
        }
      });
      field.select();
    }

    function show() {
      const rows = drafts.list().map((draft) => {
        const row = el("li", {});
        const open = el(
          "button",
          {
            type: "button",
            class: "bare name",
            title: draft.text.slice(0, 200),
            onclick: () => {
              menu.close();
              drafts.open(draft.name);
            },
          },
          draft.name,
        );
        row.append(
          open,
          el("span", { class: "quiet" }, when(draft.when)),
          el(
            "button",
            {
              type: "button",
              class: "bare",
              "aria-label": `Rename ${draft.name}`,
              onclick: (event) => {
                event.stopPropagation();
                rename(row, draft);
              },
            },
            "rename",
          ),
          sure({ class: "bare", "aria-label": `Delete ${draft.name}` }, "delete", "really?", () => {
            drafts.remove(draft.name);
          }),
        );
        return row;
      });
      list.replaceChildren(...(rows.length ? rows : [el("li", { class: "quiet" }, "No drafts yet.")]));
    }

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      status.textContent = drafts.save(name.value);
      if (status.textContent) return;
      wb.notice(`Saved as “${name.value.trim()}” in this browser.`);
      name.value = "";
      menu.close();
    });
    if (!saved.possible) status.textContent = "Drafts cannot be saved: browser storage is blocked.";
    wb.on("drafts", show);
    show();
    return box;
  };

  /** The line ``your draft of 20 Nov, 14:03 · discard``: before the buttons of the intro; where that is hidden, in the header. */
  drafts.line = (intro, header) => {
    const line = el("span", { class: "draftline quiet", role: "status", hidden: true });
    const place = () => {
      if (intro.hidden) header.append(line);
      else intro.querySelector(".acts").before(line);
    };
    new MutationObserver(place).observe(intro, { attributes: true, attributeFilter: ["hidden"] });
    place();
    wb.on("draft", (draft) => {
      line.hidden = !draft;
      if (!draft) return;
      const link = (words, act) => el("button", { type: "button", class: "link", onclick: act }, words);
      line.replaceChildren(
        `your draft of ${when(draft.when)}`,
        " · ",
        ...(draft.open ? [] : [link("open it", drafts.reopen), " · "]),
        link("discard", () => (draft.open ? drafts.restart() : drafts.discard())),
      );
    });
  };

  /** The group of the example picker; its options' values begin with ``draft:``. */
  drafts.options = () =>
    el(
      "optgroup",
      { label: "Yours" },
      ...drafts.list().map((draft) => el("option", { value: `draft:${draft.name}` }, draft.name)),
    );
})();
