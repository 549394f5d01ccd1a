// A question about a call: the whole command or change, and buttons. Nothing can be allowed
// that has not been on the screen, and not before a moment has passed: a key that was meant
// for something else answers nothing.
import { el, region, button, input, note, link, announce, shortcut, say } from "./dom.js";
import { changeView, textOf } from "./diff.js";
import { inputView, laneOf } from "./item.js";
import { markdown } from "./markdown.js";
import { modes, words } from "./words.js";

const armTime = 400; // milliseconds
const modeIs = (mode) => ({ updatedPermissions: [{ type: "setMode", mode, destination: "session" }] });

export class Question {
	// question has id, digest, kind and request; send(answer) brings the answer to the server.
	constructor(question, send) {
		Object.assign(this, question, { send, seen: 0, since: Date.now(), settled: false });
		const r = this.request, name = r.display_name || r.tool_name || r.mcp_server_name || "";
		[this.yes, this.no] = this.kind === "elicitation" ? [{ action: "accept" }, { action: "decline" }] : [{ behavior: "allow" }, { behavior: "deny" }];
		const title = r.title || { elicitation: name + " asks", question: "The agent asks", plan: "Approve this plan?" }[this.kind] || `Allow ${name}?`;
		this.body = el("div.what", region("What is asked"), this.content(r));
		this.hint = el("p.hint", { role: "status" });
		this.buttons = el("div.buttons", this.choices(r));
		this.node = el("section.question", { role: "alertdialog", label: title, tabindex: -1, on: { keydown: (e) => this.key(e) } },
			el("h2", laneOf(r.agent_id), title), el("a.perma", { href: "/q/" + encodeURIComponent(this.id), title: "Link to this question", label: "Link to this question" }, "link"), this.kind === "permission" && r.decision_reason && el("p.because", "Reason: " + r.decision_reason), this.body, this.hint, this.buttons);
		this.body.addEventListener("scroll", () => this.look(), { passive: true });
		this.sizes = new ResizeObserver(() => requestAnimationFrame(() => this.look()));
		this.sizes.observe(this.body);
		this.timer = setInterval(() => this.look(), 100);
		this.look();
	}

	content(r) {
		if (Array.isArray(r.input?.questions)) return (this.form = choiceForm(r.input)).node;
		if (r.requested_schema) return (this.form = schemaForm(r)).node;
		if (this.kind === "elicitation") return el("div", el("p", r.message || ""), r.url && el("p", link(r.url, r.url)));
		if (typeof r.input?.plan === "string") return el("div.body", markdown(r.input.plan));
		return el("div",
			// A command that ran in a preview is not in what it changed; an edit is.
			inputView(r.input, r.change && !r.change.ran ? textOf(r.change.files || []) : ""),
			r.change && changeView(r.change),
			r.change_unknown && note("The changes of this call are unknown: " + r.change_unknown),
			r.blocked_path && !JSON.stringify(r.input).includes(JSON.stringify(r.blocked_path)) && note("Path: " + r.blocked_path));
	}

	choices(r) {
		const make = (key, label, kind, f) => button([el("kbd", key), " " + label], kind, f, { disabled: kind.startsWith("allow"), "aria-keyshortcuts": key });
		const plan = this.kind === "plan", form = this.form || this.kind === "elicitation";
		const rules = form || r.suppress_always_allow_rule ? [] : (r.permission_suggestions || []).filter((s) => ["session", "localSettings"].includes(s.destination));
		const allow = (more) => () => this.answer({ ...this.yes, ...more });
		const send = () => {
			const answers = this.form ? this.form.answers() : {};
			if (answers) this.answer({ ...this.yes, ...answers });
		};
		this.allow = plan ? make("y", "Approve, ask before edits", "allow", allow(modeIs("default"))) : make("y", form ? "Send" : "Allow once", "allow", send);
		this.always = plan ? make("a", "Approve and accept edits", "allow", allow(modeIs("acceptEdits"))) : rules.length > 0 && make("a", rules.map(ruleText).join("; "), "allow lasting", allow({ updatedPermissions: rules }));
		this.deny = make("n", plan ? "Keep planning" : form ? "Decline" : "Deny", "deny", () => this.answer(this.no));
		this.explain = this.no.behavior && make("e", plan ? "Say what to change" : form ? "Decline and explain" : "Deny and explain", "deny", () => this.refuse());
		return [this.allow, this.always, this.deny, this.explain];
	}

	// look notes how far down the content has been on the screen.
	look() {
		const b = this.body, box = b.getBoundingClientRect();
		if (this.settled || !this.node.isConnected || document.hidden || !box.height) return;
		const shown = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
		const from = b.scrollTop + Math.max(0, -box.top);
		if (shown > 0 && from <= this.seen + 1) this.seen = Math.max(this.seen, from + shown);
		const whole = this.seen >= b.scrollHeight - 2;
		const ready = whole && Date.now() - this.since >= armTime;
		for (const x of [this.allow, this.always]) if (x) x.disabled = !ready;
		const jumped = !whole && b.scrollTop + b.clientHeight >= b.scrollHeight - 2;
		say(this.hint, this.problem || (whole ? "" : jumped ? `You have seen ${Math.round((100 * this.seen) / b.scrollHeight)} % of it: scroll back to what you left out.` : "Scroll to the end to allow it."));
	}

	key(e) {
		if (e.repeat || Date.now() - this.since < armTime) return;
		const press = (b) => () => (b?.disabled ? announce(this.hint.textContent) : b?.click());
		shortcut(e, { y: press(this.allow), a: press(this.always), n: press(this.deny), e: press(this.explain) });
	}

	// refuse asks for a reason, which the model reads.
	refuse() {
		const why = input("Why not, and what to do instead");
		const send = () => this.answer({ ...this.no, message: why.value.trim() });
		why.addEventListener("keydown", (e) => {
			if (e.key === "Enter") send();
			if (e.key === "Escape") this.back();
		});
		this.buttons.replaceChildren(why, button("Deny", "deny", send), button("Back", "", () => this.back()));
		why.focus();
	}

	back() {
		this.buttons.replaceChildren(...this.choices(this.request).filter(Boolean));
		this.look();
		this.node.focus();
	}

	async answer(answer) {
		this.problem = "";
		for (const b of this.buttons.querySelectorAll("button")) b.disabled = true;
		try {
			await this.send({ question: this.id, digest: this.digest, answer });
			this.settle(answer.behavior === "deny" || answer.action === "decline" ? "Denied here." : "Allowed here.");
		} catch (err) {
			if (err.status === 409) return this.settle(err.message);
			this.problem = "Could not send the answer: " + err.message;
			this.back();
		}
	}

	// settle turns the card grey and says why.
	settle(text) {
		if (this.settled) return;
		this.settled = true;
		clearInterval(this.timer);
		this.sizes.disconnect();
		this.node.classList.add("settled");
		this.buttons.replaceChildren(note(text));
		say(this.hint, "");
		announce(text);
		setTimeout(() => this.node.remove(), 1500);
	}
}

// ruleText says what a suggested change of permissions allows.
function ruleText(s) {
	const where = { session: "in this session", localSettings: "in this project" }[s.destination];
	if (s.mode) return `${modes[s.mode] || s.mode} ${where}`;
	const what = s.rules?.map((r) => (r.ruleContent ? `${r.toolName}(${r.ruleContent})` : r.toolName)) || s.directories || [];
	return `Always allow ${what.join(", ")} ${where}`;
}

function optionView(type, name, value, label, about, checked) {
	return el("label.option", el("input", { type, name, value, checked }), " ", el("b", label), about && el("span", " " + about));
}

const checkedIn = (node) => [...node.querySelectorAll("input:checked")].map((i) => i.value);

// choiceForm is the form of questions that a model asks the user.
function choiceForm(asked) {
	const parts = asked.questions.map((q, n) => {
		const other = input("Another answer", { label: "Another answer to: " + (q.question || "") });
		const options = (q.options || []).map((o) => optionView(q.multiSelect ? "checkbox" : "radio", "q" + n, o.label, o.label || "", o.description));
		const node = el("fieldset", el("legend", q.question || q.header || ""), options, other);
		if (!q.multiSelect) { // one answer: the last that was given
			other.addEventListener("input", () => node.querySelectorAll("input:checked").forEach((i) => (i.checked = false)));
			node.addEventListener("change", (e) => e.target !== other && (other.value = ""));
		}
		return { q, other, node };
	});
	return {
		node: el("div", parts.map((p) => p.node)),
		answers: () => ({ updatedInput: { ...asked, answers: Object.fromEntries(parts.map((p) => [p.q.question, checkedIn(p.node).concat(p.other.value.trim() || []).join(", ")])) } }),
	};
}

// schemaForm is the form that an MCP server asks for. The browser checks what is entered.
function schemaForm(r) {
	const schema = r.requested_schema;
	const fields = Object.entries(schema.properties || {}).map(([key, p]) => ({ key, ...fieldOf(key, p, schema.required?.includes(key)) }));
	const form = el("form", { on: { submit: (e) => e.preventDefault() } }, el("p", r.message || ""), fields.map((f) => f.node));
	return {
		node: form,
		answers: () => form.reportValidity() && { content: Object.fromEntries(fields.map((f) => [f.key, f.value()]).filter(([, v]) => v !== undefined)) },
	};
}

const formats = words({ email: "email", uri: "url", date: "date" });

// fieldOf is a field of a schema: choices, a yes or no, a number or a text.
function fieldOf(key, p, required) {
	const label = p.title || key, from = p.items || p;
	const options = (from.oneOf || from.anyOf)?.map((o) => [o.const, o.title || o.const]) || from.enum?.map((v, i) => [v, from.enumNames?.[i] || v]);
	if (p.type === "array") {
		const node = el("fieldset", el("legend", label), (options || []).map(([v, name]) => optionView("checkbox", key, v, name, "", p.default?.includes(v))), p.description && note(p.description));
		return { node, value: () => checkedIn(node) };
	}
	const number = /number|integer/.test(p.type), yes = p.type === "boolean";
	const field = options ? el("select", { required }, !required && el("option", { value: "" }), options.map(([value, name]) => el("option", { value, selected: value === p.default }, name)))
		: el("input", {
			type: yes ? "checkbox" : number ? "number" : formats[p.format] || "text", required: required && !yes, checked: yes && p.default === true, value: yes ? null : p.default,
			step: number && (p.type === "integer" ? 1 : "any"), min: p.minimum, max: p.maximum, minlength: p.minLength, maxlength: p.maxLength, pattern: p.pattern,
		});
	const value = () => (yes ? field.checked : field.value === "" ? undefined : number ? Number(field.value) : field.value);
	return { value, node: el("label.option", yes ? [field, " ", label] : [label, required && " (required)", " ", field], p.description && el("span", " " + p.description)) };
}
