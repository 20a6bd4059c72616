/* The header: example, view, theme, help. On a narrow page it is one line with a menu, and a bar at the lower edge leads
   to the parts of the page. */

/** A dialog with a close button: it opens scrolled to its top, with the focus on its heading. */
wb.sheet = (dialog) => {
  document.body.append(dialog); // outside Gradio's containers, which could clip it
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest(".close")) dialog.close();
  });
  return () => {
    if (dialog.open) return;
    dialog.showModal();
    dialog.scrollTop = 0;
    dialog.querySelector("h2").focus();
  };
};
wb.parts.header = ({ element, props, server }) => {
  const { el, state } = wb;
  const find = (selector) => element.querySelector(selector);
  const picker = find("select"),
    views = find(".views"),
    theme = find(".theme"),
    header = find(".header");
  const page = JSON.parse(props.value);
  state.gallery = page.gallery;
  state.methods = page.methods;
  state.space = page.space;

  const groups = new Map();
  page.gallery.forEach((example, index) => {
    if (!groups.has(example.group)) groups.set(example.group, []);
    groups
      .get(example.group)
      .push(
        el(
          "option",
          { value: String(index) },
          example.title + (example.refused ? ` · ${example.refused} refused` : ""),
        ),
      );
  });
  /** The name of a grammar that is not in the gallery: the person's own, a draft, a link. */
  const other = el("option", { value: "", hidden: true }, "Your own");
  const fill = () => {
    const chosen = picker.value;
    picker.replaceChildren(
      other,
      wb.drafts.options(),
      ...[...groups].map(([name, options]) => el("optgroup", { label: name }, ...options)),
    );
    picker.querySelector("optgroup").hidden = !wb.drafts.list().length;
    picker.value = [...picker.options].some((option) => option.value === chosen) ? chosen : "";
  };
  fill();
  wb.on("drafts", fill);
  find(".bench").append(wb.drafts.menu());
  wb.drafts.line(find(".intro"), header);
  const call = (title) => {
    other.textContent = title;
    picker.value = "";
  };

  let opening = 0;
  async function open(index, first) {
    const { name } = page.gallery[index],
      mine = ++opening;
    picker.value = String(index);
    const example = name === page.first.name ? page.first : await wb.ask(server.open_example, { name });
    if (mine !== opening) return; // another was chosen meanwhile
    if (example.fault) {
      wb.notice(example.fault);
      return;
    }
    state.example = { ...example, first: Boolean(first) };
    wb.emit("example", state.example);
  }
  picker.addEventListener("change", () => {
    if (picker.value.startsWith("draft:")) wb.drafts.open(picker.value.slice(6));
    else if (picker.value !== "") open(Number(picker.value));
  });
  for (const event of ["typed", "switch"]) wb.on(event, () => call("Your own"));

  theme.addEventListener("click", wb.toggleTheme);
  const named = (dark) => theme.setAttribute("aria-label", dark ? "Switch to light" : "Switch to dark");
  wb.on("theme", named);
  named(document.documentElement.dataset.theme === "dark");

  // -- views ------------------------------------------------------------------------------------
  function look(view) {
    if (state.view === view) return;
    state.view = view;
    document.body.dataset.view = view;
    wb.choose(views, "aria-checked", views.querySelector(`[data-view="${view}"]`));
    scrollTo({ top: 0 });
    wb.emit("view", view);
  }
  const lookAt = (button) => look(button.dataset.view);
  views.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) lookAt(button);
  });
  wb.roving(views, lookAt);
  wb.on("look", look);

  // -- keys ---------------------------------------------------------------------------------------
  const openHelp = wb.sheet(find("dialog"));
  find(".helpbutton").addEventListener("click", openHelp);
  wb.on("help", openHelp);
  document.addEventListener("keydown", (event) => {
    if (
      /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName) ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      document.querySelector("dialog[open]")
    )
      return;
    const go = (act) => {
      event.preventDefault();
      act();
    };
    if (event.key === "?") go(openHelp);
    const view = { l: "learn", c: "compare" }[event.key];
    if (view) go(() => look(state.view === view ? "workbench" : view));
    if (state.view !== "workbench") return;
    if (event.key === "g") go(() => document.querySelector("#wb-picture .pic").focus());
    if (event.key === "e") go(() => wb.emit("focus editor"));
    if (event.key === "t") {
      const token = document.querySelector("#wb-run .tok[tabindex='0']");
      if (token) go(() => token.focus());
    }
  });

  find(".share").addEventListener("click", (event) => wb.share(event.target));

  // -- a narrow page --------------------------------------------------------------------------------
  const more = find(".morebutton"),
    box = find(".more"),
    narrow = matchMedia("(max-width: 520px)");
  function unfold(open) {
    header.classList.toggle("open", open);
    more.setAttribute("aria-expanded", String(open));
  }
  more.addEventListener("click", () => unfold(!header.classList.contains("open")));
  document.addEventListener("click", (event) => {
    if (
      !more.contains(event.target) &&
      (!box.contains(event.target) || event.target.closest(".views, .share, .helpbutton"))
    )
      unfold(false);
  });
  header.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && header.classList.contains("open")) {
      unfold(false);
      more.focus();
    }
  });
  const place = () => {
    if (narrow.matches) box.prepend(views);
    else find(".mark").after(views);
  };
  narrow.addEventListener("change", place);
  place();

  const parts = [...element.querySelectorAll(".parts button")];
  const target = (button) => document.querySelector(button.dataset.to);
  for (const button of parts)
    button.addEventListener("click", () =>
      scrollTo({ top: button === parts[0] ? 0 : target(button).getBoundingClientRect().top + scrollY - 8 }),
    );
  /** Mark the part that is in the middle of the window. */
  function seen() {
    const here = parts.findLast((button) => target(button).getBoundingClientRect().top < innerHeight / 2) ?? parts[0];
    for (const button of parts) button.setAttribute("aria-current", String(button === here));
  }
  let asked = 0;
  addEventListener(
    "scroll",
    () => {
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(seen);
    },
    { passive: true },
  );
  wb.on("ready", () => new ResizeObserver(seen).observe(document.body));

  // the upper row is as high as the window leaves it under the header and over the run
  const measure = () => document.documentElement.style.setProperty("--header", `${header.offsetHeight}px`);
  wb.on("ready", () => {
    measure();
    new ResizeObserver(measure).observe(header);
  });

  wb.models(find(".models"), server);
  wb.intro(find(".intro"));

  /** Open a grammar that is not in the gallery: a shared link, a lesson's grammar, a draft. */
  function show(example) {
    call(example.title);
    state.example = example;
    look("workbench");
    if (example.tab) state.tab = example.tab;
    wb.emit("example", example);
  }
  wb.on("open", (held) =>
    show({
      name: "",
      title: "Your own",
      note: "",
      start: "start",
      style: "",
      prompt: "",
      tests: [],
      accepts: [],
      rejects: [],
      ...held,
    }),
  );

  wb.on("ready", async () => {
    const asked = new URLSearchParams(location.search);
    const own = (await wb.linked()) || (asked.get("example") ? null : wb.drafts.kept());
    if (own) {
      show(own);
      return;
    }
    const wanted = page.gallery.findIndex((example) => example.name === asked.get("example"));
    if (asked.get("tab")) state.tab = asked.get("tab");
    if (page.gallery.length) open(Math.max(0, wanted), true);
  });
  state.view = null;
  look("workbench");
};
