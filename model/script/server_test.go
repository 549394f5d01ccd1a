package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/model"
)

// serve starts a server that takes any request: these tests are about its answers.
func serve(t *testing.T, opts *Options) *Server {
	t.Helper()
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Unchecked = true
	srv, err := Serve(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return srv
}

// ask posts a body and returns the status and what came, with the error of reading it.
func ask(t *testing.T, srv *Server, path, body string) (*http.Response, string, error) {
	t.Helper()
	resp, err := http.Post(srv.URL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("X-Haft-Scripted") != "true" {
		t.Error("the answer does not say that it is scripted")
	}
	raw, err := io.ReadAll(resp.Body)
	return resp, string(raw), err
}

// question is a request after n answers.
func question(n int, more string) string {
	messages := `{"role":"user","content":"go on"}`
	for range n {
		messages += `,{"role":"assistant","content":[{"type":"text","text":"\"role\":\"assistant\" \\"}]},{"role":"user","content":[]}`
	}
	return `{"model":"m","stream":true,"messages":[` + messages + `],"tools":[{}]` + more + `}`
}

var reading = &Scenario{Turns: []Turn{
	{Blocks: []Block{{Thinking: "hm"}, {Text: "I read."}, {Tool: "Read", Input: json.RawMessage(`{"file_path":"/a"}`)}}},
	{Blocks: []Block{{Text: "Read."}}},
}}

func TestMessagesStream(t *testing.T) {
	srv := serve(t, &Options{Scenario: reading})
	_, got, err := ask(t, srv, "/v1/messages?beta=true", question(0, ""))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(got) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			lines = append(lines, strings.TrimSpace(data))
		}
	}
	want := []string{
		`{"message":{"content":[],"id":"msg_scripted_0000","model":"scripted:m","role":"assistant","stop_reason":null,"stop_sequence":null,"type":"message","usage":{"input_tokens":22,"output_tokens":1,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}},"type":"message_start"}`,
		`{"content_block":{"signature":"","thinking":"","type":"thinking"},"index":0,"type":"content_block_start"}`,
		`{"delta":{"thinking":"hm","type":"thinking_delta"},"index":0,"type":"content_block_delta"}`,
		`{"delta":{"signature":"c2NyaXB0ZWQ=","type":"signature_delta"},"index":0,"type":"content_block_delta"}`,
		`{"index":0,"type":"content_block_stop"}`,
		`{"content_block":{"text":"","type":"text"},"index":1,"type":"content_block_start"}`,
		`{"delta":{"text":"I read.","type":"text_delta"},"index":1,"type":"content_block_delta"}`,
		`{"index":1,"type":"content_block_stop"}`,
		`{"content_block":{"id":"toolu_00_02","input":{},"name":"Read","type":"tool_use"},"index":2,"type":"content_block_start"}`,
		`{"delta":{"partial_json":"{\"file_path\":\"/a\"}","type":"input_json_delta"},"index":2,"type":"content_block_delta"}`,
		`{"index":2,"type":"content_block_stop"}`,
		`{"delta":{"stop_reason":"tool_use","stop_sequence":null},"type":"message_delta","usage":{"input_tokens":22,"output_tokens":7,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}`,
		`{"type":"message_stop"}`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestTurnsAreChosenByTheAnswersInTheRequest(t *testing.T) {
	srv := serve(t, &Options{Scenario: reading})
	for _, c := range []struct {
		answers int
		want    string
	}{{1, `"text":"Read."`}, {0, `"name":"Read"`}, {2, `"text":"Done."`}, {7, `"text":"Done."`}} {
		if _, got, _ := ask(t, srv, "/v1/messages", question(c.answers, "")); !strings.Contains(got, c.want) {
			t.Errorf("after %d answers: no %s in\n%s", c.answers, c.want, got)
		}
	}
}

func TestChatStream(t *testing.T) {
	srv := serve(t, &Options{Scenario: reading})
	_, got, err := ask(t, srv, "/v1/chat/completions", question(0, `,"stream_options":{"include_usage":true}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"delta":{"reasoning_content":"hm"}`, `"delta":{"content":"I read."}`,
		`"delta":{"tool_calls":[{"function":{"arguments":"","name":"Read"},"id":"toolu_00_02","index":2,"type":"function"}]}`,
		`"delta":{"tool_calls":[{"function":{"arguments":"{\"file_path\":\"/a\"}"},"index":2}]}`,
		`"finish_reason":"tool_calls"`, `"completion_tokens":7`, "data: [DONE]\n\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestWholeAnswers(t *testing.T) {
	srv := serve(t, &Options{Scenario: reading})
	body := strings.Replace(question(0, ""), `"stream":true`, `"stream":false`, 1)
	for path, want := range map[string]string{
		"/v1/messages":         `{"id":"toolu_00_02","input":{"file_path":"/a"},"name":"Read","type":"tool_use"}`,
		"/v1/chat/completions": `"reasoning_content":"hm","role":"assistant","tool_calls":[{"function":{"arguments":"{\"file_path\":\"/a\"}"`,
	} {
		if _, got, _ := ask(t, srv, path, body); !strings.Contains(got, want) {
			t.Errorf("%s: no %s in\n%s", path, want, got)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  Fault
		status int
		want   string // is in the body
		cut    bool
	}{
		{"an error has its status, type and message", Fault{Status: 529, Message: "busy"}, 529, `{"error":{"message":"busy","type":"overloaded_error"},"type":"error"}`, false},
		{"a body of its own", Fault{Body: "<html>", ContentType: "text/html", Status: 502}, 502, "<html>", false},
		{"the wrong content type", Fault{ContentType: "text/plain"}, 200, "message_stop", false},
		{"cut before anything", Fault{Break: Cut}, 200, "", true},
		{"cut after events", Fault{Break: Cut, After: 2}, 200, "content_block_start", true},
		{"cut after bytes", Fault{Break: Cut, AfterBytes: 9}, 200, "event: me", true},
		{"an early end", Fault{Break: End, After: 1}, 200, "message_start", false},
		{"garbage", Fault{Break: Garbage, After: 3}, 200, "content_bl\xff", false},
		{"an error in the stream", Fault{Break: Failure, After: 1, Type: "api_error"}, 200, `"type":"api_error"`, false},
		{"drip", Fault{Drip: 1, Break: End, AfterBytes: 5}, 200, "event", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := serve(t, &Options{Scenario: &Scenario{Turns: []Turn{{Blocks: []Block{{Text: "hello"}}, Fault: c.fault}}}})
			resp, got, err := ask(t, srv, "/v1/messages", question(0, ""))
			if resp.StatusCode != c.status || !strings.Contains(got, c.want) || (err != nil) != c.cut {
				t.Errorf("got status %d, error %v and\n%s", resp.StatusCode, err, got)
			}
			if _, again, _ := ask(t, srv, "/v1/messages", question(0, "")); !strings.Contains(again, "message_stop") || strings.Contains(again, "\xff") {
				t.Errorf("the second time is no better:\n%s", again)
			}
		})
	}
}

func TestFaultsHappenAsOftenAsTheySayInEachConversation(t *testing.T) {
	srv := serve(t, &Options{Scenario: &Scenario{Turns: []Turn{{Fault: Fault{Status: 429, RetryAfter: "7", Times: 2}}, {Fault: Fault{Status: 500, Times: -1}}}}})
	for _, session := range []string{"a", "b"} {
		for i, want := range []int{429, 429, 200, 200} {
			resp, _, _ := ask(t, srv, "/v1/messages", question(0, `,"metadata":{"user_id":"`+session+`"}`))
			if resp.StatusCode != want || want == 429 && resp.Header.Get("Retry-After") != "7" {
				t.Errorf("session %s, request %d: status %d", session, i, resp.StatusCode)
			}
		}
	}
	for range 3 {
		if resp, _, _ := ask(t, srv, "/v1/messages", question(1, "")); resp.StatusCode != 500 {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
}

func TestHangEndsWithTheServer(t *testing.T) {
	srv := serve(t, &Options{Answer: func(*Request) Turn { return Turn{Fault: Fault{Break: Hang, After: 1}} }})
	resp, err := http.Post(srv.URL()+"/v1/messages", "application/json", strings.NewReader(question(0, "")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	_ = srv.Close()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the answer ended well")
	}
}

func TestPartsAndSideRequests(t *testing.T) {
	srv := serve(t, &Options{Scenario: &Scenario{
		Turns: []Turn{{Blocks: []Block{{Text: "main"}}}},
		Parts: []Part{{When: "scout", Turns: []Turn{{Blocks: []Block{{Text: "sub"}}}}}},
		Side:  &Turn{Blocks: []Block{{Text: "side"}}},
	}})
	for body, want := range map[string]string{
		`{"messages":[{"role":"user","content":"hi"}],"tools":[{}]}`:                                             "main",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"you are a scout"}]}],"tools":[{},{}]}`:    "sub",
		`{"messages":[{"role":"user","content":"hi"}]}`:                                                          "side",
		`{"messages":[{"role":"system","content":"scout"},{"role":"user","content":"hi"}],"tools":[{"a":"]}"}]}`: "main",
	} {
		if _, got, _ := ask(t, srv, "/v1/messages", body); !strings.Contains(got, `"`+want+`"`) {
			t.Errorf("%s: want %s, got %s", body, want, got)
		}
	}
}

func TestRequestsAreRememberedWithinBounds(t *testing.T) {
	srv := serve(t, &Options{Keep: 3})
	for i := range 5 {
		_, _, _ = ask(t, srv, "/v1/messages", question(i, `,"system":[{"type":"text","text":"be good"}],"metadata":{"user_id":"s"}`))
	}
	got := srv.Requests()
	if len(got) != 3 || srv.Total() != 5 {
		t.Fatalf("remembers %d of %d", len(got), srv.Total())
	}
	r := got[2]
	type view struct {
		API                   API
		Path, Model, Session  string
		Stream                bool
		Turn, Messages, Tools int
		System, First, Last   string
	}
	want := view{Messages, "/v1/messages", "m", "s", true, 4, 9, 1, "be good", "go on", ""}
	if diff := cmp.Diff(want, view{r.API, r.Path, r.Model, r.Session, r.Stream, r.Turn, r.Messages, r.Tools, r.System(), r.FirstText(), r.LastText()}); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestOtherRoutes(t *testing.T) {
	srv := serve(t, nil)
	if _, got, _ := ask(t, srv, "/v1/messages/count_tokens", strings.Repeat(" ", 400)); got != "{\"input_tokens\":100}\n" {
		t.Errorf("count_tokens: %s", got)
	}
	resp, err := http.Get(srv.URL() + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if raw, _ := io.ReadAll(resp.Body); !strings.Contains(string(raw), `"id":"scripted"`) {
		t.Errorf("models: %s", raw)
	}
	if resp, _, _ := ask(t, srv, "/v1/nothing", ""); resp.StatusCode != 404 {
		t.Errorf("an unknown path has status %d", resp.StatusCode)
	}
	for _, body := range []string{"", "{", "{}x", `{"messages":[}`} {
		if resp, _, _ := ask(t, srv, "/v1/messages", body); resp.StatusCode != 400 {
			t.Errorf("body %q has status %d", body, resp.StatusCode)
		}
	}
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.json")
	text := `{"turns":[{"ttft_ms":5,"blocks":[{"tool":"Read","input":{"file_path":"${DIR}/${OTHER}"},"gap_ms":2}],"usage":{"input_tokens":3},"break":"cut","after":2}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(file, map[string]string{"DIR": `C:\"x"`})
	if err != nil {
		t.Fatal(err)
	}
	want := &Scenario{Turns: []Turn{{
		TTFT:   5,
		Blocks: []Block{{Tool: "Read", Input: json.RawMessage(`{"file_path":"C:\\\"x\"/${OTHER}"}`), Gap: 2}},
		Usage:  &model.Usage{Input: 3},
		Fault:  Fault{Break: Cut, After: 2},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scenario (-want +got):\n%s", diff)
	}
	if _, err := Load(file+"x", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(file, []byte(`{"turnz":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file, nil); err == nil || !strings.Contains(err.Error(), "turnz") {
		t.Errorf("a misspelled scenario: %v", err)
	}
}

func TestPausesAreKept(t *testing.T) {
	srv := serve(t, &Options{Answer: func(*Request) Turn {
		return Turn{TTFT: 20, Delta: 10, Chunk: 1, Blocks: []Block{{Text: "ab", Gap: 20}}}
	}})
	start := time.Now()
	_, _, _ = ask(t, srv, "/v1/messages", question(0, ""))
	if took := time.Since(start); took < 60*time.Millisecond {
		t.Errorf("took %v, want at least 60 ms", took)
	}
}

func TestAThousandConversationsAtOnce(t *testing.T) {
	srv := serve(t, &Options{Keep: -1, Answer: func(r *Request) Turn { return Turn{TTFT: 50, Blocks: []Block{{Text: "to " + r.Session}}} }})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			body := question(0, fmt.Sprintf(`,"metadata":{"user_id":"s%d"}`, i))
			resp, err := client.Post(srv.URL()+"/v1/messages", "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if raw, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(raw), fmt.Sprintf(`"to s%d"`, i)) {
				t.Errorf("conversation %d: %v\n%s", i, err, raw)
			}
		})
	}
	wg.Wait()
}

// The Responses API says several items in one answer: they count as one.
func TestResponsesStream(t *testing.T) {
	srv := serve(t, &Options{Scenario: reading})
	const first = `{"model":"m","stream":true,"tools":[{}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}`
	_, got, err := ask(t, srv, "/v1/responses", first+`]}`)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(got) {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	want := []string{
		"response.created", "response.output_item.added", "response.output_text.delta", "response.output_item.done",
		"response.output_item.added", "response.function_call_arguments.delta", "response.output_item.done", "response.completed",
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	_, got, err = ask(t, srv, "/v1/responses", first+`,{"type":"message","role":"assistant","content":[]},{"type":"function_call","call_id":"c"},{"type":"function_call_output","call_id":"c","output":""}]}`)
	if err != nil || !strings.Contains(got, `"text":"Read."`) {
		t.Errorf("the second answer is %s, %v", got, err)
	}
	if r := srv.Requests()[1]; r.Turn != 1 || r.FirstText() != "go on" {
		t.Errorf("turn %d, first text %q", r.Turn, r.FirstText())
	}
}
