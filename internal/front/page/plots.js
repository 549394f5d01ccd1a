// Small plots over turns: how full the context was, and what the turns cost.
import { el, svg, button } from "./dom.js";
import { tokens, money, count, relative, words } from "./words.js";

const width = 280, height = 64, mostColumns = 140;

// plot draws a column per turn; turns that have no room are drawn together by the largest.
function plot(title, values, text, open) {
	const per = Math.ceil(values.length / mostColumns) || 1;
	const columns = [];
	for (let i = 0; i < values.length; i += per) {
		let best = i;
		for (let k = i; k < Math.min(i + per, values.length); k++) if (values[k] > values[best]) best = k;
		columns.push(best);
	}
	const most = Math.max(...values, 0) || 1, step = width / Math.max(columns.length, 12);
	const bars = columns.map((turn, n) => {
		const h = Math.max(1, (values[turn] / most) * (height - 2));
		return svg("rect.column", { x: n * step, y: height - h, width: Math.max(1, step - 1), height: h, on: { click: () => open(turn) } }, svg("title", `turn ${turn + 1}: ${text(values[turn])}`));
	});
	const last = values[values.length - 1] || 0;
	return el("figure.plot", el("figcaption", title, el("span.value", text(last))),
		svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", label: `${title}, ${count(values.length, "turn")}: at most ${text(most)}, last ${text(last)}`, preserveAspectRatio: "none" }, bars));
}

// plots are those of a session that say something.
export function plots(model, open) {
	const at = (turn) => open(model.turns[turn].item), costs = model.turns.map((t) => t.cost);
	return [plot("Context per turn, tokens", model.turns.map((t) => t.usage.context), tokens, at), costs.some(Boolean) && plot("Cost per turn", costs, (v) => money(v), at)];
}

const boxes = words({ completed: "☑", in_progress: "▸", pending: "☐" });

// todoList shows the to-dos of a session.
export function todoList(todos) {
	const list = Array.isArray(todos) ? todos : todos?.todos || [];
	return list.length > 0 && el("ul.todos", list.map((t) => el("li", { class: t.status }, el("span", { role: "img", label: t.status || "pending" }, boxes[t.status] || "☐"), " ", t.content || t.subject || "")));
}

// taskList shows what runs in the background, with a way to stop it.
export function taskList(tasks, stop) {
	return tasks.length > 0 && el("ul.tasks", tasks.map((t) => el("li", el("span", { "aria-hidden": "true" }, "● "), t.description || t.subagent_type || t.task_type, t.doing && el("span.meta", " " + t.doing), " ",
		button("Stop", "small deny", () => stop(t.task_id), { label: "Stop " + t.description }))));
}

// changedFiles are the files that calls changed, with how often, as far as items are loaded.
export function changedFiles(model, cwd, open) {
	const files = new Map();
	model.items.forEach((i) => i?.call?.files?.forEach((f) => files.set(f, { n: (files.get(f)?.n || 0) + 1, last: i.index })));
	return files.size > 0 && el("ul.files", [...files].slice(-200).map(([path, f]) =>
		el("li", button(relative(path, cwd), "plain", () => open(f.last)), f.n > 1 && el("span.badge", "×" + f.n))));
}
