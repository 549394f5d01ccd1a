package registry_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/registry"
)

// TestAPageOfAFile: each form that a list comes in is read, the latest version counts, and what
// cannot be read costs the others nothing.
func TestAPageOfAFile(t *testing.T) {
	const latest = `"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","isLatest":true}}`
	for _, c := range []struct {
		name, text string
		want       []string
		unread     int
	}{
		{"a page of the API", `{"servers":[{"server":{"name":"a/one","version":"2"},` + latest + `},{"server":{"name":"a/one","version":"1"},"_meta":{}}],"metadata":{"count":2}}`, []string{"a/one 2"}, 0},
		{"an older page", `{"servers":[{"name":"a/one","version":"1"},{"name":"a/two","version":"3"}]}`, []string{"a/one 1", "a/two 3"}, 0},
		{"a list", `[{"name":"a/one","version":"1"}]`, []string{"a/one 1"}, 0},
		{"one server.json", `{"$schema":"x","name":"a/one","version":"1"}`, []string{"a/one 1"}, 0},
		{"entries that are none", `{"servers":[5,{"name":7},{"server":{}},{"name":"a/two","version":"1"}]}`, []string{"a/two 1"}, 3},
		{"what was deleted", `{"servers":[{"server":{"name":"a/one"},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"deleted"}}}]}`, nil, 0},
	} {
		file := filepath.Join(t.TempDir(), "list.json")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := registry.Open(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		found, err := r.Search(t.Context(), nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var got []string
		for _, s := range found.Servers {
			got = append(got, s.Name+" "+s.Version)
		}
		if d := cmp.Diff(c.want, got); d != "" || found.Unread != c.unread {
			t.Errorf("%s: %d unread (-want +got):\n%s", c.name, found.Unread, d)
		}
	}
}

// TestPagesOfAnAddress: all pages are read, a registry that leads in circles or redirects to
// an unsafe address ends, and so does one that is too long.
func TestPagesOfAnAddress(t *testing.T) {
	asked := []string{}
	pages := http.NewServeMux()
	pages.HandleFunc("/v0.1/servers", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		n := len(asked)
		fmt.Fprintf(w, `{"servers":[{"server":{"name":"com.example/weather-%d","description":"Rain in towns"}}],"metadata":{"nextCursor":%q}}`, n, []string{"", "b", "b"}[min(n, 2)])
	})
	pages.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"servers":[],"metadata":{"nextCursor":"%sx"}}`, r.URL.Query().Get("cursor"))
	})
	pages.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
	})
	pages.HandleFunc("/html", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>") })
	web := httptest.NewServer(pages)
	defer web.Close()
	search := func(path string) (registry.Found, error) {
		r, err := registry.Open(web.URL+path, web.Client())
		if err != nil {
			t.Fatal(err)
		}
		return r.Search(t.Context(), []string{"rain", "weather"})
	}
	found, err := search("")
	if err != nil || len(found.Servers) != 2 || found.More {
		t.Errorf("%+v, %v", found, err)
	}
	if d := cmp.Diff([]string{"limit=100&search=weather&version=latest", "cursor=b&limit=100&search=weather&version=latest"}, asked); d != "" {
		t.Error(d)
	}
	if found, err := search("/endless"); err != nil || !found.More {
		t.Errorf("endless: %+v, %v", found, err)
	}
	for path, want := range map[string]string{"/away": "use https, or http on this machine", "/html": "it is not JSON", "/none": "status 404"} {
		if _, err := search(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	for _, bad := range []string{"http://example.com/", "ftp://example.com/x", "https://"} {
		if _, err := registry.Open(bad, nil); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// TestEntries: what a server of a registry becomes, and what is refused.
func TestEntries(t *testing.T) {
	for _, c := range []struct {
		name, server, kind string
		set                map[string][]string
		want               mcp.Server
		refused            string
	}{
		{name: "npm", server: `{"packages":[{"registryType":"npm","registryBaseUrl":"https://registry` + `.npmjs.org","identifier":"@x/weather","version":"1.2.0","transport":{"type":"stdio"},
			"packageArguments":[{"type":"positional","valueHint":"folder","isRequired":true},{"type":"named","name":"--units","default":"si","choices":["si","us"]},{"type":"named","name":"--quiet","format":"boolean","value":"true"},{"type":"named","name":"--town","isRepeated":true}],
			"environmentVariables":[{"name":"TOKEN","isRequired":true,"isSecret":true},{"name":"LOG"}]}]}`,
			set:  map[string][]string{"folder": {"/data"}, "TOKEN": {"${MY_TOKEN}"}, "town": {"Ulm", "Köln"}},
			want: mcp.Server{Type: mcp.Stdio, Command: "npx", Args: []string{"-y", "@x/weather@1.2.0", "/data", "--units", "si", "--quiet", "--town", "Ulm", "--town", "Köln"}, Env: map[string]string{"TOKEN": "${MY_TOKEN}"}}},
		{name: "pypi", server: `{"packages":[{"registryType":"pypi","identifier":"weather","version":"0.1"}]}`, want: mcp.Server{Type: mcp.Stdio, Command: "uvx", Args: []string{"weather@0.1"}}},
		{name: "nuget", server: `{"packages":[{"registryType":"nuget","identifier":"Weather.Mcp","version":"0.1","packageArguments":[{"type":"positional","value":"mcp"}]}]}`, want: mcp.Server{Type: mcp.Stdio, Command: "dnx", Args: []string{"Weather.Mcp@0.1", "--yes", "--", "mcp"}}},
		{name: "oci", server: `{"packages":[{"registryType":"oci","identifier":"ghcr.io/x/weather:2","runtimeHint":"docker","runtimeArguments":[{"type":"positional","value":"run"},{"type":"named","name":"--mount","value":"type=bind,src={folder},dst=/data","variables":{"folder":{"isRequired":true}}}],"environmentVariables":[{"name":"A","value":"1"}]}]}`,
			set:  map[string][]string{"folder": {"/srv"}},
			want: mcp.Server{Type: mcp.Stdio, Command: "docker", Args: []string{"run", "-i", "--rm", "-e", "A", "--mount", "type=bind,src=/srv,dst=/data", "ghcr.io/x/weather:2"}, Env: map[string]string{"A": "1"}}},
		{name: "an address goes before a package", server: `{"packages":[{"registryType":"pypi","identifier":"weather"}],"remotes":[{"type":"streamable-http","url":"https://{tenant}.example.com/mcp","variables":{"tenant":{"default":"eu"}},"headers":[{"name":"Authorization","value":"Bearer {key}","variables":{"key":{"isRequired":true,"isSecret":true}}}]}]}`,
			set:  map[string][]string{"key": {"${KEY}"}},
			want: mcp.Server{Type: mcp.HTTP, URL: "https://eu.example.com/mcp", Headers: map[string]string{"Authorization": "Bearer ${KEY}"}}},
		{name: "unless a program is wanted", kind: "stdio", server: `{"packages":[{"registryType":"pypi","identifier":"weather"}],"remotes":[{"type":"sse","url":"https://a.example/"}]}`, want: mcp.Server{Type: mcp.Stdio, Command: "uvx", Args: []string{"weather"}}},
		{name: "what must be set is named", server: `{"packages":[{"registryType":"pypi","identifier":"weather","environmentVariables":[{"name":"TOKEN","description":"Of your account","isRequired":true,"isSecret":true}]}]}`, refused: "it needs --config 'TOKEN=${NAME_OF_A_VARIABLE}' (Of your account)"},
		{name: "a secret in plain text", server: `{"packages":[{"registryType":"pypi","identifier":"weather","environmentVariables":[{"name":"TOKEN","isSecret":true}]}]}`, set: map[string][]string{"TOKEN": {"s3cret"}}, refused: "put it in an environment variable"},
		{name: "a setting that it does not have", server: `{"packages":[{"registryType":"pypi","identifier":"weather"}]}`, set: map[string][]string{"x": {"1"}}, refused: `no setting "x"`},
		{name: "a value that is no choice", server: `{"packages":[{"registryType":"pypi","identifier":"weather","packageArguments":[{"type":"named","name":"--units","choices":["si"]}]}]}`, set: map[string][]string{"units": {"us"}}, refused: "one of [si]"},
		{name: "a variable of the user's", server: `{"packages":[{"registryType":"pypi","identifier":"weather","environmentVariables":[{"name":"A","value":"${ANTHROPIC_API_KEY}"}]}]}`, refused: "would be replaced with a variable from your environment"},
		{name: "one that is put together", server: `{"remotes":[{"type":"sse","url":"https://x.example/?{a}{b}","variables":{"a":{"default":"$"},"b":{"default":"{SECRET}"}}}]}`, refused: "would be replaced with a variable from your environment"},
		{name: "an option for a package", server: `{"packages":[{"registryType":"npm","identifier":"--call=rm"}]}`, refused: "is not a valid name for a package"},
		{name: "another source for a package", server: `{"packages":[{"registryType":"npm","identifier":"github:x/y"}]}`, refused: "is not a valid name for a package"},
		{name: "another place for packages", server: `{"packages":[{"registryType":"npm","identifier":"x","registryBaseUrl":"https://npmjs.org.evil.example/"}]}`, refused: ", not at"},
		{name: "another program", server: `{"packages":[{"registryType":"npm","identifier":"x","runtimeHint":"bash"}]}`, refused: `needs to be run with "bash"`},
		{name: "a version that is an address", server: `{"packages":[{"registryType":"npm","identifier":"x","version":"https://evil.example/x.tgz"}]}`, refused: "is not a valid version"},
		{name: "an address without protection", server: `{"remotes":[{"type":"sse","url":"http://a.example/"}]}`, refused: "not an https address"},
		{name: "a bundle", server: `{"packages":[{"registryType":"mcpb","identifier":"https://x.example/w.mcpb"}]}`, refused: "download https://x.example/w.mcpb and add that file"},
		{name: "a package that listens", server: `{"packages":[{"registryType":"npm","identifier":"x","transport":{"type":"streamable-http","url":"http://127.0.0.1:{port}"}}]}`, refused: "instead of using standard input"},
		{name: "nothing", server: `{}`, refused: "neither a package nor an address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := registry.Server{Name: "com.example/weather"}
			if err := json.Unmarshal([]byte(c.server), &s); err != nil {
				t.Fatal(err)
			}
			got, err := s.Entry(c.kind, c.set)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("%v, %+v; want %q", err, got, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// FuzzEntries: no list of a stranger makes an entry that names a variable of the environment.
func FuzzEntries(f *testing.F) {
	f.Add([]byte(`{"name":"a/b","packages":[{"registryType":"npm","identifier":"x","packageArguments":[{"type":"named","name":"--x","value":"a{b}","variables":{"b":{"default":"c"}}}]}]}`))
	f.Add([]byte(`{"name":"a/b","remotes":[{"type":"sse","url":"https://x.example/{a}{b}","variables":{"a":{"value":"$"},"b":{"value":"{X}"}}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s registry.Server
		if json.Unmarshal(raw, &s) != nil {
			return
		}
		e, err := s.Entry("", nil)
		if err != nil {
			return
		}
		texts := append([]string{e.Command, e.URL}, e.Args...)
		for name, value := range e.Env {
			texts = append(texts, name, value)
		}
		for name, value := range e.Headers {
			texts = append(texts, name, value)
		}
		for _, text := range texts {
			if strings.Contains(text, "${") {
				t.Errorf("%s becomes %q", raw, text)
			}
		}
	})
}
