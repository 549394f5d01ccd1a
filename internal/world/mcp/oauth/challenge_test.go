package oauth

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadChallenge(t *testing.T) {
	tests := []struct {
		name    string
		headers []string
		want    challenge
	}{
		{"none", nil, challenge{}},
		{"a scheme alone", []string{"Bearer"}, challenge{}},
		{"all parameters", []string{`Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x/y"`},
			challenge{errcode: "insufficient_scope", scopes: []string{"a", "b"}, metadata: "https://x/y"}},
		{"parameters without quotes, names in any case", []string{`bearer ERROR=invalid_token,Scope=a`}, challenge{errcode: "invalid_token", scopes: []string{"a"}}},
		{"a comma and an escaped quote in a value", []string{`Bearer realm="a, \"b\"", scope="c"`}, challenge{scopes: []string{"c"}}},
		{"another scheme's are left out", []string{`Basic realm="x", scope="no", Bearer scope="yes"`}, challenge{scopes: []string{"yes"}}},
		{"two headers", []string{`Basic realm="x"`, `Bearer scope="yes"`}, challenge{scopes: []string{"yes"}}},
		{"an end that is missing", []string{`Bearer scope="a`}, challenge{scopes: []string{"a"}}},
		{"a backslash at the end", []string{`Bearer scope="a\`}, challenge{scopes: []string{"a"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := readChallenge(&http.Response{Header: http.Header{"Www-Authenticate": tt.headers}})
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(challenge{})); diff != "" {
				t.Errorf("challenge (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzReadChallenge(f *testing.F) {
	f.Add(`Bearer error="insufficient_scope", scope="a b"`)
	f.Add(`Basic realm="x", Bearer scope=a,,=,"`)
	f.Fuzz(func(t *testing.T, header string) {
		readChallenge(&http.Response{Header: http.Header{"Www-Authenticate": {header}}}) // ends, and does not panic
	})
}

func TestAllowedAddresses(t *testing.T) {
	for _, tt := range []struct {
		server, address string
		want            bool
	}{
		{"https://mcp.example", "https://as.example/token", true},
		{"https://mcp.example", "http://as.example/token", false},
		{"https://mcp.example", "http://127.0.0.1:631/token", false},
		{"http://localhost:3000/mcp", "http://127.0.0.1:4000/token", true},
		{"http://localhost:3000/mcp", "http://[::1]:4000/token", true},
		{"http://localhost:3000/mcp", "http://localhost.evil.example/token", false},
		{"https://mcp.example", "javascript:alert(1)", false},
		{"https://mcp.example", "file:///etc/passwd", false},
		{"https://mcp.example", "/token", false},
	} {
		c, err := New(Remote{URL: tt.server}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.allowed(tt.address); (err == nil) != tt.want {
			t.Errorf("%s of %s: error %v", tt.address, tt.server, err)
		}
	}
}
