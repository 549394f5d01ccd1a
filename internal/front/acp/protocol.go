package acp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
)

// Methods that a client calls.
const (
	methodInitialize    = "initialize"
	methodAuthenticate  = "authenticate"
	methodLogout        = "logout"
	methodNew           = "session/new"
	methodLoad          = "session/load"
	methodResume        = "session/resume"
	methodFork          = "session/fork" // in the unstable part of the schema
	methodList          = "session/list"
	methodDelete        = "session/delete"
	methodClose         = "session/close"
	methodPrompt        = "session/prompt"
	methodCancel        = "session/cancel"
	methodSetMode       = "session/set_mode"
	methodSetOption     = "session/set_config_option"
	methodSetTitle      = "session/set_title" // in the unstable part of the schema
	methodCancelRequest = "$/cancel_request"
)

// Methods of the client.
const (
	methodUpdate     = "session/update"
	methodPermission = "session/request_permission"
	methodElicit     = "elicitation/create"
	methodReadFile   = "fs/read_text_file"
)

// protocolVersion is the one that is spoken here. Version 2 is a draft.
const protocolVersion = 1

// object is an object of which only the presence counts.
type object struct{}

// capabilities are what the client can do, as far as that matters here.
type capabilities struct {
	FS struct {
		ReadTextFile bool `json:"readTextFile"`
	} `json:"fs"`
	Session struct {
		Compaction *object `json:"compaction"`
		Notices    *object `json:"notices"`
	} `json:"session"`
	Auth struct {
		Terminal bool `json:"terminal"`
	} `json:"auth"`
	Elicitation struct {
		Form *object `json:"form"`
		URL  *object `json:"url"`
	} `json:"elicitation"`
	Meta struct {
		// TerminalOutput says that the client shows terminals that the agent owns: an
		// extension that editors and the official adapter share.
		TerminalOutput bool `json:"terminal_output"`
	} `json:"_meta"`
}

type initializeReply struct {
	ProtocolVersion int               `json:"protocolVersion"`
	Capabilities    agentCapabilities `json:"agentCapabilities"`
	AuthMethods     []authMethod      `json:"authMethods"`
	Info            implementation    `json:"agentInfo"`
}

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

type agentCapabilities struct {
	LoadSession bool `json:"loadSession"`
	Prompt      struct {
		Image           bool `json:"image"`
		Audio           bool `json:"audio"`
		EmbeddedContext bool `json:"embeddedContext"`
	} `json:"promptCapabilities"`
	MCP struct {
		HTTP bool `json:"http"`
		SSE  bool `json:"sse"`
	} `json:"mcpCapabilities"`
	Session map[string]object `json:"sessionCapabilities"`
	Auth    map[string]object `json:"auth,omitempty"`
}

type authMethod struct {
	Type        string   `json:"type,omitempty"`
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Args        []string `json:"args,omitempty"`
}

// A place is where a session works, and with what.
type place struct {
	Session string      `json:"sessionId"` // of one that exists
	Cwd     string      `json:"cwd"`
	Dirs    []string    `json:"additionalDirectories"`
	Servers []mcpServer `json:"mcpServers"`
}

// check finds what is wrong with where a session is to work.
func (p *place) check(named bool) error {
	for _, dir := range append([]string{p.Cwd}, p.Dirs...) {
		if !filepath.IsAbs(dir) {
			return errorf(codeInvalidParams, "%q is not an absolute path.", dir)
		}
	}
	if info, err := os.Stat(p.Cwd); err != nil || !info.IsDir() {
		return errorf(codeInvalidParams, "%q is not a folder.", p.Cwd)
	}
	if !named && p.Session == "" {
		return errorf(codeInvalidParams, "sessionId is missing.")
	}
	for _, m := range p.Servers {
		switch m.Type {
		case "", "stdio", "http", "sse":
		default:
			return errorf(codeInvalidParams, "The MCP server %q has type %q; use stdio, http or sse.", m.Name, m.Type)
		}
	}
	return nil
}

type mcpServer struct {
	Type    string     `json:"type"`
	Name    string     `json:"name"`
	Command string     `json:"command"`
	Args    []string   `json:"args"`
	Env     []variable `json:"env"`
	URL     string     `json:"url"`
	Headers []variable `json:"headers"`
}

type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A sessionReply says how a session begins. ID is only in the answer to those requests
// that make one.
type sessionReply struct {
	ID      string         `json:"sessionId,omitempty"`
	Modes   modeState      `json:"modes"`
	Options []configOption `json:"configOptions"`
}

type modeState struct {
	Current   string `json:"currentModeId"`
	Available []mode `json:"availableModes"`
}

type mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type configOption struct {
	Type        string        `json:"type"`
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Description string        `json:"description,omitempty"`
	Category    string        `json:"category,omitempty"`
	Current     string        `json:"currentValue"`
	Options     []configValue `json:"options"`
}

type configValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// A block is content. Which fields are set depends on the type.
type block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"`
	MimeType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

// read is a block as a model reads it.
func (b *block) read() ([]model.Block, error) {
	switch b.Type {
	case "text":
		if b.Text == "" {
			return nil, nil // no API takes an empty one
		}
		return []model.Block{model.TextOf(b.Text)}, nil
	case "image":
		return media("image", b.MimeType, b.Data)
	case "resource_link":
		return []model.Block{model.TextOf(link(b.URI, b.Name))}, nil
	case "resource":
		if b.Resource == nil {
			return nil, errors.New("resource is missing")
		}
		return b.Resource.read()
	case "audio":
		return nil, errors.New("haft does not accept audio, as its initialize response says")
	}
	return nil, fmt.Errorf("there is no type %q", b.Type)
}

// media is an image or a document.
func media(kind, mimeType, data string) ([]model.Block, error) {
	if data == "" || mimeType == "" {
		return nil, errors.New("data and mimeType must be set")
	}
	// What a model's API refuses would be refused again with every later prompt of the session.
	if _, err := base64.StdEncoding.Strict().DecodeString(data); err != nil {
		return nil, errors.New("data is not base64")
	}
	if kind == "image" && !slices.Contains(imageTypes, mimeType) {
		return nil, fmt.Errorf("an image must be one of %s", strings.Join(imageTypes, ", "))
	}
	raw, err := plainjson.Marshal(map[string]any{"type": kind, "source": map[string]string{"type": "base64", "media_type": mimeType, "data": data}})
	if err != nil {
		return nil, err
	}
	var block model.Block
	err = json.Unmarshal(raw, &block)
	return []model.Block{block}, err
}

// imageTypes are those that models take.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// link names something that the model can look at. A file is named by its path, which
// is what tools take.
func link(uri, name string) string {
	if file, ok := filePath(uri); ok {
		return "@" + strings.ReplaceAll(file, " ", `\ `)
	}
	if name == "" {
		return uri
	}
	return fmt.Sprintf("[%s](%s)", name, uri)
}

// filePath is the path of a file: URI.
func filePath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || !filepath.IsAbs(filepath.FromSlash(u.Path)) {
		return "", false
	}
	return filepath.FromSlash(u.Path), true
}

type resource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *string `json:"blob,omitempty"`
}

// read is what the editor has put into the prompt: a text with its name around it, an
// image, a document.
func (r *resource) read() ([]model.Block, error) {
	switch {
	case r.Text != nil:
		name := r.URI
		if file, ok := filePath(r.URI); ok {
			name = file
		}
		return []model.Block{model.TextOf(fmt.Sprintf("<file path=%q>\n%s\n</file>", name, *r.Text))}, nil
	case r.Blob == nil:
		return nil, errors.New("it has neither text nor blob")
	case strings.HasPrefix(r.MimeType, "image/"):
		return media("image", r.MimeType, *r.Blob)
	case r.MimeType == "application/pdf":
		return media("document", r.MimeType, *r.Blob)
	}
	return nil, fmt.Errorf("%s has type %q, which no model can read; link to it instead", path.Base(r.URI), r.MimeType)
}

// textBlock is text as content; its field is there also if it is empty.
type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func textOf(s string) textBlock { return textBlock{"text", s} }

// Kinds of updates.
const (
	updateUser       = "user_message_chunk"
	updateAgent      = "agent_message_chunk"
	updateThought    = "agent_thought_chunk"
	updateCall       = "tool_call"
	updateCallChange = "tool_call_update"
)

// A callUpdate is a call, or what changes of it. In a question it has no kind of update.
type callUpdate struct {
	Update    string          `json:"sessionUpdate,omitempty"`
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title,omitempty"`
	Name      string          `json:"name,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Status    string          `json:"status,omitempty"`
	Content   []any           `json:"content,omitempty"`
	Locations []location      `json:"locations,omitempty"`
	RawInput  json.RawMessage `json:"rawInput,omitempty"`
	RawOutput json.RawMessage `json:"rawOutput,omitempty"`
	Meta      map[string]any  `json:"_meta,omitempty"`
}

// States of a call.
const (
	statusPending    = "pending"
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusFailed     = "failed"
)

type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// What a call has as content: content, a change of a file, a terminal.
type (
	contentItem struct {
		Type    string `json:"type"`
		Content any    `json:"content"`
	}
	diffItem struct {
		Type    string  `json:"type"`
		Path    string  `json:"path"`
		OldText *string `json:"oldText"` // null of a new file
		NewText string  `json:"newText"`
	}
	terminalItem struct {
		Type string `json:"type"`
		ID   string `json:"terminalId"`
	}
)

func (d *diffItem) size() int {
	n := len(d.NewText)
	if d.OldText != nil {
		n += len(*d.OldText)
	}
	return n
}

func content(b any) contentItem { return contentItem{"content", b} }

type plan struct {
	Kind    string      `json:"sessionUpdate"`
	Entries []planEntry `json:"entries"`
}

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

type permissionRequest struct {
	Session string             `json:"sessionId"`
	Call    callUpdate         `json:"toolCall"`
	Options []permissionOption `json:"options"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Kinds of answers to a question.
const (
	allowOnce   = "allow_once"
	allowAlways = "allow_always"
	rejectOnce  = "reject_once"
)

type permissionReply struct {
	Outcome struct {
		Outcome string `json:"outcome"`
		Option  string `json:"optionId"`
	} `json:"outcome"`
}

// Why a turn ended.
const (
	stopEndTurn     = "end_turn"
	stopMaxTokens   = "max_tokens"
	stopMaxRequests = "max_turn_requests"
	stopRefusal     = "refusal"
	stopCancelled   = "cancelled"
)

type promptReply struct {
	StopReason string `json:"stopReason"`
	// Usage is in the unstable part of the schema.
	Usage *turnUsage `json:"usage,omitempty"`
}

// A turnUsage is what the turn of a prompt took, in tokens.
type turnUsage struct {
	Total      int64 `json:"totalTokens"`
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cachedReadTokens"`
	CacheWrite int64 `json:"cachedWriteTokens"`
}

func usageOf(u model.Usage) *turnUsage {
	return &turnUsage{u.Input + u.Output + u.CacheRead + u.CacheWrite, u.Input, u.Output, u.CacheRead, u.CacheWrite}
}
