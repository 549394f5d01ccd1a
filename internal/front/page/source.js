// Where the page gets sessions from: the server, or the file that it is part of.
import { el } from "./dom.js";

// The credential is kept with the origin, port included, and goes into a header. A cookie would
// go to every port of the host: to whatever server an agent starts. It ends with the server.
const credentialKey = "haft-credential";
let credential = "";

function authorized(headers) {
	try {
		credential = localStorage.getItem(credentialKey) || credential;
	} catch {} // a browser that stores nothing keeps it until the page is left
	return credential ? { ...headers, "Haft-Token": credential } : headers;
}

// login exchanges a code for the credential, at once: a code works a single time.
export async function login(path, code) {
	({ token: credential } = await request("POST", path, { code }));
	try {
		localStorage.setItem(credentialKey, credential);
	} catch {}
}

// request speaks with the server; an error has the words of its answer.
export async function request(method, path, body) {
	const answer = await fetch("/v1" + path, { method, headers: authorized(body === undefined ? {} : { "Content-Type": "application/json" }), body: body === undefined ? body : JSON.stringify(body) });
	// A paired device that may only watch and answer is not shown the rest.
	document.body.classList.toggle("watching", answer.headers.get("Haft-Access") === "answer");
	const data = await answer.json().catch(() => null); // there may be no body
	if (answer.ok) return data;
	throw Object.assign(new Error(data?.message || answer.statusText), { status: answer.status });
}

const restTime = 60_000, silence = 40_000; // milliseconds; the server says something every 15 seconds

// What lost() says about the connection.
const away = "The server does not answer. This page reconnects by itself as soon as it does.";
export const loggedOut = "This browser is not logged in: the server was restarted, or access was revoked. Run 'haft serve' on its machine and open the address that it prints, or scan the code that 'Pair a phone' shows.";

// events listens to the server by path(last), where last is the id of the last event, and
// connects again when the connection ends or is silent. On are functions by the names of events.
// State is told whether there is a connection, and if not, why.
export function events(path, on, state) {
	let last = "", timer, rest, quiet, current;
	const close = () => {
		current?.abort();
		current = null;
		clearTimeout(timer);
		clearTimeout(quiet);
	};
	const again = () => {
		close();
		state(false, away);
		timer = setTimeout(open, document.hidden ? 5000 : 500);
	};
	const open = async () => {
		close();
		const mine = (current = new AbortController());
		const alive = () => {
			clearTimeout(quiet);
			quiet = setTimeout(again, silence);
		};
		alive();
		try {
			const answer = await fetch("/v1" + path(last), { headers: authorized({}), signal: mine.signal });
			if (answer.status === 401) {
				close();
				return state(false, loggedOut);
			}
			if (answer.ok) {
				state(true);
				await readEvents(answer.body, alive, (name, id, data) => {
					if (id) last = id;
					on[name]?.(JSON.parse(data));
				});
			}
		} catch (err) {
			if (!mine.signal.aborted && !(err instanceof TypeError)) setTimeout(() => { throw err; }); // a fault of the page, not of the network
		}
		if (mine === current) again();
	};
	addEventListener("online", open);
	addEventListener("offline", () => state(false, away));
	// A browser keeps six connections to a server for all its tabs, so one that nobody looks at
	// gives its own back after a while.
	document.addEventListener("visibilitychange", () => {
		clearTimeout(rest);
		if (document.hidden) rest = setTimeout(close, restTime);
		else if (!current) open();
	});
	open();
}

// readEvents reads a stream of events to its end.
async function readEvents(body, alive, take) {
	const reader = body.pipeThrough(new TextDecoderStream()).getReader();
	for (let text = "", looked = 0; ; ) {
		const { value, done } = await reader.read();
		if (done) return;
		alive();
		text += value;
		let start = 0;
		for (let end; (end = text.indexOf("\n\n", Math.max(start, looked))) >= 0; start = end + 2) takeEvent(text.slice(start, end), take);
		text = text.slice(start);
		looked = Math.max(0, text.length - 1);
	}
}

function takeEvent(text, take) {
	let name = "message", id = "", data = "";
	for (const line of text.split("\n")) {
		const at = line.indexOf(": "), value = line.slice(at + 2);
		if (line.startsWith("event: ")) name = value;
		else if (line.startsWith("id: ")) id = value;
		else if (line.startsWith("data: ")) data += value;
	}
	if (data) take(name, id, data);
}

// addressOf is the address of a session's page, pathOf that of the session in the API.
export function addressOf(id) { return "/s/" + encodeURIComponent(id); }
export function pathOf(id) { return "/sessions/" + encodeURIComponent(id); }

// remote is a session of the server.
export function remote(id) {
	const path = pathOf(id), details = new Map();
	return {
		live: true,
		first: () => Promise.all([request("GET", path), request("GET", path + "/timeline?from=-200&limit=200")]),
		window: async (from, n) => (await request("GET", `${path}/timeline?from=${from}&limit=${n}`)).items || [],
		detail(item) {
			const key = item.index + " " + (item.call?.ended || "");
			if (!details.has(key)) {
				if (details.size > 300) details.delete(details.keys().next().value);
				details.set(key, request("GET", path + "/items/" + item.index).catch((err) => {
					details.delete(key);
					throw err;
				}));
			}
			return details.get(key);
		},
		listen: (model, on, state) => events((last) => `${path}/events?pieces&timeline=${encodeURIComponent(model.revision)}&after=${encodeURIComponent(last || model.position)}`, on, state),
		get: (what) => request("GET", path + "/" + what),
		post: (what, body) => request("POST", path + "/" + what, body),
		patch: (body) => request("PATCH", path, body),
		cancel: (prompt) => request("DELETE", path + "/prompts/" + prompt),
		// save has the browser keep the session as a file.
		async save() {
			const answer = await fetch("/v1" + path + "/export", { headers: authorized({}) });
			if (!answer.ok) throw new Error((await answer.json().catch(() => null))?.message || answer.statusText);
			const address = URL.createObjectURL(await answer.blob());
			el("a", { href: address, download: "session-" + id.slice(0, 8) + ".html" }).click();
			setTimeout(() => URL.revokeObjectURL(address), 60_000);
		},
	};
}

// embedded is the session in an exported file.
export function embedded(data) {
	return {
		live: false,
		first: async () => [data.session, data.timeline],
		window: async (from, n) => data.timeline.items.slice(from, from + n),
		detail: async (item) => data.details[item.index] || item,
	};
}
