package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

// A hundred questions at once get a session each, and one of them is continued.
func TestAHundredSessions(t *testing.T) {
	const many = 100
	turns := make([]script.Turn, many+1)
	for i := range turns {
		turns[i] = script.Turn{Blocks: []script.Block{{Text: "Done."}}}
	}
	model, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: turns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	t.Setenv("ANTHROPIC_BASE_URL", model.URL())
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-scripted")
	t.Setenv("HOME", t.TempDir())
	srv := httptest.NewServer(newHandler(t.TempDir()))
	t.Cleanup(srv.Close)

	sessions := make([]string, many)
	var asked sync.WaitGroup
	for i := range many {
		asked.Go(func() {
			r, err := ask(srv.URL+"/ask", fmt.Sprintf("question %d", i))
			if err != nil || r.Answer != "Done." {
				t.Errorf("question %d: %+v, %v", i, r, err)
			}
			sessions[i] = r.Session
		})
	}
	asked.Wait()
	seen := map[string]bool{}
	for _, s := range sessions {
		seen[s] = true
	}
	if len(seen) != many {
		t.Errorf("%d sessions for %d questions", len(seen), many)
	}
	if r, err := ask(srv.URL+"/ask?session="+sessions[0], "and then?"); err != nil || r.Session != sessions[0] {
		t.Errorf("continued: %+v, %v", r, err)
	}
	if _, err := ask(srv.URL+"/ask?session=00000000-0000-4000-8000-000000000000", "and then?"); err == nil || err.Error() != "404 Not Found" {
		t.Errorf("a session that does not exist: %v", err)
	}
}

func ask(url, prompt string) (r reply, err error) {
	resp, err := http.Post(url, "text/plain", strings.NewReader(prompt))
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return r, fmt.Errorf("%s", resp.Status)
	}
	return r, json.NewDecoder(resp.Body).Decode(&r)
}
