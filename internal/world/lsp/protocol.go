package lsp

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// A Position is a place in a file, counted from 0; characters are UTF-16 code units.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// A Range is a part of a file. Its end is behind it.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// A Location is a part of a file that is named.
type Location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
}

// Path is the file of a location; "" if it is none on this machine.
func (l Location) Path() string { return PathOf(l.URI) }

// locations are what servers answer where the protocol lets them choose: nothing, a
// location, several, or links.
type locations []Location

func (l *locations) UnmarshalJSON(raw []byte) error {
	type place struct {
		Location
		TargetURI       string `json:"targetUri"`
		TargetSelection Range  `json:"targetSelectionRange"`
	}
	var list []place
	if err := json.Unmarshal(raw, &list); err != nil {
		list = make([]place, 1)
		if err := json.Unmarshal(raw, &list[0]); err != nil {
			return err
		}
	}
	for _, p := range list {
		if p.TargetURI != "" {
			p.Location = Location{URI: p.TargetURI, Range: p.TargetSelection}
		}
		*l = append(*l, p.Location)
	}
	return nil
}

// A Symbol is a name that a file declares.
type Symbol struct {
	Name      string   `json:"name"`
	Kind      int      `json:"kind"`
	Container string   `json:"containerName,omitempty"`
	Location  Location `json:"location"`

	// Of the symbols of one file:
	Range     Range    `json:"range"`
	Selection Range    `json:"selectionRange"`
	Children  []Symbol `json:"children,omitempty"`
}

// Place is where the name of the symbol is.
func (s Symbol) Place() Range {
	if s.Location.URI != "" {
		return s.Location.Range
	}
	return s.Selection
}

// Whole is all that is declared.
func (s Symbol) Whole() Range {
	if s.Location.URI != "" {
		return s.Location.Range
	}
	return s.Range
}

// KindName is what people call the kind of a symbol.
func (s Symbol) KindName() string { return kindName(s.Kind) }

func kindName(kind int) string {
	names := strings.Fields(`file module namespace package class method property field constructor enum interface function variable constant string
		number boolean array object key null enum-member struct event operator type-parameter`)
	if kind < 1 || kind > len(names) {
		return "symbol"
	}
	return names[kind-1]
}

// A CallItem is a function in the hierarchy of calls. Data is the server's own.
type CallItem struct {
	Name      string          `json:"name"`
	Kind      int             `json:"kind"`
	Detail    string          `json:"detail,omitempty"`
	URI       string          `json:"uri"`
	Range     Range           `json:"range"`
	Selection Range           `json:"selectionRange"`
	Data      json.RawMessage `json:"data,omitempty"`
	Tags      json.RawMessage `json:"tags,omitempty"`
}

// KindName is what people call the kind of the item.
func (i CallItem) KindName() string { return kindName(i.Kind) }

// A FunctionCall is one function that another calls, or is called by, and where.
type FunctionCall struct {
	From   CallItem `json:"from"` // of a call to the function that was asked about
	To     CallItem `json:"to"`   // of a call that it makes
	Ranges []Range  `json:"fromRanges"`
}

// Severity is how bad a diagnostic is.
type Severity int

const (
	SeverityError Severity = iota + 1
	SeverityWarning
	SeverityInformation
	SeverityHint
)

func (s Severity) String() string {
	switch s {
	case SeverityWarning:
		return "warning"
	case SeverityInformation:
		return "info"
	case SeverityHint:
		return "hint"
	}
	return "error"
}

// A Diagnostic is what a server finds wrong with a file.
type Diagnostic struct {
	Range    Range           `json:"range"`
	Severity Severity        `json:"severity"`
	Code     json.RawMessage `json:"code,omitempty"`
	Source   string          `json:"source,omitempty"`
	Message  string          `json:"message"`
}

// URI names a file for servers.
func URI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// PathOf is the file that a server names; "" if it is none on this machine.
func PathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || strings.ContainsRune(u.Path, 0) {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	if path = filepath.FromSlash(path); !filepath.IsAbs(path) {
		return ""
	}
	return filepath.Clean(path)
}

// hoverText is the text of a hover, which servers write in three ways.
func hoverText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var marked struct {
		Language string `json:"language"`
		Value    string `json:"value"`
	}
	if json.Unmarshal(raw, &marked) == nil {
		if marked.Language != "" {
			return "```" + marked.Language + "\n" + marked.Value + "\n```"
		}
		return marked.Value
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var parts []string
	for _, part := range list {
		if s := hoverText(part); s != "" { // a list in a list is deeper than JSON is read
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n\n")
}
