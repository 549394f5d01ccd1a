package oauth

import (
	"net/http"
	"strings"
)

// A challenge is what a server says in refusing a request.
type challenge struct {
	status   int
	errcode  string   // such as insufficient_scope
	scopes   []string // nil: it names none
	metadata string   // where the resource describes itself
}

// readChallenge reads the WWW-Authenticate headers of a refusal. What cannot be
// read is left out: discovery does not depend on it.
func readChallenge(resp *http.Response) challenge {
	c := challenge{status: resp.StatusCode}
	for _, header := range resp.Header.Values("WWW-Authenticate") {
		for scheme, params := range challenges(header) {
			if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "DPoP") {
				continue
			}
			if v := params["error"]; v != "" {
				c.errcode = v
			}
			if v := params["scope"]; v != "" {
				c.scopes = strings.Fields(v)
			}
			if v := params["resource_metadata"]; v != "" {
				c.metadata = v
			}
		}
	}
	return c
}

// challenges splits a header into schemes and their parameters, by lower-case name.
func challenges(header string) func(yield func(string, map[string]string) bool) {
	return func(yield func(string, map[string]string) bool) {
		s := header
		scheme, params := "", map[string]string{}
		for s != "" {
			s = strings.TrimLeft(s, " \t,")
			word := token(s)
			if word == "" {
				break
			}
			s = strings.TrimLeft(s[len(word):], " \t")
			if strings.HasPrefix(s, "=") {
				value, rest := paramValue(strings.TrimLeft(s[1:], " \t"))
				params[strings.ToLower(word)] = value
				s = rest
				continue
			}
			if scheme != "" && !yield(scheme, params) {
				return
			}
			scheme, params = word, map[string]string{}
		}
		if scheme != "" {
			yield(scheme, params)
		}
	}
}

// token returns the token that s begins with.
func token(s string) string {
	if i := strings.IndexAny(s, " \t,=\""); i >= 0 {
		return s[:i]
	}
	return s
}

// paramValue reads a quoted string or a token, and returns what follows it.
func paramValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		if i := strings.IndexAny(s, " \t,"); i >= 0 {
			return s[:i], s[i:]
		}
		return s, ""
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:]
		case '\\':
			if i++; i == len(s) {
				return b.String(), ""
			}
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
