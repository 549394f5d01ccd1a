package mcp

import "encoding/json"

// A State is the state of a server, spelled as on the wire.
type State string

const (
	Connected State = "connected"
	Failed    State = "failed"
	NeedsAuth State = "needs-auth"
	Pending   State = "pending"
	Disabled  State = "disabled"
)

// A Status is what is known about a server.
type Status struct {
	Name  string `json:"name"`
	State State  `json:"status"`
	Info  *Info  `json:"serverInfo,omitempty"`
	// Prefix is how the names of its tools begin.
	Prefix string `json:"-"`
	// Unapproved says that a pending server is waiting for the user's approval and not
	// connecting.
	Unapproved bool `json:"unapproved,omitempty"`
	// Error gives the cause, with what the server wrote about it.
	Error string `json:"error,omitempty"`
	// Config is the server's entry, without the values of variables and headers.
	Config Server `json:"config"`
	Type   Type   `json:"transport"`
	Scope  string `json:"scope,omitempty"`
	Source string `json:"source,omitempty"`

	Tools []ToolStatus `json:"tools,omitempty"`
	// Protocol is the protocol version that was agreed on. Instructions is what the server
	// says about its use.
	Protocol     string `json:"protocolVersion,omitempty"`
	Instructions string `json:"instructions,omitempty"`

	// Steps describe how the latest connection was made, or why it failed.
	Steps []string `json:"steps,omitempty"`
	// Stderr holds the first and the last lines that a server process wrote to standard error.
	Stderr []string `json:"stderr,omitempty"`
	// Noise counts lines that were not messages; LastNoise is the latest of them.
	Noise     int    `json:"skippedNoise,omitempty"`
	LastNoise string `json:"lastNoise,omitempty"`
	// Restarts counts reconnections.
	Restarts int `json:"restarts,omitempty"`
	PID      int `json:"pid,omitempty"`
}

// Info is what a server says about itself.
type Info struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Excluded is the reason given for a tool that the server's entry excludes.
const Excluded = "excluded by the server's entry"

// A ToolStatus is one tool of a server.
type ToolStatus struct {
	// Name is the server's name for the tool, and Offered the name by which the model calls
	// it. If Offered is "", the tool is not offered, and Disabled says why.
	Name        string       `json:"name"`
	Offered     string       `json:"offered,omitempty"`
	Disabled    string       `json:"disabled,omitempty"`
	Annotations *Annotations `json:"annotations,omitempty"`
	// Schema is the schema of the tool's input as the server sent it. Models get an adapted
	// one, because providers accept no alternatives at the top level.
	Schema json.RawMessage `json:"inputSchema,omitempty"`
	// Digest changes when the description that the model gets changes.
	Digest string `json:"digest,omitempty"`
	// Changed is set if the server describes the tool differently than when it was last
	// connected.
	Changed bool `json:"changed,omitempty"`
	// Hidden says which invisible characters were removed from its texts.
	Hidden string `json:"hidden,omitempty"`
}

// Annotations are a server's hints about a tool.
type Annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnly,omitempty"`
	Destructive *bool  `json:"destructive,omitempty"`
	Idempotent  bool   `json:"idempotent,omitempty"`
	OpenWorld   *bool  `json:"openWorld,omitempty"`
}
