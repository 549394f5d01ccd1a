//go:build unix

package page_test

import (
	"encoding/json"
	"testing"

	"github.com/haftdev/haft/wire"
)

// tapped lets a test send the page messages and other events of a session as the server does:
// say(message), say(data, name).
const tapped = `{ const real = fetch;
globalThis.fetch = async (url, options) => {
	const answer = await real(url, options);
	if (!String(url).includes("/events?")) return answer;
	const from = answer.body.getReader();
	const body = new ReadableStream({ async start(to) {
		globalThis.say = (m, name = "message") => to.enqueue(new TextEncoder().encode("event: " + name + "\ndata: " + JSON.stringify(m) + "\n\n"));
		try { for (let piece; !(piece = await from.read()).done; ) to.enqueue(piece.value); to.close(); } catch (err) { to.error(err); }
	} });
	return new Response(body, { status: answer.status, headers: answer.headers });
}; }`

// Every kind of message that a session can produce has an appearance on the page, or a reason why
// it has none.
func TestEveryMessageHasAnAppearance(t *testing.T) {
	const folded = "the journal has it: it comes with the timeline"
	note := func(text string) string {
		return `[...document.querySelectorAll(".asks > p")].some((e) => e.textContent.includes(` + quoted(text) + `))`
	}
	cases := map[wire.Tag]struct {
		message in
		shown   string // a condition in the page
		reason  string
	}{
		{Type: "system", Subtype: "init"}:                  {reason: "the header has the model and the mode, from the timeline; commands are asked for when one is typed"},
		{Type: "system", Subtype: "session_state_changed"}: {reason: "the event session has the state, from one source"},
		{Type: "system", Subtype: "status"}:                {message: in{"status": "compacting"}, shown: note("Compacting the conversation")},
		{Type: "system", Subtype: "api_retry"}:             {message: in{"attempt": 2, "max_retries": 9, "retry_delay_ms": 3000, "error_status": 529}, shown: note("did not answer (529). Attempt 2 of 9 follows in 3 s")},
		{Type: "system", Subtype: "model_fallback"}:        {message: in{"content": "haiku takes over"}, shown: note("haiku takes over")},
		{Type: "system", Subtype: "permission_denied"}:     {reason: "the call is shown as denied, with the reason, from the timeline"},
		{Type: "system", Subtype: "informational"}:         {message: in{"level": "info", "tag": "/status", "content": "All is well."}, shown: `document.querySelector(".i-command")?.textContent === "/statusAll is well."`},
		{Type: "system", Subtype: "notification"}:          {message: in{"text": "Look here."}, shown: note("Look here.")},
		{Type: "system", Subtype: "hook_started"}:          {reason: "hooks run all the time; one that fails is told"},
		{Type: "system", Subtype: "hook_progress"}:         {reason: "hooks run all the time; one that fails is told"},
		{Type: "system", Subtype: "hook_response"}:         {message: in{"hook_name": "fmt", "outcome": "error", "stderr": "no gofmt\nx"}, shown: note("The hook fmt failed: no gofmt")},
		{Type: "system", Subtype: "compact_boundary"}:      {reason: folded},
		{Type: "system", Subtype: "commands_changed"}:      {reason: "the list of commands is asked for again when one is typed"},
		{Type: "system", Subtype: "thinking_tokens"}:       {reason: "the thoughts themselves are shown"},
		{Type: "system", Subtype: "session_title_changed"}: {reason: folded},
		{Type: "system", Subtype: "background_tasks_changed"}: {
			message: in{"tasks": []in{{"task_id": "t1", "task_type": "local_agent", "description": "Count files"}}}, shown: `document.querySelector(".tasks li")?.textContent.includes("Count files")`,
		},
		{Type: "system", Subtype: "task_started"}:      {message: in{"task_id": "t1", "description": "Count all files"}, shown: `document.querySelector(".tasks li")?.textContent.includes("Count all files")`},
		{Type: "system", Subtype: "task_progress"}:     {message: in{"task_id": "t1", "description": "Count all files", "last_tool_name": "Grep", "usage": in{"tool_uses": 3, "total_tokens": 4200}}, shown: `document.querySelector(".tasks li")?.textContent.includes("Grep · 3 calls, 4.2k tokens")`},
		{Type: "system", Subtype: "task_updated"}:      {message: in{"task_id": "t1", "patch": in{"status": "paused"}}, shown: `document.querySelector(".tasks li")?.textContent.includes("paused")`},
		{Type: "system", Subtype: "task_notification"}: {message: in{"task_id": "t1", "status": "completed", "summary": "There are 12."}, shown: note("In the background, completed: There are 12.")},
		{Type: "assistant"}:                            {reason: folded},
		{Type: "user"}:                                 {reason: folded},
		{Type: "stream_event"}:                         {reason: "an answer that arrives is shown as it is written; see the test of a reload in the middle of a stream"},
		{Type: "result"}:                               {message: in{"subtype": "error_max_budget_usd", "is_error": true, "errors": []string{"The budget is used up."}}, shown: `document.querySelector(".asks > .warning[role=alert]") && ` + note("The budget is used up.")},
		{Type: "tool_progress"}:                        {message: in{"tool_use_id": "u1", "tool_name": "Bash", "state": "executing", "elapsed_time_seconds": 3, "progress": in{"output": "12 of 40\n"}}, shown: `document.querySelector(".running")?.textContent === "Bash runs, 3.0 s: 12 of 40"`},
		{Type: "command_lifecycle"}:                    {reason: "the prompts that wait are shown, asked for whenever one begins or ends; see the test of a whole piece of work"},
		{Type: "keep_alive"}:                           {reason: "it says nothing; its absence shows the session as offline"},
		{Type: "transcript_mirror"}:                    {reason: "it is for programs that keep the session elsewhere; those who watch never get it"},
		{Type: "rate_limit_event"}:                     {message: in{"rate_limit_info": in{"status": "allowed_warning"}}, shown: note("rate limit: allowed warning")},
		{Type: "prompt_suggestion"}:                    {message: in{"suggestion": "run the tests"}, shown: `document.querySelector("footer textarea").placeholder === "run the tests (Tab)"`},
		{Type: "tool_use_summary"}:                     {message: in{"summary": "Read three files."}, shown: note("Read three files.")},
		{Type: "auth_status"}:                          {message: in{"error": "The code has expired."}, shown: note("Login: The code has expired.")},
		{Type: "system", Subtype: "journal_position"}:  {reason: "it says where the stream is, for those that connect again"},
		{Type: "system", Subtype: "call_step"}:         {reason: folded},
		{Type: "system", Subtype: "question_asked"}:    {reason: "the event questions has the open ones"},
		{Type: "system", Subtype: "question_answered"}: {reason: "the card says who answered; see the test of two tabs"},
		{Type: "control_request"}:                      {reason: "those who watch are asked by the event questions"},
		{Type: "control_response"}:                     {reason: "it answers the program that leads the session"},
		{Type: "control_cancel_request"}:               {reason: "the event questions has the open ones"},
		{Type: "conversation_reset"}:                   {message: in{"new_conversation_id": "3f9a1c00-0000-4000-8000-0000000000ff"}, shown: `location.pathname === "/s/3f9a1c00-0000-4000-8000-0000000000ff"`},
	}
	s := newSite(t, scenes)
	p := s.login(1280, 900)
	p.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": tapped})
	s.create(p, "hello")
	p.wait(`document.querySelector("header .chip").textContent === "done" && globalThis.say`)
	send := func(tag wire.Tag) {
		t.Helper()
		c, ok := cases[tag]
		delete(cases, tag)
		switch {
		case !ok:
			t.Errorf("messages of the kind %v have neither an appearance nor a reason", tag)
		case c.message == nil && c.reason == "":
			t.Errorf("messages of the kind %v are not sent", tag)
		case c.message != nil:
			m := in{"type": tag.Type, "subtype": tag.Subtype}
			for name, value := range c.message {
				m[name] = value
			}
			raw, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			p.eval(`say(`+string(raw)+`)`, nil)
			p.wait(c.shown)
		}
	}
	// A task is in the list before there is news of it, and a reset leaves the page.
	first, last := wire.Tag{Type: "system", Subtype: "background_tasks_changed"}, wire.Tag{Type: "conversation_reset"}
	send(first)
	for _, k := range wire.Kinds() {
		if k.Tag != first && k.Tag != last {
			send(k.Tag)
		}
	}
	p.clean()
	send(last)
	for tag := range cases {
		t.Errorf("there is no kind %v", tag)
	}
}

// A question about many files lists them, each with what it adds and removes; it can be answered
// once the list was read, and each change can be opened.
func TestAQuestionAboutManyFilesIsFolded(t *testing.T) {
	s := newSite(t, scenes)
	p := s.login(1280, 800)
	p.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": tapped})
	s.create(p, "hello")
	p.wait(`document.querySelector("header .chip").textContent === "done" && globalThis.say`)
	p.eval(`say({questions: [{id: "q1", digest: "d", kind: "permission", request: {tool_name: "Bash", input: {command: "gofmt -w ."}, change: {ran: true,
		files: Array.from({length: 501}, (_, n) => ({path: "/p/file" + n + ".go", before: {size: 1}, after: {size: 1}, hunks: [{oldStart: 1, oldLines: 2, newStart: 1, newLines: 3, lines: [" a", "-b", "+c", "+d"]}]}))}}}]}, "questions")`, nil)
	p.wait(`document.querySelectorAll(".question .file").length === 501 && !document.querySelector(".question .diff") && document.querySelector(".question .what").textContent.includes("501 files +1002 −501")`)
	p.eval(`document.querySelectorAll(".question .file summary")[2].click()`, nil)
	p.wait(`document.querySelectorAll(".question .diff tr").length === 4`)
	p.eval(`(async () => { const w = document.querySelector(".what"); const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r))); for (let y = 0; y < w.scrollHeight; y += w.clientHeight / 2) { w.scrollTop = y; await frame(); await frame(); } })()`, nil)
	p.wait(armed)
	p.clean()
}
