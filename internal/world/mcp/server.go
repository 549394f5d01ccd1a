package mcp

import (
	"encoding/json"
	"time"
)

// A Server is one configured server. Its JSON is that of an entry of .mcp.json.
type Server struct {
	// Name is unique within a host. Scope says where the server was configured (managed, user,
	// project, local, dynamic, sdk, …), and Origin names the file, or file and line.
	Name   string `json:"-"`
	Scope  string `json:"-"`
	Origin string `json:"-"`

	// Type says how to reach the server; "" means stdio, or what the URL suggests.
	Type Type `json:"type,omitempty"`

	// Command, Args, Env and Dir apply to stdio servers. A relative command is searched for in
	// PATH. An empty Dir means the host's.
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitempty"`

	// URL and Headers apply to HTTP and SSE servers. HeadersHelper is a command that prints
	// additional headers as a JSON object.
	URL           string            `json:"url,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"`
	HeadersHelper string            `json:"headersHelper,omitempty"`
	// OAuth is for [Auth] to read.
	OAuth json.RawMessage `json:"oauth,omitempty"`

	// Disabled keeps the entry without starting it.
	Disabled bool `json:"disabled,omitempty"`
	// Trusted makes the server's hints about its tools count, for example that a tool is
	// read-only or may be repeated.
	Trusted bool `json:"trust,omitempty"`
	// AlwaysLoad describes the server's tools to the model from the start instead of on
	// demand.
	AlwaysLoad bool `json:"alwaysLoad,omitempty"`
	// Include lists the tools to offer, by the server's names; empty means all. Exclude lists
	// tools not to offer, and takes precedence.
	Include []string `json:"includeTools,omitempty"`
	Exclude []string `json:"excludeTools,omitempty"`
	// MaxResult is the maximum length of the server's results in characters; 0 means the
	// host's.
	MaxResult int `json:"maxResult,omitempty"`
	// ToolMaxResult is the same for single tools, by the server's names. It takes precedence
	// over MaxResult.
	ToolMaxResult map[string]int `json:"toolMaxResult,omitempty"`

	// StartTimeout limits a connection attempt, IdleTimeout the time without a message during
	// a call (progress resets it), and CallTimeout a whole call. 0 means the host's.
	StartTimeout Millis `json:"startTimeout,omitempty"`
	IdleTimeout  Millis `json:"idleTimeout,omitempty"`
	CallTimeout  Millis `json:"timeout,omitempty"`

	// Manifest holds what an in-process server has said in advance: the handshake is then
	// skipped.
	Manifest *Manifest `json:"-"`

	// Problem says why the entry cannot be used, for example because a variable is not set.
	// Such a server is listed as failed and never started.
	Problem string `json:"-"`
}

// Type is the transport of a server, spelled as in .mcp.json.
type Type string

const (
	Stdio Type = "stdio"
	HTTP  Type = "http" // streamable HTTP
	SSE   Type = "sse"  // the older HTTP transport
	SDK   Type = "sdk"  // messages go through Options.Send
)

// A Manifest holds an in-process server's answers to the handshake, given in advance.
type Manifest struct {
	Initialize json.RawMessage `json:"initializeResult"`
	Tools      json.RawMessage `json:"toolsListResult"`
}

// Millis is a duration, written in milliseconds in files.
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

// masked returns the entry without the values that may be secrets.
func (s Server) masked() Server {
	for _, m := range []*map[string]string{&s.Env, &s.Headers} {
		if *m == nil {
			continue
		}
		hidden := make(map[string]string, len(*m))
		for name := range *m {
			hidden[name] = "***"
		}
		*m = hidden
	}
	return s
}
