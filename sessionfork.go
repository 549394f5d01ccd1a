package haft

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// ForkOptions say what to copy. Nil means the whole conversation.
type ForkOptions struct {
	SessionsOptions
	// UpTo is the UUID of the last message to copy; "" means all.
	UpTo string
	// Title is the title of the fork; "" means none.
	Title string
}

// ForkSession copies the conversation of a session into a new one and returns its id. The
// messages get new UUIDs and record which messages they were copied from. What was rewound,
// and what sub-agents wrote, is not copied. Options.Resume continues the fork.
func ForkSession(id string, opts *ForkOptions) (string, error) {
	var o ForkOptions
	if opts != nil {
		o = *opts
	}
	path, err := o.file(id)
	if err != nil {
		return "", err
	}
	f := fork{from: id, id: newUUID(), uuids: map[string]string{}}
	lines, err := f.chain(path, o.UpTo)
	if err != nil {
		return "", fmt.Errorf("fork session: %w", err)
	}
	var text bytes.Buffer
	for _, line := range lines {
		if err := f.copy(&text, line); err != nil {
			return "", fmt.Errorf("fork session: %w", err)
		}
	}
	if err := writeWhole(filepath.Join(filepath.Dir(path), f.id+".jsonl"), text.Bytes()); err != nil {
		return "", fmt.Errorf("fork session: %w", err)
	}
	if o.Title != "" {
		return f.id, RenameSession(f.id, o.Title, &o.SessionsOptions)
	}
	return f.id, nil
}

// A fork copies lines of one session into another.
type fork struct {
	from, id string
	uuids    map[string]string // of the copies, by those of the originals
}

// members are those of a line, in whatever form they are written.
type members map[string]json.RawMessage

func (m members) text(name string) (text string) {
	_ = json.Unmarshal(m[name], &text) // what is not a text is none
	return text
}

// chain returns the lines of the conversation, including those that only link others.
func (f *fork) chain(path, upTo string) ([]members, error) {
	all, leaf := map[string]members{}, ""
	err := readLines(path, func(line []byte) {
		var m members
		if json.Unmarshal(line, &m) != nil || m.text("uuid") == "" || string(m["isSidechain"]) == "true" {
			return
		}
		all[m.text("uuid")] = m
		if kind := m.text("type"); (kind == "user" || kind == "assistant") && len(m["message"]) > 0 {
			leaf = m.text("uuid")
		} else if wentBack(m["haft"]) {
			leaf = m.text("parentUuid")
		}
	})
	if err != nil {
		return nil, err
	}
	if upTo != "" {
		leaf = upTo
	}
	if all[leaf] == nil {
		return nil, errors.New("the session has no message " + leaf)
	}
	var lines []members
	for m, ok := all[leaf]; ok; m, ok = all[leaf] {
		lines = append(lines, m)
		delete(all, leaf) // a circle ends here
		leaf = m.text("parentUuid")
	}
	slices.Reverse(lines)
	return lines, nil
}

// copy writes a line with the ids of the fork.
func (f *fork) copy(to *bytes.Buffer, line members) error {
	old := line.text("uuid")
	f.uuids[old] = newUUID()
	changed := map[string]any{
		"uuid": f.uuids[old], "sessionId": f.id, "parentUuid": nil,
		"forkedFrom": map[string]string{"sessionId": f.from, "messageUuid": old},
	}
	if parent, ok := f.uuids[line.text("parentUuid")]; ok {
		changed["parentUuid"] = parent
	}
	for name, value := range changed {
		raw, err := json.Marshal(value)
		if err != nil {
			return err
		}
		line[name] = raw
	}
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	return enc.Encode(line)
}

// writeWhole makes a new file with all of a text, or does not make it.
func writeWhole(path string, text []byte) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".fork-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	if _, err := temporary.Write(text); err != nil {
		return errors.Join(err, temporary.Close())
	}
	if err := temporary.Close(); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
