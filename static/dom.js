/* Elements and what is done with them: rows of buttons, menus, notices, the clipboard, files.
   Text that a person or a model wrote enters the page through textContent, never as markup. */

/** An element: its tag, as in a selector with its classes (``"span.quiet"``); its attributes and listeners, where it
    has any; its children, strings as text. A button submits no form unless its type says so.
    @template {string} Name
    @param {Name} name @param {Record<string, unknown> | Child} [properties] @param {Child[]} children
    @returns {ElementOf<Name>} */
export function el(name, properties, ...children) {
  const [tag, ...classes] = name.split("."),
    element = document.createElement(tag);
  if (tag === "button") element.setAttribute("type", "button");
  if (classes.length) element.className = classes.join(" ");
  if (properties instanceof Node || typeof properties !== "object") children.unshift(properties);
  else
    for (const [key, value] of Object.entries(properties ?? {})) {
      if (typeof value === "function") element.addEventListener(key.slice(2), /** @type {EventListener} */ (value));
      else setAttributes(element, { [key]: value === true ? "" : value });
    }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return /** @type {ElementOf<Name>} */ (element);
}

/** A button, with what a press of it does.
    @param {Node | string | (Node | string | null)[]} label @param {Record<string, unknown>} properties
    @param {((event: PointerEvent & { currentTarget: HTMLButtonElement }) => unknown) | null} act */
export const createButton = (label, properties, act) =>
  el("button", { ...properties, onclick: act }, ...[label].flat());

/** A table with a row of heads. @param {(Node | string)[]} heads cells, or their texts @param {Node[]} rows */
export const createTable = (heads, rows) =>
  el(
    "table",
    el("thead", el("tr", ...heads.map((head) => (head instanceof Node ? head : el("th", { scope: "col" }, head))))),
    el("tbody", ...rows),
  );

/** The properties of a field whose text the browser leaves as it is typed. */
export const VERBATIM = { spellcheck: "false", autocapitalize: "off", autocomplete: "off" };

/** An element of SVG with attributes and children.
    @template {keyof SVGElementTagNameMap} Tag
    @param {Tag} tag @param {Record<string, unknown>} [attributes] @param {(Node | string)[]} children
    @returns {SVGElementTagNameMap[Tag]} */
export function svgEl(tag, attributes = {}, ...children) {
  const element = setAttributes(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);
  element.append(...children);
  return element;
}

/** Set attributes that have a value.
    @template {Element} Kind @param {Kind} element @param {Record<string, unknown>} attributes */
export function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, String(value));
  return element;
}

/** Call a function when no call has come for ``wait`` milliseconds; ``now`` calls it immediately.
    @template {unknown[]} Details @param {number} wait @param {(...details: Details) => unknown} act */
export function debounce(wait, act) {
  let timer = 0;
  const later = (/** @type {Details} */ ...details) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...details), wait);
  };
  later.now = (/** @type {Details} */ ...details) => {
    clearTimeout(timer);
    act(...details);
  };
  return later;
}

/** The element that an event was sent to.
    @param {Event} event @returns {Element} */
export function targetOf({ target }) {
  if (target instanceof Element) return target;
  throw new TypeError(`expected an event of an element, not of ${target}`);
}

/** Neither the browser nor another element acts on the event. @param {Event} event */
export function useUp(event) {
  event.preventDefault();
  event.stopPropagation();
}

/** Whether keys go to a field, so that they are no keys of the page. */
export const isTyping = () => /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");

/** @param {MouseEvent | KeyboardEvent} event */
export const hasModifier = ({ ctrlKey, metaKey, altKey }) => ctrlKey || metaKey || altKey;

export const isDialogOpen = () => Boolean(document.querySelector("dialog[open]"));

/** Whether a key is one of the page: without a modifier, outside of fields and dialogs. @param {KeyboardEvent} event */
export const isPageKey = (event) => !hasModifier(event) && !isTyping() && !isDialogOpen();

/** Call a function with the button of a box that is pressed.
    @param {HTMLElement} box @param {(button: HTMLButtonElement) => void} act */
export const onPress = (box, act) =>
  box.addEventListener("click", (event) => {
    const button = targetOf(event).closest("button");
    if (button) act(button);
  });

/** Copy a text; the button says whether that succeeded. @param {string} text @param {Element | null} [button] */
export async function copyText(text, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // no clipboard without https or permission: the old way still works
    const area = el("textarea", { style: "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  if (!button) return;
  const label = button.textContent;
  button.textContent = done ? "Copied" : "Could not copy";
  setTimeout(() => {
    button.textContent = label;
  }, 1200);
}

/** Edit a name in the place of the element that shows it. Enter keeps it, and so does leaving the field; Escape does
    not, and then ``done`` gets null. ``focused``: whether the field had the focus at the end.
    @param {HTMLElement} element @param {{ value: string, longest: number, label: string }} written
    @param {(name: string | null, focused: boolean) => void} done */
export function editName(element, { value, longest, label }, done) {
  const input = el("input.rename", { type: "text", maxlength: longest, "aria-label": label, spellcheck: "false" });
  input.value = value;
  let open = true;
  const close = (/** @type {boolean} */ keep) => {
    if (!open) return;
    open = false;
    const focused = document.activeElement === input;
    input.replaceWith(element);
    done(keep ? input.value.trim() : null, focused);
  };
  input.addEventListener("blur", () => close(true));
  input.addEventListener("keydown", (event) => {
    event.stopPropagation(); // arrows and letters are the name's
    if (event.key === "Enter" || event.key === "Escape") {
      event.preventDefault();
      close(event.key === "Enter");
    }
  });
  element.replaceWith(input);
  input.focus();
  input.select();
}

/** Rows of values as CSV. @param {unknown[][]} rows */
export function csvText(rows) {
  const cell = (/** @type {unknown} */ value) => {
    const text = String(value ?? "");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Save a file. @param {string} name @param {string} type @param {BlobPart | null} content */
export function download(name, type, content) {
  const link = el("a", { href: URL.createObjectURL(new Blob([content ?? ""], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 5000);
}

/** Print, and nothing but ``sheet`` where one is given.
    @param {HTMLElement | null} sheet */
export function printAlone(sheet) {
  if (sheet) {
    document.body.append(sheet);
    document.body.toggleAttribute("data-printing", true);
  }
  print();
  sheet?.remove();
  document.body.toggleAttribute("data-printing", false);
}

/** Make one of the buttons of a row its tab stop; the first one if none is chosen.
    @param {Iterable<HTMLElement>} buttons @param {Element | null | undefined} chosen */
export function tabStop(buttons, chosen) {
  const [first] = buttons;
  for (const button of buttons) button.tabIndex = button === (chosen ?? first) ? 0 : -1;
}

/** The button of a box to which an arrow key goes from the one that has the focus; undefined for other keys.
    @param {HTMLElement} box @param {string} key */
export function arrowTarget(box, key) {
  const buttons = /** @type {HTMLButtonElement[]} */ ([...box.querySelectorAll("button:not(:disabled, [hidden])")]),
    step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
  if (!step) return undefined;
  const index = buttons.findIndex((button) => button.contains(document.activeElement));
  return buttons[(index + step + buttons.length) % buttons.length];
}

/** Arrow keys over a row of buttons of which one is a tab stop.
    @param {HTMLElement} box @param {(button: HTMLButtonElement) => void} choose */
export function roving(box, choose) {
  box.addEventListener("keydown", (event) => {
    const next = targetOf(event).matches("button") && arrowTarget(box, event.key);
    if (!next) return;
    event.preventDefault();
    next.focus();
    choose(next);
  });
}

/** The index to which a key moves in a row of items of which one may be selected (−1 for none).
    @param {string} key @param {number} selected @param {number} count @returns {number | undefined} */
export function steppedIndex(key, selected, count) {
  const last = count - 1;
  if (last < 0) return undefined;
  return { ArrowRight: Math.min(last, selected + 1), ArrowLeft: Math.max(0, selected - 1), Home: 0, End: last }[key];
}

/** The toolbar pattern: a row of buttons is one tab stop, and the arrow keys go through it. ``selector`` names the
    buttons, which may come and go. An arrow leaves a field only where its caret cannot move.
    @param {HTMLElement} box @param {string} name @param {string} selector */
export function createToolbar(box, name, selector) {
  box.setAttribute("role", "toolbar");
  box.setAttribute("aria-label", name);
  const items = () => /** @type {HTMLButtonElement[]} */ ([...box.querySelectorAll(selector)]);
  const usable = () => items().filter((button) => !button.disabled && button.checkVisibility());
  let visited = /** @type {HTMLButtonElement | null} */ (null);
  /** The tab stop is the button that had the focus last, at first the first one. */
  function update() {
    const buttons = usable(),
      stop = buttons.find((button) => button === visited) ?? buttons[0] ?? items()[0];
    for (const button of items()) {
      const index = button === stop ? 0 : -1;
      if (button.getAttribute("tabindex") !== String(index)) button.tabIndex = index;
    }
  }
  box.addEventListener("focusin", ({ target }) => {
    const button = items().find((each) => each === target);
    if (!button) return;
    visited = button;
    update();
  });
  const staysIn = (/** @type {string} */ key) => {
    const field = document.activeElement;
    if (!(field instanceof HTMLInputElement)) return false;
    return !(key === "ArrowLeft" && field.selectionEnd === 0) && !(key === "ArrowRight" && field.value === "");
  };
  box.addEventListener("keydown", (event) => {
    const buttons = usable(),
      index = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (index < 0 || next === undefined || staysIn(event.key)) return;
    event.preventDefault();
    buttons[(next + buttons.length) % buttons.length].focus();
  });
  const watched = { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled", "hidden"] };
  new MutationObserver(update).observe(box, watched);
  update();
}

/** Bring an item into sight in its row, and the row alone: scrollIntoView would pull the page along.
    @param {Element} row @param {Element} item */
export function scrollIntoRow(row, item, margin = 0) {
  const place = item.getBoundingClientRect(),
    seen = row.getBoundingClientRect();
  row.scrollLeft += Math.min(0, place.left - seen.left - margin) + Math.max(0, place.right - seen.right + margin);
}

/** The same for what scrolls up and down. @param {Element} column @param {Element} item */
export function scrollIntoColumn(column, item, margin = 0) {
  const place = item.getBoundingClientRect(),
    seen = column.getBoundingClientRect();
  column.scrollTop += Math.min(0, place.top - seen.top - margin) + Math.max(0, place.bottom - seen.bottom + margin);
}

/** Mark one of the buttons of a box, which becomes its tab stop.
    @param {Element} box @param {string} attribute @param {Element | null | undefined} chosen */
export function markChosen(box, attribute, chosen) {
  const buttons = box.querySelectorAll("button");
  for (const button of buttons) button.setAttribute(attribute, String(button === chosen));
  tabStop(buttons, chosen);
}

/** A row of choices of which one is taken: buttons that hold their key in an attribute. `act(key)` hears which is
    taken; given back is a way to show one as taken.
    @param {HTMLElement} box @param {string} attribute @param {string[][]} options @param {(key: string) => void} act */
export function radios(box, attribute, options, act) {
  const keyOf = (/** @type {Element} */ button) => button.getAttribute(attribute) ?? "";
  const show = (/** @type {string} */ key) =>
    markChosen(
      box,
      "aria-checked",
      [...box.children].find((button) => keyOf(button) === key),
    );
  const take = (/** @type {Element} */ button) => {
    const key = keyOf(button);
    show(key);
    act(key);
  };
  box.replaceChildren(
    ...options.map(([key, label]) =>
      el("button", { role: "radio", "aria-checked": "false", tabindex: "-1", [attribute]: key }, label),
    ),
  );
  onPress(box, take);
  roving(box, take);
  return show;
}

/** A button and what it opens: one click, Escape or a click elsewhere closes it, arrows go through it.
    @param {HTMLElement} box */
export function createMenu(box) {
  const [button, list] = /** @type {HTMLCollectionOf<HTMLElement>} */ (box.children);
  const toggle = (/** @type {boolean} */ wanted) => {
    list.hidden = !wanted;
    button.setAttribute("aria-expanded", String(wanted));
  };
  button.addEventListener("click", () => {
    toggle(Boolean(list.hidden));
    if (!list.hidden) list.querySelector("button:not(:disabled), input")?.focus();
  });
  document.addEventListener("click", (event) => {
    if (!box.contains(targetOf(event))) toggle(false);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) {
      toggle(false);
      button.focus();
      event.stopPropagation();
    }
  });
  roving(list, () => {});
  toggle(false);
  return { close: () => toggle(false) };
}

/** A dialog with a close button: it opens scrolled to its top, with the focus on its heading.
    @param {HTMLDialogElement} dialog */
export function createDialog(dialog) {
  document.body.append(dialog); // outside the parts, which are hidden in some views
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || targetOf(event).closest(".close")) dialog.close();
  });
  return () => {
    if (dialog.open) return;
    dialog.showModal();
    dialog.scrollTop = 0;
    dialog.querySelector("h2").focus();
  };
}

/** @type {HTMLElement | undefined} */
let noticeBox;
let noticeTimer = 0;
/** A sentence over the page, for a while; read aloud too. @param {string} [text] */
export function showNotice(text = "") {
  /** @type {HTMLElement} */
  const box = noticeBox ?? el("div.wb.notice", { role: "status" });
  if (!noticeBox) document.body.append(box);
  noticeBox = box;
  box.textContent = text;
  box.classList.add("on");
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => box.classList.remove("on"), Math.max(4000, 60 * text.length));
}
