// Numbers, times and names as people read them.

export function duration(ms) {
	if (!(ms >= 0)) return "–";
	if (ms < 1000) return Math.round(ms) + " ms";
	if (ms < 60_000) return (ms / 1000).toFixed(1) + " s";
	const m = Math.floor(ms / 60_000);
	if (m < 60) return m + " min " + Math.round((ms % 60_000) / 1000) + " s";
	return Math.floor(m / 60) + " h " + (m % 60) + " min";
}

export function tokens(n) {
	if (!n) return "0";
	if (n < 1000) return String(n);
	if (n < 1e6) return (n / 1000).toFixed(n < 10_000 ? 1 : 0) + "k";
	return (n / 1e6).toFixed(1) + "M";
}

export function money(usd, unpriced) {
	if (unpriced && !usd) return "cost unknown";
	const text = "$" + (usd || 0).toFixed(usd >= 1 || !usd ? 2 : 4);
	return unpriced ? "at least " + text : text;
}

export function clock(at) { return at ? new Date(at).toLocaleTimeString([], { hour12: false }) : ""; }

// ago says how long ago something was.
export function ago(at) {
	const s = Math.max(0, (Date.now() - at) / 1000);
	if (s < 60) return "just now";
	if (s < 3600) return Math.floor(s / 60) + " min ago";
	if (s < 86_400) return Math.floor(s / 3600) + " h ago";
	return new Date(at).toLocaleDateString();
}

// count says how many there are of a thing.
export function count(n, one, many) { return n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s"); }

// folder shortens a path from the left, where paths are alike.
export function folder(path, most = 40) { return path && path.length > most ? "…" + path.slice(path.length - most + 1) : path || ""; }

// relative is a path as seen from a folder.
export function relative(path, cwd) { return cwd && path.startsWith(cwd + "/") ? path.slice(cwd.length + 1) : path; }

// line is the first line of a text.
export function line(text, most = 160) { return (text || "").trim().split("\n")[0].slice(0, most); }

// words is an object to look up words of a session in. It has no members but its own: a tool may be
// called constructor.
export function words(members) { return Object.assign(Object.create(null), members); }

const toolTitles = words({ AskUserQuestion: "Question", ExitPlanMode: "Plan" });

// toolTitle is the name of a tool as people read it; "" if a damaged session has none.
export function toolTitle(name) { return toolTitles[name] || (name || "").replace(/^mcp__(.+?)__(.+)$/, "$1: $2"); }

// states are those of a session.
export const states = words({ asks: "needs you", working: "working", done: "done", failed: "failed", stopped: "stopped", idle: "new", offline: "offline" });

// callStates are those of a call that has no result yet.
export const callStates = words({ queued: "waits for its turn", asked: "waits for an answer", executing: "runs" });

// progressLine is what a tool reports while it runs, in one line.
export function progressLine(p = {}) {
	return line(p.text || p.message || p.activity || p.query || (p.output || "").trimEnd().split("\n").pop());
}

// modes say when the user is asked.
export const modes = words({ default: "Ask before changes", acceptEdits: "Accept edits", plan: "Plan only", dontAsk: "Deny instead of asking" });
