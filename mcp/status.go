package mcp

import "encoding/json"

// A State is how a server is, spelled as on the wire.
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
	// Unapproved says of a pending server that it waits for the user's approval, and is
	// not on its way.
	Unapproved bool `json:"unapproved,omitempty"`
	// Error names the cause, with the last lines that the server wrote about it.
	Error string `json:"error,omitempty"`
	// Config is the server's entry, without the values of variables and headers.
	Config Server `json:"config"`
	Type   Type   `json:"transport"`
	Scope  string `json:"scope,omitempty"`
	Source string `json:"source,omitempty"`

	Tools []ToolStatus `json:"tools,omitempty"`
	// Protocol is the revision that was agreed on, and Instructions what the
	// server says about its use.
	Protocol     string `json:"protocolVersion,omitempty"`
	Instructions string `json:"instructions,omitempty"`

	// Steps tell how the newest connection came about, or did not.
	Steps []string `json:"steps,omitempty"`
	// Stderr are the last lines that a server process wrote beside the protocol.
	Stderr []string `json:"stderr,omitempty"`
	// Noise counts what came where a message should have; LastNoise is the newest.
	Noise     int    `json:"skippedNoise,omitempty"`
	LastNoise string `json:"lastNoise,omitempty"`
	// Restarts counts how often the connection was made again.
	Restarts int `json:"restarts,omitempty"`
	PID      int `json:"pid,omitempty"`
}

// Info is how a server names itself.
type Info struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Excluded is why a tool is not offered that the server's entry leaves out.
const Excluded = "excluded by the server's entry"

// A ToolStatus is one tool of a server.
type ToolStatus struct {
	// Name is the server's own, Offered the name that the model calls; "" means
	// that the tool is not offered, and Disabled says why.
	Name        string       `json:"name"`
	Offered     string       `json:"offered,omitempty"`
	Disabled    string       `json:"disabled,omitempty"`
	Annotations *Annotations `json:"annotations,omitempty"`
	// Schema is the schema of the tool's input as the server sent it. What models get is
	// made of it: providers take no alternatives at the top.
	Schema json.RawMessage `json:"inputSchema,omitempty"`
	// Digest changes when what the model reads about the tool does.
	Digest string `json:"digest,omitempty"`
	// Changed is set if what the server says about the tool is not what it said
	// when it was last connected.
	Changed bool `json:"changed,omitempty"`
	// Hidden says which invisible characters were taken out of its texts.
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
