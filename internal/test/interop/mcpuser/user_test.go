package main

import (
	"encoding/json"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/test/conformance"
)

// build makes a program.
func build(t *testing.T, dir, name, pkg string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, pkg).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return path
}

const product = "github.com/haftdev/haft/cmd/haft"

// TestUsersOfHaftPassTheOfficialSuite runs every client scenario of both revisions with
// the program itself: no scenario is left out.
func TestUsersOfHaftPassTheOfficialSuite(t *testing.T) {
	suite := conformance.Install(t)
	dir := t.TempDir()
	command := build(t, dir, "user", ".") + " " + build(t, dir, "haft", product)
	for revision, want := range map[string]int{"2025-11-25": 25, "2026-07-28": 39} {
		t.Run(revision, func(t *testing.T) {
			if got := suite.Client(t, command, revision); got != want {
				t.Errorf("%d scenarios ran, want %d", got, want)
			}
		})
	}
}

// TestHaftAsAServerPassesTheOfficialSuite runs the server scenarios against haft mcp serve,
// but for those that cannot apply, each with its reason.
func TestHaftAsAServerPassesTheOfficialSuite(t *testing.T) {
	suite := conformance.Install(t)
	dir := t.TempDir()
	address := serve(t, build(t, dir, "haft", product))
	for revision, want := range map[string]int{"2025-11-25": 6, "2026-07-28": 9} {
		t.Run(revision, func(t *testing.T) {
			if got := suite.ServerExcept(t, address, revision, exceptions(revision)); got != want {
				t.Errorf("%d scenarios apply, want %d", got, want)
			}
		})
	}
}

// serve starts haft mcp serve and returns an address that needs no token: the suite
// cannot send one.
func serve(t *testing.T, haft string) string {
	home := t.TempDir()
	u := &user{haft: haft, home: home, project: t.TempDir()}
	cmd := u.command(t.Context(), "mcp", "serve", "--http", "127.0.0.1:0", "--json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var at struct{ URL, Token string }
	if err := json.NewDecoder(out).Decode(&at); err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(at.URL)
	if err != nil || at.Token == "" {
		t.Fatalf("%v: %+v", err, at)
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { // Host and Origin stay the client's: they are looked at
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+at.Token)
		},
	}
	web := httptest.NewServer(proxy)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL + target.Path
}
