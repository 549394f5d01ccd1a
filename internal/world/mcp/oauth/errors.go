package oauth

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/world/mcp"
)

// A LoginError says that a server cannot be used before someone logs in.
type LoginError struct {
	Server string   // the name of its entry
	Reason string   // why, in a few words
	Scopes []string // what the login must allow, if the server said so
	Err    error    // the cause; may be nil
}

func (e *LoginError) Error() string {
	text := fmt.Sprintf("the MCP server %q needs a login: %s", e.Server, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if len(e.Scopes) > 0 {
		text += fmt.Sprintf(" (it asks for: %s)", strings.Join(e.Scopes, " "))
	}
	return fmt.Sprintf("%s. Run: haft mcp login %s", text, e.Server)
}

// Unwrap returns the cause, and what tells a host to wait for a login.
func (e *LoginError) Unwrap() []error {
	if e.Err == nil {
		return []error{mcp.ErrNeedsAuth}
	}
	return []error{mcp.ErrNeedsAuth, e.Err}
}

// A refusedError says that a server asks for what the login has already: no other login
// helps, and nobody is sent to make one.
type refusedError struct {
	server string
	scopes []string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the MCP server %q rejects the request although the login has the scopes it asks for (%s). Logging in again does not help: contact the server's operator", e.server, printable(strings.Join(e.scopes, " ")))
}

// A tokenError is an authorization server's refusal, as RFC 6749 words it.
type tokenError struct {
	Code        string `json:"error"`
	Description string `json:"error_description"`
	status      int
}

func (e *tokenError) Error() string {
	text := "the authorization server answered " + printable(e.Code)
	if e.Code == "" {
		text = fmt.Sprintf("the authorization server answered with status %d", e.status)
	}
	if e.Description != "" {
		text += ": " + printable(e.Description)
	}
	return text
}

// over reports whether the answer means that the login, or the client, is no more.
func (e *tokenError) over() bool {
	return e.Code == "invalid_grant" || e.Code == "invalid_client" || e.Code == "unauthorized_client"
}

// printable keeps a stranger's words from doing more than being read.
func printable(s string) string {
	const most = 300
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
