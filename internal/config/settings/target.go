package settings

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/config/rewrite"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/tool"
)

// A Target is a settings file in which rules are stored.
type Target struct {
	// Path is the file. It and its folder are created if they are missing.
	Path string
	// Root is a folder that must really contain the file, whatever links there are; ""
	// means that its owner may have made it a link, and the link stays.
	Root string
}

// AddRule adds a rule at the end of the list of its behavior, unless it is already there.
// Every other byte of the file stays. Any number of processes may do this at once.
func AddRule(ctx context.Context, t Target, b tool.Behavior, rule string) error {
	return t.edit(ctx, b, rule, addRule)
}

// RemoveRule removes a rule from the list of its behavior, if it is there. Comments stay.
func RemoveRule(ctx context.Context, t Target, b tool.Behavior, rule string) error {
	return t.edit(ctx, b, rule, removeRule)
}

func (t Target) edit(ctx context.Context, b tool.Behavior, rule string, change ruleEdit) error {
	if b != tool.Allow && b != tool.Ask && b != tool.Deny {
		return fmt.Errorf("change rule %s: there is no list of rules for %q", rule, b)
	}
	if strings.TrimSpace(rule) == "" {
		return fmt.Errorf("save rule: the rule is empty")
	}
	root, name, err := t.open()
	if err != nil {
		return fmt.Errorf("save rule in %s: %w", t.Path, err)
	}
	defer root.Close()
	err = rewrite.File(ctx, root, name, func(text []byte) ([]byte, error) {
		return change.apply(text, b.String(), rule)
	}, nil)
	if err != nil {
		return fmt.Errorf("save rule in %s: %w", t.Path, err)
	}
	return nil
}

// open returns the folder that confines the file, and the file's name in it.
func (t Target) open() (*os.Root, string, error) {
	if t.Root != "" {
		name, ok := pathin.Below(t.Root, t.Path)
		if !ok {
			return nil, "", fmt.Errorf("it is not in %s", t.Root)
		}
		root, err := os.OpenRoot(t.Root)
		return root, filepath.ToSlash(name), err
	}
	path := t.Path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	return root, filepath.Base(path), err
}

// set rewrites a file.
func (t Target) set(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	root, name, err := t.open()
	if err != nil {
		return fmt.Errorf("could not set %s in %s: %w", key, t.Path, err)
	}
	defer root.Close()
	err = rewrite.File(ctx, root, name, func(text []byte) ([]byte, error) {
		rest, marked := bytes.CutPrefix(text, bom)
		edited, err := change(rest)
		if err != nil || !marked {
			return edited, err
		}
		return slices.Concat(bom, edited), nil
	}, nil)
	if err != nil {
		return fmt.Errorf("could not set %s in %s: %w", key, t.Path, err)
	}
	return nil
}
