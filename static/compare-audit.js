/* Audits of the other engines that are installed where the page is served from: the first token at which the mask of
   each is wrong on the current grammar, why, and a program that shows it. */

import { createLatest } from "./ask.js";
import { copyText, createButton, el } from "./dom.js";
import { glyphs, several } from "./tokens.js";

/** @import { AuditedEngines, AuditFinding, EngineAudit } from "./wire" */

const SAYS =
  "Compares the masks of xgrammar, llguidance and Outlines, where they are installed, with the exact ones along " +
  "valid texts and texts that differ in one place. Differences of interpretation, such as white space, are listed " +
  "separately.";

const quoted = (text) => el("code", glyphs({ text }) || "(empty)");
/** A long text with its end alone. */
const ending = (text) => quoted(text.length > 60 ? `…${text.slice(-60)}` : text);

/** @param {AuditFinding} finding */
function findingOf(finding) {
  const ours = finding.kind.startsWith("workbench"),
    over = finding.kind.startsWith("over");
  const token = finding.token === null ? "the end of the text" : quoted(finding.token);
  const made = finding.reproduction;
  return el(
    "div.finding",
    el("p", el("b", ours ? "This library and the judge disagree" : over ? "Over-constraining" : "Under-constraining")),
    ours
      ? el("p", "on ", quoted(finding.text), ": ", finding.evidence)
      : el(
          "p",
          "After ",
          ending(finding.so_far),
          over ? " it forbids " : " it allows ",
          token,
          finding.level === "token" ? ", although it reads the same text byte by byte: " : ": ",
          `${finding.why}.`,
        ),
    el(
      "p.quiet",
      finding.place ? el("code", finding.place) : "",
      finding.place ? ". " : "",
      ours ? "" : finding.evidence,
    ),
    made
      ? el(
          "details",
          el(
            "summary",
            made.confirmed
              ? "Program that shows it, run and confirmed"
              : "Program that did not show the difference here",
          ),
          el("pre", { tabindex: "0", role: "region", "aria-label": "Program" }, made.program),
          createButton("Copy", { class: "link" }, (event) => copyText(made.program, event.currentTarget)),
        )
      : "",
  );
}

/** @param {EngineAudit} audit */
function engineOf(audit) {
  const texts = `${several(audit.texts, "valid text")}, ${several(audit.mutants, "invalid one")}`;
  const done = `${texts}, ${several(audit.masks, "mask")}`;
  const claims = audit.findings.filter((one) => !one.kind.startsWith("workbench"));
  const ended =
    audit.status !== "audited"
      ? el("p", `${audit.status}: `, audit.reason || "it has no notation for this kind of grammar")
      : claims.length
        ? ""
        : el("p", "No wrong mask was found along these texts.");
  return el(
    "section.engine",
    { "aria-label": audit.engine },
    el(
      "h3",
      `${audit.engine} ${audit.version}`,
      el("span", audit.status === "audited" ? `${done}${audit.cut ? " · incomplete: time limit" : ""}` : ""),
    ),
    ended,
    ...audit.findings.map(findingOf),
    ...audit.policies.map((policy) => el("p.quiet", `${policy.name}, for example `, quoted(policy.text))),
  );
}

/** Which engines can be audited, and how the others are installed. @param {AuditedEngines} engines */
function installation({ installed, missing, install }) {
  if (!missing.length) return "";
  const says = installed.length
    ? `Installed: ${installed.join(", ")}. Not installed: ${missing.join(", ")}. `
    : `None of ${missing.join(", ")} is installed. `;
  return el(
    "p",
    { class: installed.length ? "about quiet" : "about" },
    says,
    "Install them where the page is served from: ",
    el("code", install),
    ".",
  );
}

export function createAuditCard(card, audits) {
  const latest = createLatest();
  let of = "",
    engines = /** @type {AuditedEngines | null} */ (null); // null until the list has arrived

  const button = (label) => createButton(label, { class: "start", disabled: !engines?.installed.length }, run);
  const show = (note, way, ...parts) =>
    card.replaceChildren(
      el("div.bar", el("h2", "Other engines"), el("span", { role: "status" }, note), el("span.grow"), way),
      ...parts,
    );

  function run() {
    show("auditing every installed engine, for up to a minute…", "");
    latest.run(async (ask) => {
      const answer = await audits(ask);
      if (answer.ok) show("", button("Audit again"), ...answer.audits.map(engineOf));
      else show("", button("Audit"), el("p.about", { role: "alert" }, answer.why));
    });
  }

  /** Before an audit of the current grammar. */
  function reset() {
    latest.drop();
    show("", button("Audit"), el("p.about.quiet", SAYS), engines ? installation(engines) : "");
  }
  /** The list of engines has arrived. @param {AuditedEngines} listed */
  function offer(listed) {
    engines = listed;
    reset();
  }
  /** The grammar has changed: the audits are of the earlier one. */
  function changed(key) {
    if (key !== of) reset();
    of = key;
  }

  reset();
  return { changed, offer };
}
