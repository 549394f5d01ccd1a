// A question about a call: the whole command or change, and buttons. Nothing can be allowed
// that has not been on the screen, and not before a moment has passed: a key that was meant
// for something else answers nothing.
import { el, button, visible, announce, shortcut } from "./dom.js";
import { changeView } from "./diff.js";
import { inputView } from "./item.js";
import { markdown } from "./markdown.js";

const armTime = 400; // milliseconds

export class Question {
  // question has id, digest and request, a can_use_tool request; send(answer) brings the
  // answer to the server.
  constructor(question, send) {
    Object.assign(this, { id: question.id, digest: question.digest, request: question.request, send, seen: 0, since: 0, settled: false });
    const r = this.request;
    [this.yes, this.no] = question.kind === "elicitation" ? [{ action: "accept" }, { action: "decline" }] : [{ behavior: "allow" }, { behavior: "deny" }];
    const name = visible(r.display_name || r.tool_name || r.mcp_server_name || "");
    const title = visible(r.title || (question.kind === "elicitation" ? name + " asks" : question.kind === "question" ? "The agent asks" : question.kind === "plan" ? "Approve this plan?" : `Allow ${name}?`));
    this.body = el("div", { class: "what", tabindex: 0, role: "region", "aria-label": "What is asked" }, this.content(r));
    this.hint = el("p", { class: "hint", role: "status" });
    this.buttons = el("div", { class: "buttons" }, this.choices(r));
    this.node = el("section", { class: "question", role: "alertdialog", "aria-label": title, tabindex: -1, on: { keydown: (e) => this.key(e) } },
      el("h2", {}, r.agent_id && el("span", { class: "lane" }, "agent " + visible(r.agent_id)), title),
      r.decision_reason && el("p", { class: "because" }, visible(r.decision_reason)), this.body, this.hint, this.buttons);
    this.body.addEventListener("scroll", () => this.look(), { passive: true });
    this.sizes = new ResizeObserver(() => this.look());
    this.sizes.observe(this.body);
    this.timer = setInterval(() => this.look(), 100);
    this.arm();
  }

  content(r) {
    if (Array.isArray(r.input?.questions)) return (this.form = choiceForm(r.input)).node;
    if (r.requested_schema) return (this.form = schemaForm(r)).node;
    const parts = [];
    if (typeof r.input?.plan === "string") parts.push(el("div", { class: "body" }, markdown(r.input.plan)));
    else parts.push(inputView(r.input, r.change?.files?.length > 0));
    if (r.change) parts.push(changeView(r.change));
    if (r.change_unknown) parts.push(el("p", { class: "note" }, "What it would change is not known: " + visible(r.change_unknown)));
    if (r.blocked_path && !JSON.stringify(r.input).includes(JSON.stringify(r.blocked_path))) parts.push(el("p", { class: "note" }, "Path: " + visible(r.blocked_path)));
    return el("div", {}, parts);
  }

  choices(r) {
    const make = (key, label, kind, f) => button([el("kbd", {}, key), " " + label], { class: kind, disabled: kind === "allow", "aria-keyshortcuts": key }, f);
    this.allow = make("y", this.form ? "Send" : "Allow once", "allow", () => this.answer({ ...this.yes, ...this.form?.answers() }));
    const rule = this.form || r.suppress_always_allow_rule ? null : r.permission_suggestions?.find((s) => ["session", "localSettings"].includes(s.destination));
    this.always = rule && make("a", "Always: " + visible(ruleText(rule)), "allow", () => this.answer({ ...this.yes, updatedPermissions: [rule] }));
    this.deny = make("n", this.form ? "Decline" : "Deny", "deny", () => this.answer(this.no));
    this.explain = this.no.behavior && make("e", "Deny and explain", "deny", () => this.refuse());
    return [this.allow, this.always, this.deny, this.explain];
  }

  // arm begins the time that must pass before something can be allowed.
  arm() {
    this.since = Date.now();
    this.seen = 0;
    this.look();
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
    const say = whole ? "" : "Scroll to the end to allow it.";
    if (this.hint.textContent !== say) this.hint.textContent = say;
  }

  key(e) {
    if (e.repeat || Date.now() - this.since < armTime) return;
    const press = (b) => () => (b?.disabled ? announce(this.hint.textContent) : b?.click());
    shortcut(e, { y: press(this.allow), a: press(this.always), n: press(this.deny), e: press(this.explain) });
  }

  // refuse asks for a reason, which the model reads.
  refuse() {
    const why = el("input", { type: "text", placeholder: "Why not, and what to do instead", "aria-label": "Why not" });
    const send = () => this.answer({ ...this.no, message: why.value.trim() });
    why.addEventListener("keydown", (e) => {
      if (e.key === "Enter") send();
      if (e.key === "Escape") this.back();
    });
    this.buttons.replaceChildren(why, button("Deny", { class: "deny" }, send), button("Back", {}, () => this.back()));
    why.focus();
  }

  back() {
    this.buttons.replaceChildren(...this.choices(this.request).filter(Boolean));
    this.look();
    this.node.focus();
  }

  async answer(answer) {
    for (const b of this.buttons.querySelectorAll("button")) b.disabled = true;
    try {
      await this.send({ question: this.id, digest: this.digest, answer });
      this.settle(answer === this.no || answer.behavior === "deny" ? "Denied here." : "Allowed here.");
    } catch (err) {
      if (err.status === 409) return this.settle(err.message);
      this.hint.textContent = "Could not send the answer: " + err.message;
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
    this.buttons.replaceChildren(el("p", { class: "note" }, visible(text)));
    this.hint.textContent = "";
    announce(text);
    setTimeout(() => this.node.remove(), 1500);
  }
}

// ruleText says what a suggested change of permissions allows.
function ruleText(s) {
  const where = { session: "this session", userSettings: "everywhere", projectSettings: "this project", localSettings: "this project, for you" }[s.destination] || "";
  const what = s.rules?.map((r) => (r.ruleContent ? `${r.toolName}(${r.ruleContent})` : r.toolName)).join(", ") || (s.mode ? "mode " + s.mode : (s.directories || []).join(", "));
  return [what, where].filter(Boolean).join(", ");
}

// choiceForm is the form of questions that a model asks the user.
function choiceForm(input) {
  const parts = input.questions.map((q, n) => {
    const type = q.multiSelect ? "checkbox" : "radio";
    const other = el("input", { type: "text", "aria-label": "Another answer to: " + visible(q.question || ""), placeholder: "Another answer" });
    const options = (q.options || []).map((o) => el("label", { class: "option" }, el("input", { type, name: "q" + n, value: o.label }), " ", el("b", {}, visible(o.label || "")), o.description && el("span", {}, visible(" " + o.description))));
    return { q, other, node: el("fieldset", {}, el("legend", {}, visible(q.question || q.header || "")), options, other) };
  });
  return {
    node: el("div", {}, parts.map((p) => p.node)),
    answers() {
      const answers = {};
      for (const p of parts) answers[p.q.question] = [...p.node.querySelectorAll("input:checked")].map((i) => i.value).concat(p.other.value.trim() || []).join(", ");
      return { updatedInput: { ...input, answers } };
    },
  };
}

// schemaForm is the form that an MCP server asks for.
function schemaForm(r) {
  const fields = Object.entries(r.requested_schema.properties || {}).map(([key, p]) => {
    const input = p.enum ? el("select", {}, p.enum.map((v) => el("option", { value: v }, visible(v)))) : el("input", { type: p.type === "boolean" ? "checkbox" : /number|integer/.test(p.type) ? "number" : "text", step: "any" });
    const value = () => (p.type === "boolean" ? input.checked : input.value === "" ? undefined : input.type === "number" ? Number(input.value) : input.value);
    return { key, value, node: el("label", { class: "option" }, visible(p.title || key), " ", input, p.description && el("span", {}, " " + visible(p.description))) };
  });
  return {
    node: el("div", {}, el("p", {}, visible(r.message || "")), fields.map((f) => f.node)),
    answers: () => ({ content: Object.fromEntries(fields.map((f) => [f.key, f.value()])) }),
  };
}
