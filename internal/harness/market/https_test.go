package market

import (
	"encoding/pem"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// TestCloneOverHTTPS fetches from git's own server: a branch, a tag and a commit of a server whose certificate the user's
// git trusts. One that it does not trust, that leads to an address without encryption or to a file, or that wants a
// password is an error, and nothing is asked for.
func TestCloneOverHTTPS(t *testing.T) {
	needtest.Program(t, "git")
	if runtime.GOOS == "windows" {
		t.Skip("git's server is a CGI program, which this test runs on Unix")
	}
	root := t.TempDir()
	dir, first, last := newRepository(t)
	runGit(t, dir, "clone", "-q", "--bare", ".", filepath.Join(root, "tools.git"))
	srv := httptest.NewTLSServer(gitServer(t, root))
	t.Cleanup(srv.Close)
	trust(t, srv)
	plain := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("without encryption: %s", r.URL) }))
	t.Cleanup(plain.Close)
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target := map[string]string{"plain": plain.URL, "file": "file://" + root}[strings.Split(r.URL.Path, "/")[1]]
		if target == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, target+"/tools.git/"+strings.SplitN(r.URL.Path, "/", 4)[3]+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
	}))
	t.Cleanup(elsewhere.Close)
	for _, c := range []struct{ name, url, ref, sha, commit, want string }{
		{"the default branch", srv.URL + "/tools.git", "", "", last, ""},
		{"a tag", srv.URL + "/tools.git", "v1", "", first, ""},
		{"a commit", srv.URL + "/tools.git", "", first, first, ""},
		{"a commit that is not there", srv.URL + "/tools.git", "", strings.Repeat("a", 40), "", "could not fetch " + srv.URL},
		{"no repository", srv.URL + "/none.git", "", "", "", "could not fetch " + srv.URL},
		{"without encryption", plain.URL + "/tools.git", "", "", "", "only https and ssh addresses are"},
		{"led to one without encryption", elsewhere.URL + "/plain/tools.git", "", "", "", "could not fetch"},
		{"led to a file", elsewhere.URL + "/file/tools.git", "", "", "", "could not fetch"},
		{"a password is wanted", elsewhere.URL + "/private/tools.git", "", "", "", "could not read Username"},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "tree")
			got, err := repository{URL: c.url, Ref: c.ref, SHA: c.sha}.clone(t.Context(), to)
			if got != c.commit || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("clone = %q, %v; want %q, %s", got, err, c.commit, c.want)
			}
			if _, made := os.Stat(filepath.Join(to, "text")); (made == nil) != (err == nil) {
				t.Errorf("the file: %v", made)
			}
		})
	}
	os.Unsetenv("GIT_SSL_CAINFO") // which the test has set, and gives back
	if _, err := (repository{URL: srv.URL + "/tools.git"}).clone(t.Context(), filepath.Join(t.TempDir(), "tree")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("from a server that nobody knows: %v", err)
	}
}

// gitServer is git's own, for the repositories below a folder.
func gitServer(t *testing.T, root string) http.Handler {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	program := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, missing := os.Stat(program); err != nil || missing != nil {
		needtest.Missing(t, "git's server for http, %s, is not installed", program)
	}
	return &cgi.Handler{Path: program, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}, Stderr: t.Output()}
}

// trust lets the user's git know the certificate of a server.
func trust(t *testing.T, srv *httptest.Server) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "server.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_SSL_CAINFO", file)
}
