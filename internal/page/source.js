// Where the page gets sessions from: the server, or the file that it is part of.

// request speaks with the server; an error has the words of its answer.
export async function request(method, path, body) {
	const answer = await fetch("/v1" + path, body === undefined ? { method } : { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
	// A paired device that may only watch and answer is not shown the rest.
	document.body.classList.toggle("watching", answer.headers.get("Haft-Access") === "answer");
	const data = await answer.json().catch(() => null); // there may be no body
	if (answer.ok) return data;
	throw Object.assign(new Error(data?.message || answer.statusText), { status: answer.status });
}

const restTime = 60_000; // milliseconds

// events listens to the server by path(last), where last is the id of the last event. The
// browser connects again by itself and says where it was; a stream that was refused is opened
// again here. On are functions by the names of events.
export function events(path, on, state) {
	let source, last = "", timer, rest;
	const open = () => {
		source = new EventSource("/v1" + path(last));
		source.onopen = () => state(true);
		for (const [name, f] of Object.entries(on)) {
			source.addEventListener(name, (e) => {
				if (e.lastEventId) last = e.lastEventId;
				f(JSON.parse(e.data));
			});
		}
		source.onerror = () => {
			state(false);
			if (source.readyState === EventSource.CLOSED) again();
		};
	};
	const again = () => {
		source.close();
		clearTimeout(timer);
		timer = setTimeout(open, document.hidden ? 5000 : 500);
	};
	addEventListener("online", again);
	addEventListener("offline", () => state(false));
	// A browser keeps six connections to a server for all its tabs, so one that nobody looks at
	// gives its own back after a while.
	document.addEventListener("visibilitychange", () => {
		clearTimeout(rest);
		if (document.hidden) rest = setTimeout(() => source.close(), restTime);
		else if (source.readyState === EventSource.CLOSED) again();
	});
	open();
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
		listen: (model, on, state) => events((last) => `${path}/events?timeline=${encodeURIComponent(model.revision)}&after=${encodeURIComponent(last || model.position)}`, on, state),
		get: (what) => request("GET", path + "/" + what),
		post: (what, body) => request("POST", path + "/" + what, body),
		patch: (body) => request("PATCH", path, body),
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
