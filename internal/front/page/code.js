// Colours for program text: comments, strings, numbers and the words most languages share.
import { el, fragment } from "./dom.js";

const keywords = new Set(
	("and as async await break case catch class const continue def default defer do elif else enum except export extends false finally fn for from func function go if impl import in interface is " +
		"let match mut new nil none None not null of or package pass private pub public raise range return select self static struct super switch then this throw trait true True False try type use var void while with yield").split(" "),
);

const slashes = "//[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)";
const comments = { hash: "#[^\\n]*", dash: "--[^\\n]*", slash: slashes, markup: "<!--[\\s\\S]*?(?:-->|$)" };
const styles = {
	hash: "py python rb ruby sh bash shell zsh console yaml yml toml pl r make makefile dockerfile ini conf cfg tf nix ex exs elixir",
	dash: "sql lua hs haskell ada elm",
	markup: "html xml svg vue",
	none: "text txt md markdown json output log diff",
};

// commentsOf is how comments begin in a language, which is named by a fence or a file's end.
function commentsOf(lang) {
	for (const [style, names] of Object.entries(styles)) if (names.split(" ").includes(lang)) return style;
	return "slash";
}

// language is the one of a file by its name.
export function language(path) {
	const base = (path || "").split("/").pop().toLowerCase();
	const dot = base.lastIndexOf(".");
	return dot >= 0 ? base.slice(dot + 1) : base;
}

const most = 40_000; // characters; a longer text is read rather than looked at

// highlight is a text with colours, as nodes.
export function highlight(text, lang) {
	const out = fragment();
	const style = commentsOf((lang || "").toLowerCase());
	if (!lang || style === "none" && lang !== "json" || text.length > most) {
		out.append(text);
		return out;
	}
	const parts = new RegExp(
		[style === "none" ? "(?!)" : comments[style], '"(?:[^"\\\\\\n]|\\\\.)*"?|\'(?:[^\'\\\\\\n]|\\\\.)*\'?|`[^`]*`?', "\\b\\d[\\w.]*\\b", "[A-Za-z_]\\w*"].map((p) => `(${p})`).join("|"),
		"g",
	);
	let at = 0;
	for (const m of text.matchAll(parts)) {
		const kind = m[1] !== undefined ? "comment" : m[2] !== undefined ? "string" : m[3] !== undefined ? "number" : keywords.has(m[0]) ? "keyword" : "";
		if (!kind) continue;
		if (m.index > at) out.append(text.slice(at, m.index));
		out.append(el("span", { class: "c-" + kind }, m[0]));
		at = m.index + m[0].length;
	}
	out.append(text.slice(at));
	return out;
}
