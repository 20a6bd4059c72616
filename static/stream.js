/* A run as it streams in: Gradio hands over a text that begins with the run's head and holds its latest lines; out come
   its records, each once. */
"use strict";
(() => {
  /** `doors.take(record)` gets every record of the run that was begun last, `doors.arrived(count)` follows a batch, and
      `doors.lost()` is called where the page was too busy to see some of them pass. The event named `doors.over` is
      Gradio's word that a stream is over, however it ended: queue full, server gone, all said; if the run's own last
      record does not come with it, `doors.dropped()` is called. */
  function stream(props, watch, doors) {
    let name = null, heard = 0, window = -1, read = 0, begun = 0, over = 0;

    /** Where in a text the first line begins that was not heard yet; −1 where it has passed. */
    function place(value, first) {
      const second = value.indexOf("\n", first + 1), line = value.slice(first + 1, second);
      const left = second > 0 && line.startsWith('{"k":"from"') ? JSON.parse(line).n : 0;
      if (left === window) return read;
      window = left;
      let at = left ? second + 1 : first + 1;
      for (let known = left; known < heard; known++) at = value.indexOf("\n", at) + 1;
      return left > heard ? -1 : at;
    }

    function arrived() {
      const value = props.value || "", first = value.indexOf("\n");
      if (first < 0 || !name) return;
      let head;
      try { head = JSON.parse(value.slice(0, first)); } catch { return; }
      if (head.run !== name) return; // an older run that had not heard it was stopped
      read = place(value, first);
      if (read < 0) { doors.lost(); return; }
      let count = 0;
      for (let end = value.indexOf("\n", read); name && end >= 0; end = value.indexOf("\n", read)) {
        const line = value.slice(read, end);
        read = end + 1;
        heard++;
        count++;
        doors.take(JSON.parse(line));
      }
      if (count) doors.arrived(count);
    }
    watch("value", arrived);
    wb.on(doors.over, () => {
      over += 1;
      const all = begun;
      setTimeout(() => { if (name && all === begun && over >= begun) doors.dropped(); }, 500);
    });

    return {
      /** A name for a run that is about to be asked for. */
      begin() { begun += 1; name = "r" + Math.random().toString(36).slice(2); heard = 0; window = -1; return name; },
      /** Hear no more of it. */
      end() { const ended = name; name = null; return ended; },
    };
  }

  wb.stream = stream;
})();
