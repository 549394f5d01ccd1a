package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/tool"
)

type ticket struct {
	Name   string `json:"name" jsonschema:"A short name, which becomes the file's." haft:"example=late-order;pattern=^[a-z0-9-]+$"`
	Text   string `json:"text" jsonschema:"What is wrong."`
	Urgent bool   `json:"urgent,omitempty" jsonschema:"Calls the team on duty."`
}

// openTicket changes a file. It shows the change before it is approved, makes exactly the change
// that was approved, and leaves urgent tickets to a user, whatever rules allow.
func openTicket() tool.Tool {
	path := func(c *tool.Call, in ticket) string { return filepath.Join(c.Dir, "tickets", in.Name+".md") }
	return tool.New(tool.Def[ticket, string]{
		Name:        "OpenTicket",
		Description: "Opens a ticket: a file in the folder tickets.",
		Paths:       func(c *tool.Call, in ticket) tool.Paths { return tool.Paths{Writes: []string{path(c, in)}} },
		Preview: func(_ context.Context, c *tool.Call, in ticket) (*tool.Preview, error) {
			return in.change(path(c, in))
		},
		Permission: func(_ context.Context, _ *tool.Call, in ticket) tool.Verdict {
			if !in.Urgent {
				return tool.Verdict{}
			}
			return tool.Verdict{Behavior: tool.Ask, NeedsPerson: true, Reason: "an urgent ticket calls the team on duty"}
		},
		Run: func(_ context.Context, c *tool.Call, in ticket) (string, error) {
			change, err := in.change(path(c, in))
			if err == nil {
				err = c.Approve(change)
			}
			if err != nil {
				return "", err
			}
			if err := os.MkdirAll(filepath.Dir(path(c, in)), 0o755); err != nil {
				return "", tool.Errorf("The folder for tickets cannot be made: %w", err)
			}
			file, err := os.OpenFile(path(c, in), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if err != nil {
				return "", tool.Errorf("The ticket cannot be written: %w", err)
			}
			_, err = file.Write(in.content())
			if err := file.Close(); err != nil {
				return "", tool.Errorf("The ticket cannot be written: %w", err)
			}
			return "Opened " + in.Name + ".", err
		},
		Summarize: func(in ticket) string { return in.Name },
	})
}

func (in ticket) content() []byte {
	priority := "normal"
	if in.Urgent {
		priority = "urgent"
	}
	return fmt.Appendf(nil, "# %s\n\nPriority: %s\n\n%s\n", in.Name, priority, strings.TrimSpace(in.Text))
}

// change is what opening the ticket would change. Both Preview and Run use it, so that what is
// approved is what happens.
func (in ticket) change(path string) (*tool.Preview, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, tool.Errorf("There is a ticket named %s. Choose another name.", in.Name)
	}
	return &tool.Preview{Files: []tool.FileChange{{Path: path, After: tool.NewVersion(0, in.content(), in.content())}}}, nil
}
