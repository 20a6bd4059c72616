/* Sends a results file to the server in parts, and asks about it. */

import { download } from "./dom.js";
import { showFailure, showStatus } from "./results-state.js";
import { randomName } from "./state.js";

/** @import { ResultsCard } from "./results-state" */

/** Base64 of a part of a file. @param {Blob} part @returns {Promise<string>} */
const encoded = (part) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result).split(",")[1] ?? ""));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(part);
  });

const UNREADABLE = "the browser cannot read this file: was it moved or changed? Open it again";

/** @import { Answer, OpenedResults } from "./wire" */
const PART = 1_000_000; // bytes of a file in a request

/** Send files in parts; ``why`` says what went wrong.
    @param {ResultsCard} results @returns {Promise<{ why?: string, upload?: string }>} */
async function sendFiles(results, ask, sending) {
  const upload = randomName();
  const size = sending.reduce((sum, file) => sum + file.size, 0);
  let done = 0;
  for (const [number, file] of sending.entries())
    for (let offset = 0, tries = 0; offset < file.size; ) {
      const base64 = await encoded(file.slice(offset, offset + PART)).catch(() => null);
      if (base64 === null) return { why: UNREADABLE };
      const answer = await ask(results.server.send_results, { upload, file: number, offset, base64 });
      if (!answer.ok) return { why: answer.why };
      if (answer.received < offset + 1 && ++tries > 3) return { why: "the file did not arrive; open it again" };
      done += Math.max(0, answer.received - offset);
      offset = answer.received;
      if (size > PART) showStatus(results, `sending, ${Math.floor((100 * done) / size)} %…`);
    }
  return { upload };
}

/** Send the file, let the server read it, and return its description.
    @param {ResultsCard} results @returns {Promise<Answer<OpenedResults>>} */
export async function readFiles(results, ask, chosen) {
  const sent = chosen ? await sendFiles(results, ask, chosen) : { served: true };
  if ("why" in sent) return /** @type {Answer<OpenedResults>} */ ({ why: sent.why });
  showStatus(results, "reading the file…");
  return ask(results.server.open_results, sent);
}

/** Ask about the open file; where the server no longer has it, it is sent again. @param {ResultsCard} results */
export async function askAbout(results, ask, question, sent) {
  const asked = () => ask(question, { file: results.about.file, wanted: results.view.wanted, ...sent });
  let answer = await asked();
  if (answer.ok && answer.lost) {
    const again = await readFiles(results, ask, results.files);
    showStatus(results, "");
    if (!again.ok) return again;
    results.about.file = again.file;
    answer = await asked();
  }
  return answer.lost ? { why: "the server is too busy to keep the file: try again" } : answer;
}

/** @param {ResultsCard} results */
export const saveCsv = (results) =>
  results.saving.run(async (ask) => {
    const pieces = [],
      { wanted, sort, down } = results.view;
    for (let offset = 0, total = 1; offset < total; ) {
      const answer = await askAbout(results, ask, results.server.results_csv, { wanted, sort, down, offset });
      if (!answer.ok) {
        showFailure(results, answer.why);
        return;
      }
      pieces.push(answer.text);
      ({ next: offset, total } = answer);
      showStatus(results, offset < total ? `CSV, ${Math.floor((100 * offset) / total)} %…` : "");
    }
    download("results.csv", "text/csv", pieces.join(""));
  });
