package embed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/embed"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/wire"
	"github.com/haftdev/haft/wire/wiretest"
)

// scripted puts a scripted model and an empty home into the environment.
func scripted(t testing.TB, turns ...script.Turn) *script.Server {
	t.Helper()
	srv, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: turns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	t.Setenv("ANTHROPIC_BASE_URL", srv.URL())
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-scripted")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("IS_SANDBOX", "1") // tests may run as root
	return srv
}

func says(text string) script.Turn { return script.Turn{Blocks: []script.Block{{Text: text}}} }

func uses(tool string, input any) script.Turn {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return script.Turn{Blocks: []script.Block{{Tool: tool, Input: raw}}}
}

func query(t *testing.T, prompt string, opts *haft.Options) (all []haft.Message, failed error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	check := wiretest.NewChecker()
	for m, err := range haft.Query(ctx, prompt, opts) {
		if err != nil {
			return all, err
		}
		line, err := wire.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := check.Line(line); err != nil {
			t.Error(err)
		}
		all = append(all, m)
	}
	return all, nil
}

func result(t *testing.T, all []haft.Message) *haft.Result {
	t.Helper()
	if len(all) > 0 {
		if r, ok := all[len(all)-1].(*haft.Result); ok {
			return r
		}
	}
	t.Fatalf("the last of %d messages is no result", len(all))
	return nil
}

func TestToolsRunInThisProcess(t *testing.T) {
	scripted(t, uses("Bash", map[string]string{"command": "touch made"}), says("Done."))
	dir := t.TempDir()
	all, err := query(t, "go", &haft.Options{Transport: embed.New(nil), Dir: dir, Mode: haft.BypassPermissions})
	if err != nil {
		t.Fatal(err)
	}
	if r := result(t, all); r.Result != "Done." {
		t.Errorf("result %q", r.Result)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
}

func TestCallbacksAreAsked(t *testing.T) {
	scripted(t, uses("Bash", map[string]string{"command": "touch made"}), says("All right."))
	dir, asked := t.TempDir(), 0
	all, err := query(t, "go", &haft.Options{Transport: embed.New(nil), Dir: dir, CanUseTool: func(context.Context, *haft.ToolRequest) (*haft.Permission, error) {
		asked++
		return haft.Deny("not now"), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r := result(t, all); asked != 1 || len(r.PermissionDenials) != 1 {
		t.Errorf("asked %d times, denied %d calls", asked, len(r.PermissionDenials))
	}
}

func TestManyTurns(t *testing.T) {
	scripted(t, says("One."), says("Two."))
	c, err := haft.NewClient(t.Context(), &haft.Options{Transport: embed.New(nil), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, want := range []string{"One.", "Two."} {
		if _, err := c.Send("go on"); err != nil {
			t.Fatal(err)
		}
		for m, err := range c.Messages() {
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := m.(*haft.Result); ok {
				if r.Result != want {
					t.Errorf("result %q, want %q", r.Result, want)
				}
				break
			}
		}
	}
}

func TestAnErrorResultIsAnError(t *testing.T) {
	scripted(t, script.Turn{Fault: script.Fault{Status: 400, Times: -1}})
	_, err := query(t, "go", &haft.Options{Transport: embed.New(nil), Dir: t.TempDir()})
	var failed *haft.ResultError
	if !errors.As(err, &failed) {
		t.Errorf("error %v", err)
	}
}

func TestLeavingTheLoopEndsEverything(t *testing.T) {
	scripted(t, uses("Bash", map[string]string{"command": "sleep 60"}), says("never"))
	before := runtime.NumGoroutine()
	began := time.Now()
	for m, err := range haft.Query(t.Context(), "go", &haft.Options{Transport: embed.New(nil), Dir: t.TempDir(), Mode: haft.BypassPermissions}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.(*haft.Assistant); ok {
			break
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v to leave", took)
	}
	for range 200 {
		if runtime.NumGoroutine() <= before+8 { // connections to the model stay for a while
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

// Conversations that were closed leave no goroutines and no connections of their own: those
// to the model are shared, so twenty more need no more than the first.
func TestClosedConversationsLeaveNothing(t *testing.T) {
	const more = 20
	turns := make([]script.Turn, more+1)
	for i := range turns {
		turns[i] = says("Done.")
	}
	scripted(t, turns...)
	opts := &haft.Options{Transport: embed.New(nil), Dir: t.TempDir()}
	converse := func() {
		t.Helper()
		all, err := query(t, "go", opts)
		if err != nil || result(t, all).Result != "Done." {
			t.Fatalf("%v, %v", all, err)
		}
	}
	converse()
	first := runtime.NumGoroutine()
	for range more {
		converse()
	}
	for range 200 {
		if runtime.NumGoroutine() <= first+2 { // a connection that is being given back
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d goroutines after one conversation, %d after %d more", first, runtime.NumGoroutine(), more)
}

func TestTheEnvironmentIsThisPrograms(t *testing.T) {
	scripted(t, says("Done."))
	_, err := query(t, "go", &haft.Options{Transport: embed.New(nil), Env: []string{"SECRET=1"}})
	if err == nil || !strings.Contains(err.Error(), "Options.Env") {
		t.Errorf("error %v", err)
	}
}

func ExampleNew() {
	srv, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: []script.Turn{says("Hello from the same process.")}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	os.Setenv("ANTHROPIC_BASE_URL", srv.URL()) // a real program has its key there
	os.Setenv("ANTHROPIC_API_KEY", "sk-ant-scripted")

	opts := &haft.Options{Transport: embed.New(nil), NoPersistence: true}
	for m, err := range haft.Query(context.Background(), "Say hello.", opts) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if r, ok := m.(*haft.Result); ok {
			fmt.Println(r.Result)
		}
	}
	// Output: Hello from the same process.
}
