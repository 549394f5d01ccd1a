// Search in what was said and done, in one session or in all of them.
import { el, region, button, input, note, dialog, say } from "./dom.js";
import { request, addressOf } from "./source.js";
import { ago, count } from "./words.js";

const pause = 250; // milliseconds after the last letter

const kindNames = { prompt: "You", text: "Model", thinking: "Thinking", call: "Call", note: "Note", error: "Error", compaction: "Compaction" };

// find asks for words and shows where they are. Session is the only one, "" for all; titleOf(id)
// names one; go(item) goes to an item of the only one.
export function find(session, titleOf, go, words = "") {
	const list = el("div.hits", region("Results")), status = el("p.hint", { role: "status" });
	const field = input(session ? "Search in this session" : "Search in all sessions", { type: "search", value: words, autofocus: true, on: { input: () => (clearTimeout(timer), (timer = setTimeout(look, pause))) } });
	let timer, asked = 0;
	const look = async () => {
		const query = field.value.trim(), mine = ++asked;
		if (query.length < 2) return list.replaceChildren(), say(status, "");
		say(status, "Searching…");
		try {
			const found = await request("GET", "/search?query=" + encodeURIComponent(query) + (session ? "&session=" + encodeURIComponent(session) : ""));
			if (mine !== asked) return;
			say(status, found.hits.length ? count(found.hits.length, "place") + (found.more ? " or more" : "") : "Nothing found.");
			let last = "";
			list.replaceChildren(...found.hits.flatMap((h) => {
				const row = el("p.hit", session ? button(h.text, "plain", () => (box.close(), go(h.item))) : el("a", { href: addressOf(h.session) + "#e=" + h.item }, h.text), el("span.meta", kindNames[h.kind] || h.kind, h.at > 0 && " · " + ago(h.at)));
				const title = !session && h.session !== last && el("h3", titleOf(h.session));
				last = h.session;
				return title ? [title, row] : [row];
			}));
		} catch (err) {
			if (mine === asked) say(status, "Could not search: " + err.message);
		}
	};
	const box = dialog(session ? "Search in this session" : "Search in all sessions", [field, status, list]);
	field.focus();
	if (words) look();
}
