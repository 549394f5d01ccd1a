// The page begins here: it logs in by the code in the address, and shows
// the list, a session, or the session that the file holds.
import { el } from "./dom.js";
import { request, login, remote, embedded, addressOf, loggedOut } from "./source.js";
import { openSession } from "./session.js";
import { openList } from "./list.js";

async function start() {
	const data = document.getElementById("session");
	if (data) return openSession(embedded(JSON.parse(data.textContent)));
	const [, by, code] = /^#(login|pair)=([\w-]+)$/.exec(location.hash) || [];
	if (code) {
		history.replaceState(null, "", location.pathname + location.search); // neither the address bar nor the history keeps it
		await login("/" + by, code);
	}
	const [, kind, id] = /^\/([sq])\/([^/]+)$/.exec(location.pathname) || [];
	if (kind === "q") await openQuestion(id);
	else if (id) await openSession(remote(decodeURIComponent(id)));
	else await openList();
}

// openQuestion shows the session that a question is or was asked in.
async function openQuestion(id) {
	const at = await request("GET", "/questions/" + id);
	history.replaceState(null, "", addressOf(at.session) + (at.open || at.item < 0 ? "" : "#e=" + at.item));
	await openSession({ ...remote(at.session), question: id });
}

// The address that haft serve printed differs from this one only after the #.
addEventListener("hashchange", () => /^#(login|pair)=/.test(location.hash) && location.reload());

start().catch((err) => {
	const text = err.status === 401 && !err.message.includes("code") ? loggedOut : "Could not show the page: " + err.message;
	document.body.prepend(el("main.problem", el("h1", "haft"), el("p", { role: "alert" }, text), el("p", el("a", { href: "/" }, "All sessions"))));
});
