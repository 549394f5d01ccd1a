// The page begins here: it logs in by the token in the address, and shows the list, a session,
// or the session that the file holds.
import { el } from "./dom.js";
import { request, remote, embedded } from "./source.js";
import { openSession } from "./session.js";
import { openList } from "./list.js";

async function start() {
  const data = document.getElementById("session");
  if (data) {
    await openSession(embedded(JSON.parse(data.textContent)));
    return;
  }
  const token = /^#token=([\w.~-]+)$/.exec(location.hash);
  if (token) {
    history.replaceState(null, "", location.pathname + location.search); // neither the address bar nor the history keeps it
    await request("POST", "/login", { token: token[1] });
  }
  const id = /^\/s\/([^/]+)$/.exec(location.pathname)?.[1];
  if (id) await openSession(remote(decodeURIComponent(id)));
  else await openList();
}

start().catch((err) => {
  const text = err.status === 401 ? "This browser is not logged in. Open the address that haft serve printed." : "Could not show the page: " + err.message;
  document.body.prepend(el("main", { class: "problem" }, el("h1", {}, "haft"), el("p", { role: "alert" }, text)));
});
