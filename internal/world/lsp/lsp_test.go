package lsp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/lsp"
	"github.com/haftdev/haft/internal/world/lsp/lsptest"
	"github.com/haftdev/haft/internal/world/shellrun"
)

func TestMain(m *testing.M) {
	lsptest.Serve(os.Stdin, os.Stdout)
	shellrun.Supervise()
	os.Exit(m.Run())
}

// serve returns a file of a project whose server has a behaviour.
func serve(t *testing.T, def lsp.Definition, text string) (*lsp.Servers, string) {
	t.Helper()
	needtest.Program(t, "bash")
	host := shellrun.NewHost(&shellrun.Options{Reexec: shellrun.Supervise(), NoProfile: true})
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	path := filepath.Join(dir, "a.fake")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return lsp.NewServers(host, &lsp.Options{Definitions: []lsp.Definition{def}, Roots: func() []string { return []string{dir} }}), path
}

// TestServersThatBreakTheProtocol: each is refused soon, with a reason, and ended.
func TestServersThatBreakTheProtocol(t *testing.T) {
	for behaviour, want := range map[string]string{
		"huge":      "a message of 99999999999 bytes",
		"header":    "a header of more than 4096 bytes",
		"garbage":   `it wrote "Usage`,
		"truncated": "it exited",
		"nested":    "not JSON-RPC",
		"silent":    "it did not answer within 500ms",
		"ends":      "its last output was: fake: cannot find my library",
	} {
		t.Run(behaviour, func(t *testing.T) {
			def := lsptest.Definition(behaviour)
			def.Startup = 500 * time.Millisecond
			if behaviour != "silent" {
				def.Startup = time.Minute // it is not the limit that ends it
			}
			servers, path := serve(t, def, "one")
			for range 3 {
				if _, err := servers.For(t.Context(), path, ""); err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("got %v", err)
				}
			}
			if _, err := servers.For(t.Context(), path, ""); err == nil || !strings.Contains(err.Error(), "failed 3 times") {
				t.Errorf("a fourth time: %v", err)
			}
		})
	}
}

func TestAServerThatDoesNotReadIsEnded(t *testing.T) {
	servers, path := serve(t, lsptest.Definition("deaf"), "one")
	client, err := servers.For(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; !client.Ended(); n++ { // each is a message that is not read
		if n > 10_000 {
			t.Fatal("it is still there")
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "%d %s", n, strings.Repeat("x", 1<<14)), 0o644); err != nil {
			t.Fatal(err)
		}
		_, _ = client.Text(path)
	}
	if client, err := servers.For(t.Context(), path, ""); err != nil || client.Ended() {
		t.Errorf("it is not started again: %v", err)
	}
}

func TestAFloodIsBounded(t *testing.T) {
	servers, path := serve(t, lsptest.Definition("flood"), "one two\none")
	client, err := servers.For(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	found, err := client.Definition(t.Context(), path, lsp.Position{Line: 1})
	if err != nil || len(found) != 1 || found[0].Range.Start.Line != 0 {
		t.Fatalf("got %v, %v", found, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 { // 10 MB were sent
		t.Errorf("%d bytes are held", grown)
	}
}

func TestAServerIsAnswered(t *testing.T) {
	servers, path := serve(t, lsptest.Definition("asks"), "one two\none")
	client, err := servers.For(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := client.Definition(t.Context(), path, lsp.Position{Line: 1}); err != nil || len(found) != 1 || found[0].Path() != path {
		t.Errorf("got %v, %v", found, err)
	}
}

func TestAQuestionCanBeGivenUp(t *testing.T) {
	servers, path := serve(t, lsptest.Definition("slow"), "one")
	client, err := servers.For(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := client.Hover(ctx, path, lsp.Position{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := client.Definition(t.Context(), path, lsp.Position{}); err != nil {
		t.Errorf("the next question: %v", err)
	}
}

// TestDiagnostics of servers that report by themselves and that are asked.
func TestDiagnostics(t *testing.T) {
	for _, behaviour := range []string{"good", "pull"} {
		servers, path := serve(t, lsptest.Definition(behaviour), "fine")
		client, err := servers.For(t.Context(), path, "")
		if err != nil {
			t.Fatal(err)
		}
		for n, text := range []string{"fine", "wrong", "wrong\nwrong", "fine again"} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Duration(n)*time.Second)); err != nil {
				t.Fatal(err)
			}
			list, whole, err := client.Diagnostics(t.Context(), path, time.Minute)
			if err != nil || !whole || len(list) != strings.Count(text, "wrong") {
				t.Errorf("%s: %q: %v, %v, %v", behaviour, text, list, whole, err)
			}
			for _, d := range list {
				if d.Severity != lsp.SeverityError {
					t.Errorf("%s: severity %v", behaviour, d.Severity)
				}
			}
		}
	}
}

func TestWhatIsNotThereIsSaid(t *testing.T) {
	def := lsptest.Definition("good")
	def.Programs = []string{"no-such-language-server"}
	servers, path := serve(t, def, "one")
	_, err := servers.For(t.Context(), path, "")
	if missing := (*lsp.MissingError)(nil); !errors.As(err, &missing) || missing.Definition.Name != "fake" {
		t.Errorf("got %v", err)
	}
	_, err = servers.For(t.Context(), filepath.Join(filepath.Dir(path), "a.cobol"), "")
	if unknown := (*lsp.UnknownError)(nil); !errors.As(err, &unknown) || !strings.Contains(err.Error(), ".go ") {
		t.Errorf("got %v", err)
	}
	if servers.Running(path, "") != nil {
		t.Error("a server runs that is not there")
	}
}

func TestURIs(t *testing.T) {
	for _, path := range []string{"/a/b c.go", "/a/雪.go", "/a/100%.go", "/a/#x?.go"} {
		if got := lsp.PathOf(lsp.URI(path)); got != path && runtime.GOOS != "windows" {
			t.Errorf("%s became %s", path, got)
		}
	}
	for _, uri := range []string{"http://x/a", "file://other/a", "file:relative", "file:///a%00b", "%%", "jdt://x"} {
		if got := lsp.PathOf(uri); got != "" {
			t.Errorf("%s is %s", uri, got)
		}
	}
}
