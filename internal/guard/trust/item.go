package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
)

// Kind is what an item is.
type Kind string

const (
	Hook      Kind = "hook"
	Server    Kind = "mcp server"
	Helper    Kind = "helper"
	AllowRule Kind = "allow rule"
	Directory Kind = "directory"
	Env       Kind = "env"
	Mode      Kind = "mode"
	Setting   Kind = "setting"
	Skill     Kind = "skill"
	Command   Kind = "command"
	Agent     Kind = "agent"
	Include   Kind = "include"
	Tool      Kind = "tool"
)

// An Item is one thing that a project asks for.
type Item struct {
	Kind Kind `json:"kind"`
	// Name is what people know it by: the server's name, the variable's.
	Name string `json:"name"`
	// Text is all that it says. It is the project's: whoever shows it must make
	// control characters visible.
	Text string `json:"text"`
	// Files are those of the project that it names, as paths below its root. Those in
	// a skill's folder are paths below that, and what a skill, command or agent names
	// begins with a slash.
	Files []string `json:"files,omitempty"`
	// Grants say what a skill, a command or an agent would be allowed and run.
	Grants []string `json:"grants,omitempty"`
	// Guards says that it is a hook that can keep something from happening: without
	// it, less is forbidden.
	Guards bool `json:"guards,omitempty"`
	// Unbound says what it runs that trust cannot be bound to: it is asked for at each
	// start. "" means nothing.
	Unbound string `json:"unbound,omitempty"`
	// Hash stands for the kind, the name, the text, the files' content and the
	// folder that the settings are for.
	Hash string `json:"hash"`
	// Origin is where it stands.
	Origin settings.Origin `json:"origin"`
}

func (i Item) String() string {
	if i.Name == i.Text {
		return fmt.Sprintf("%s %s (%s)", i.Kind, i.Name, i.Origin)
	}
	about := strings.TrimSpace(i.Text)
	if lines := strings.Count(about, "\n") + 1; lines > 1 {
		about = fmt.Sprintf("%d lines", lines)
		switch n := len(i.Files); {
		case n == 1:
			about += ", 1 more file"
		case n > 1:
			about += fmt.Sprintf(", %d more files", n)
		}
	}
	if i.Unbound != "" {
		about += "; haft cannot check the content of " + i.Unbound + ", so you are asked at each start"
	}
	if len(i.Grants) > 0 {
		about += "; " + strings.Join(i.Grants, "; ")
	}
	return fmt.Sprintf("%s %s: %s (%s)", i.Kind, i.Name, about, i.Origin)
}

// form is what is hashed. Its fields and their order must stay: changing them
// takes away all trust.
type form struct {
	Kind  Kind              `json:"kind"`
	Name  string            `json:"name"`
	In    string            `json:"in"` // the project seen from the repository's root
	Value any               `json:"value"`
	Files map[string]string `json:"files,omitempty"`
}

func (f form) hash() string {
	text, err := json.Marshal(f)
	if err != nil {
		panic("trust: encode an item: " + err.Error()) // it was JSON before
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// decode returns JSON as values whose encoding does not depend on how the JSON
// was written.
func decode(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic("trust: decode a setting: " + err.Error()) // it was parsed before
	}
	return v
}
