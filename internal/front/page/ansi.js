// The output of commands with its colours. Other escape codes than colours do nothing.
import { el, fragment, visible } from "./dom.js";

const escapes = /\x1b\[([0-9;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]?/g;

// ansi is a text with escape codes as nodes.
export function ansi(text) {
	const out = fragment();
	const look = {};
	let at = 0;
	text = overwritten(text);
	const say = (part) => {
		if (!part) return;
		const named = Object.values(looks).filter((k) => look[k]).map((k) => "a-" + k);
		const [fg, bg] = look.inverse ? [look.bg ?? "inverse", look.fg ?? "inverse"] : [look.fg, look.bg];
		const style = {};
		colour(fg, "a-f", "color", named, style);
		colour(bg, "a-b", "background-color", named, style);
		if (!named.length && !Object.keys(style).length) out.append(visible(part));
		else out.append(el("span", { class: named.join(" "), style }, part));
	};
	for (const m of text.matchAll(escapes)) {
		say(text.slice(at, m.index));
		at = m.index + m[0].length;
		if (m[1] !== undefined) dress(look, m[1]);
	}
	say(text.slice(at));
	return out;
}

// overwritten applies carriage returns and backspaces the way a terminal leaves them.
function overwritten(text) {
	text = text.replace(/\r+\n/g, "\n");
	if (text.includes("\b")) for (let before; before !== text; ) [before, text] = [text, text.replace(/[^\n\b]\x08/g, "")];
	return text.includes("\r") ? text.replace(/^.*\r(?=.)/gm, "") : text;
}

function colour(c, prefix, property, named, style) {
	if (c === undefined || c === null) return;
	if (typeof c === "number" || c === "inverse") named.push(prefix + c);
	else style[property] = c;
}

const looks = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike" };

// dress applies the numbers of one code.
function dress(look, codes) {
	const n = codes.split(/[;:]/).map(Number);
	for (let i = 0; i < n.length; i++) {
		const c = n[i];
		if (c === 0) for (const k of Object.keys(look)) delete look[k];
		else if (c === 22) look.bold = look.dim = false;
		else if (looks[c]) look[looks[c]] = true;
		else if (looks[c - 20]) look[looks[c - 20]] = false;
		else if (c >= 30 && c <= 37) look.fg = c - 30;
		else if (c >= 90 && c <= 97) look.fg = c - 82;
		else if (c >= 40 && c <= 47) look.bg = c - 40;
		else if (c >= 100 && c <= 107) look.bg = c - 92;
		else if (c === 39) delete look.fg;
		else if (c === 49) delete look.bg;
		else if (c === 38 || c === 48) {
			const key = c === 38 ? "fg" : "bg";
			if (n[i + 1] === 5) look[key] = indexed(n[(i += 2)]);
			else if (n[i + 1] === 2) {
				look[key] = `rgb(${n.slice(i + 2, i + 5).map((v) => Math.min(255, v || 0)).join(",")})`;
				i += 4;
			}
		}
	}
}

// indexed is a colour of the table of 256.
function indexed(n) {
	if (!(n >= 16)) return n || 0;
	if (n >= 232) return `rgb(${Array(3).fill(8 + (Math.min(n, 255) - 232) * 10).join(",")})`;
	const part = (v) => (v ? 55 + v * 40 : 0);
	n -= 16;
	return `rgb(${part(Math.floor(n / 36))},${part(Math.floor(n / 6) % 6)},${part(n % 6)})`;
}
