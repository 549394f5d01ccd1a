package mcp

import (
	"encoding/json"
	"time"
)

// A Server is one configured server. Its JSON is that of an entry of .mcp.json.
type Server struct {
	// Name is unique within a host. Scope says who configured it (managed, user,
	// project, local, dynamic, sdk, …) and Origin the file, or file and line.
	Name   string `json:"-"`
	Scope  string `json:"-"`
	Origin string `json:"-"`

	// Type is how to reach the server; "" means stdio, or what an URL suggests.
	Type Type `json:"type,omitempty"`

	// Command, Args, Env and Dir are of a stdio server. A relative command is
	// looked for in PATH; Dir "" means the host's.
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitempty"`

	// URL and Headers are of an HTTP or SSE server. HeadersHelper is a command
	// that prints more headers as a JSON object.
	URL           string            `json:"url,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"`
	HeadersHelper string            `json:"headersHelper,omitempty"`
	// OAuth is for [Auth] to read.
	OAuth json.RawMessage `json:"oauth,omitempty"`

	// Disabled keeps the entry without starting it.
	Disabled bool `json:"disabled,omitempty"`
	// Trusted lets the server's hints about its tools count: that one is
	// read-only, or may be repeated.
	Trusted bool `json:"trust,omitempty"`
	// AlwaysLoad keeps the server's tools from being deferred.
	AlwaysLoad bool `json:"alwaysLoad,omitempty"`
	// Include names the tools to offer, by the server's names; empty means all.
	// Exclude names those not to; it wins.
	Include []string `json:"includeTools,omitempty"`
	Exclude []string `json:"excludeTools,omitempty"`
	// MaxResult is the text limit of the server's results in characters; 0 means
	// the usual.
	MaxResult int `json:"maxResult,omitempty"`
	// ToolMaxResult is that of single tools, by the server's names; it takes precedence over
	// MaxResult.
	ToolMaxResult map[string]int `json:"toolMaxResult,omitempty"`

	// StartTimeout bounds a connection attempt, IdleTimeout the silence within a
	// call (progress resets it), CallTimeout a whole call. 0 means the host's.
	StartTimeout Millis `json:"startTimeout,omitempty"`
	IdleTimeout  Millis `json:"idleTimeout,omitempty"`
	CallTimeout  Millis `json:"timeout,omitempty"`

	// Manifest is what an in-process server said beforehand: with it the
	// handshake is skipped.
	Manifest *Manifest `json:"-"`

	// Problem says why the entry cannot be used, such as a variable that is not
	// set. Such a server is listed as failed and never started.
	Problem string `json:"-"`
}

// Type is the transport of a server, spelled as in .mcp.json.
type Type string

const (
	Stdio Type = "stdio"
	HTTP  Type = "http" // streamable HTTP
	SSE   Type = "sse"  // the older HTTP transport
	SDK   Type = "sdk"  // messages are carried by Options.Send
)

// A Manifest is an in-process server's handshake, done beforehand.
type Manifest struct {
	Initialize json.RawMessage `json:"initializeResult"`
	Tools      json.RawMessage `json:"toolsListResult"`
}

// Millis is a time that files write as milliseconds.
type Millis time.Duration

// MarshalJSON writes milliseconds.
func (m Millis) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(m).Milliseconds())
}

// UnmarshalJSON reads milliseconds.
func (m *Millis) UnmarshalJSON(raw []byte) error {
	var n float64
	if err := json.Unmarshal(raw, &n); err != nil {
		return err
	}
	*m = Millis(n * float64(time.Millisecond))
	return nil
}

// kind returns the transport that the entry means.
func (s *Server) kind() Type {
	switch {
	case s.Type == "streamable-http" || s.Type == "streamableHttp":
		return HTTP
	case s.Type != "":
		return s.Type
	case s.URL != "" && s.Command == "":
		return HTTP
	}
	return Stdio
}
