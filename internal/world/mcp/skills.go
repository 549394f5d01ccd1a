package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// skillsExtension is that of servers which offer skills.
const skillsExtension = "io.modelcontextprotocol/skills"

// A Skill is a set of instructions that a server offers, with the files that belong to them.
// Files are fetched only when they are read, and reading one that differs from what was listed
// is an error: a server cannot show one skill and deliver another.
type Skill struct {
	Server      string          `json:"server"`
	URI         string          `json:"uri"` // of SKILL.md
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Files       []SkillFile     `json:"resources"`
}

// A SkillFile is one file of a skill.
type SkillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // sha256: and the hash
	Size   int64  `json:"size"`
}

type skillsParams struct {
	sdk.ParamsBase
	Cursor string `json:"cursor,omitempty"`
}

func (f SkillFile) verify(text string) error {
	if int64(len(text)) != f.Size {
		return fmt.Errorf("the file %s has %d bytes instead of the listed %d: it is not used", f.URI, len(text), f.Size)
	}
	sum := sha256.Sum256([]byte(text))
	if got := "sha256:" + hex.EncodeToString(sum[:]); got != f.Digest {
		return fmt.Errorf("the file %s is not the one that was listed: it is not used", f.URI)
	}
	return nil
}

// verifyFront compares what SKILL.md says about itself with what was listed.
func (s Skill) verifyFront(text string) error {
	var listed map[string]any
	if err := json.Unmarshal(s.Frontmatter, &listed); err != nil {
		return fmt.Errorf("could not read the front matter of the skill %s: %w", s.Name, err)
	}
	found, err := frontmatter(text)
	if err != nil {
		return fmt.Errorf("the skill %s is not used: %w", s.Name, err)
	}
	want := make(map[string]string)
	for name, value := range listed {
		want[name] = fmt.Sprint(value)
	}
	if !maps.Equal(want, found) {
		return fmt.Errorf("the skill %s differs from its listing: it is not used", s.Name)
	}
	return nil
}

// frontmatter reads the plain fields at the top of a Markdown file. What it
// cannot read cannot be compared, and is an error.
func frontmatter(text string) (map[string]string, error) {
	rest, ok := strings.CutPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "---\n")
	head, _, closed := strings.Cut(rest, "\n---")
	if !ok || !closed {
		return nil, errors.New("there is no front matter")
	}
	fields := make(map[string]string)
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, " \t\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || name != strings.TrimSpace(name) || value == "" || strings.ContainsAny(value[:1], "[{|>&*!") {
			return nil, fmt.Errorf("cannot compare the front matter line %q", line)
		}
		if unquoted, err := unquote(value); err == nil {
			value = unquoted
		}
		fields[name] = value
	}
	return fields, nil
}

func unquote(value string) (string, error) {
	if len(value) >= 2 && value[0] == '\'' && value[len(value)-1] == '\'' {
		return strings.ReplaceAll(value[1:len(value)-1], "''", "'"), nil
	}
	return strconv.Unquote(value)
}
