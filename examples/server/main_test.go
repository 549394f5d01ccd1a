package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/embed"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

// serve starts the server with a model that answers so, and returns its address and project.
func serve(t *testing.T, turns ...script.Turn) (address, dir string) {
	t.Helper()
	model, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: turns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	t.Setenv("ANTHROPIC_BASE_URL", model.URL())
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-scripted")
	t.Setenv("HOME", t.TempDir())
	dir = t.TempDir()
	srv := httptest.NewServer(newHandler(haft.Options{Transport: embed.New(nil), Dir: dir}))
	t.Cleanup(srv.Close)
	return srv.URL, dir
}

// chat sends a prompt and returns the last event. It answers questions by the tool's name.
func chat(address, prompt, session string, allowed ...string) (last event, said []string, err error) {
	resp, err := http.Post(address+"/chat?session="+url.QueryEscape(session), "text/plain", strings.NewReader(prompt))
	if err != nil {
		return last, nil, err
	}
	defer resp.Body.Close()
	for lines := json.NewDecoder(resp.Body); lines.More(); {
		last = event{}
		if err := lines.Decode(&last); err != nil {
			return last, said, err
		}
		switch {
		case last.Error != "":
			return last, said, fmt.Errorf("%s", last.Error)
		case last.Text != "":
			said = append(said, last.Text)
		case last.Question != "":
			said = append(said, "may I "+last.Tool+"?")
			allow := fmt.Sprint(len(allowed) > 0 && allowed[0] == last.Tool)
			answer, err := http.Post(address+"/answer?question="+last.Question+"&allow="+allow, "", nil)
			if err != nil {
				return last, said, err
			}
			answer.Body.Close()
		}
	}
	return last, said, nil
}

// A hundred prompts at once get a session each, and one of them is continued.
func TestAHundredSessions(t *testing.T) {
	const many = 100
	turns := make([]script.Turn, many+1)
	for i := range turns {
		turns[i] = script.Turn{Blocks: []script.Block{{Text: "Done."}}}
	}
	address, _ := serve(t, turns...)
	sessions := make([]string, many)
	var asked sync.WaitGroup
	for i := range many {
		asked.Go(func() {
			last, _, err := chat(address, fmt.Sprintf("prompt %d", i), "")
			if err != nil || last.Answer != "Done." {
				t.Errorf("prompt %d: %+v, %v", i, last, err)
			}
			sessions[i] = last.Session
		})
	}
	asked.Wait()
	seen := map[string]bool{}
	for _, s := range sessions {
		seen[s] = true
	}
	if len(seen) != many {
		t.Errorf("%d sessions for %d prompts", len(seen), many)
	}
	if last, _, err := chat(address, "and then?", sessions[0]); err != nil || last.Session != sessions[0] {
		t.Errorf("continued: %+v, %v", last, err)
	}
	if _, _, err := chat(address, "and then?", "00000000-0000-4000-8000-000000000000"); err == nil || !strings.Contains(err.Error(), "No conversation found") {
		t.Errorf("a session that does not exist: %v", err)
	}
}

func TestQuestionsAreAnsweredByTheClient(t *testing.T) {
	address, dir := serve(t,
		script.Turn{Blocks: []script.Block{{Text: "I write."}, {Tool: "Write", Input: json.RawMessage(`{"file_path":"a.txt","content":"a"}`)}}},
		script.Turn{Blocks: []script.Block{{Tool: "WebFetch", Input: json.RawMessage(`{"url":"https://example.com"}`)}}},
		script.Turn{Blocks: []script.Block{{Text: "Done."}}})
	last, said, err := chat(address, "write", "", "Write")
	if err != nil || last.Answer != "Done." {
		t.Errorf("%+v, %v", last, err)
	}
	if diff := cmp.Diff([]string{"I write.", "may I Write?", "may I WebFetch?", "Done."}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "a" {
		t.Errorf("%q, %v", text, err)
	}
	resp, err := http.Post(address+"/answer?question=nope&allow=true", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("an answer without a question: %s", resp.Status)
	}
}
