package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/embed"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

// A screen interrupts when it shows a text.
type screen struct {
	strings.Builder
	at         string
	interrupts chan os.Signal
}

func (s *screen) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.at) {
		s.interrupts <- os.Interrupt
	}
	return s.Builder.Write(p)
}

func TestChat(t *testing.T) {
	run := func(command string) script.Turn {
		input, _ := json.Marshal(map[string]string{"command": command, "description": "Run it"})
		return script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: input}}}
	}
	text := func(text string) script.Turn { return script.Turn{Blocks: []script.Block{{Text: text}}} }
	srv, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: []script.Turn{
		text("Hello."), run("rm everything"), text("I may not."), run("sleep 300"), text("Welcome back."), text("Welcome back."),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	t.Setenv("ANTHROPIC_BASE_URL", srv.URL())
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-scripted")
	t.Setenv("HOME", t.TempDir())
	opts := haft.Options{Transport: embed.New(nil), Dir: t.TempDir(), AllowedTools: []string{"Bash"}}

	first := &screen{at: "sleep 300", interrupts: make(chan os.Signal, 1)}
	if err := chat(t.Context(), strings.NewReader("hi\ndelete it\nwait\n"), first, first.interrupts, opts); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Hello.\n", `calls Bash {"command":"rm everything"`, "I may not.\n", "The turn was interrupted, or failed.\n"} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("%q is missing:\n%s", want, first)
		}
	}
	if body := string(srv.Requests()[2].Body); !strings.Contains(body, "Nothing is deleted here.") {
		t.Errorf("the model does not hear why: %s", body)
	}
	session := regexp.MustCompile(`-resume (\S+)`).FindStringSubmatch(first.String())
	if session == nil {
		t.Fatalf("no session is named:\n%s", first)
	}
	opts.Resume = session[1]
	second := &screen{at: "\x00", interrupts: make(chan os.Signal)}
	if err := chat(t.Context(), strings.NewReader("are you there?\n"), second, second.interrupts, opts); err != nil {
		t.Fatal(err)
	}
	all := srv.Requests()
	if !strings.Contains(second.String(), "Welcome back.") || !strings.Contains(string(all[len(all)-1].Body), "delete it") {
		t.Errorf("the session is not continued:\n%s", second)
	}

	fork, err := haft.ForkSession(session[1], &haft.ForkOptions{SessionsOptions: haft.SessionsOptions{Dir: opts.Dir}})
	if err != nil {
		t.Fatal(err)
	}
	opts.Resume = fork
	third := &screen{at: "\x00", interrupts: make(chan os.Signal)}
	if err := chat(t.Context(), strings.NewReader("and here?\n"), third, third.interrupts, opts); err != nil {
		t.Fatal(err)
	}
	if all = srv.Requests(); !strings.Contains(string(all[len(all)-1].Body), "are you there?") || !strings.Contains(third.String(), fork) {
		t.Errorf("the fork is not continued:\n%s", third)
	}
}
