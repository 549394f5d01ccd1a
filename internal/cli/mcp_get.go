package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
)

// show writes all about a server for people.
func show(out io.Writer, i serverInfo) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", key, visible.Indented(value))
		}
	}
	line("Name", i.Name)
	line("Status", i.Status)
	line("Reason", i.Reason)
	line("Scope", i.Scope)
	line("Set up in", i.Origin)
	line("Transport", i.Transport)
	line("Command", strings.Join(i.Command, " "))
	line("Address", i.URL)
	line("Environment", strings.Join(i.Env, ", "))
	line("Headers", strings.Join(i.Headers, ", "))
	if i.Server != nil {
		line("Server", i.Server.Name+" "+i.Server.Version)
	}
	line("Protocol", i.Protocol)
	line("Log", i.Log)
	if l := i.Login; l != nil && l.LoggedIn {
		line("Login", strings.TrimSpace("at "+l.Issuer+" "+strings.Join(l.Scopes, " ")))
	}
	if i.Noise > 0 {
		line("Skipped", fmt.Sprintf("%s; the last one: %s", plural.Forms(i.Noise, "line that is not a message", "lines that are not messages"), i.LastNoise))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, list := range []struct {
		title string
		lines []string
	}{{"Instructions", instructionLines(i.Instructions)}, {"Tools", toolLines(i.Tools)}, {"Connection steps", i.Steps}, {"Last output on standard error", i.Stderr}} {
		if len(list.lines) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s\n", list.title)
		for _, l := range list.lines {
			fmt.Fprintf(out, "  %s\n", visible.Indented(l))
		}
	}
	return nil
}

func instructionLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// toolLines name the tools, and say why some are not offered.
func toolLines(tools []mcp.ToolStatus) []string {
	var lines []string
	for _, t := range tools {
		switch {
		case t.Offered == "":
			lines = append(lines, t.Name+": not offered: "+t.Disabled)
		case t.Changed:
			lines = append(lines, t.Offered+" (its description has changed since the last connection)")
		case t.Hidden != "":
			lines = append(lines, t.Offered+" (removed from its texts: "+t.Hidden+")")
		default:
			lines = append(lines, t.Offered)
		}
	}
	return lines
}
