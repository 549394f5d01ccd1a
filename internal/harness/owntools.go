package harness

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/tools/commandtool"
	"github.com/haftdev/haft/tool"
)

// embedded is the [tool.Tool.Source] of tools of the program that embeds haft.
const embedded = "program"

// ownTools returns the tools that are neither haft's nor an MCP server's: those of the program
// that embeds haft, and those of files that name a command. Like haft's, they are described from
// the first request on, unless they say that they are deferred.
func (w *World) ownTools() []tool.Tool {
	var own []tool.Tool
	for _, t := range w.Project.Options.Embedded {
		t.Source = embedded
		t.Meta = maps.Clone(t.Meta)
		if t.Meta == nil {
			t.Meta = make(map[string]any)
		}
		t.Meta[tool.AlwaysLoad] = !t.Deferred
		own = append(own, t)
	}
	if w.Project.Options.ToolHost != nil {
		return own // the files here belong to another machine
	}
	tools, _ := w.CommandTools() // what is wrong with others was a warning at the start
	return append(own, tools...)
}

// CommandTools returns the tools of files that name a command, and what is wrong with others.
func (w *World) CommandTools() (tools []tool.Tool, problems []string) {
	taken := builtin.Names()
	for _, p := range w.Project.Library.Tools.List().Pieces {
		if !p.Fields.Has("command") {
			continue // some other text
		}
		t, err := commandtool.New(p, w.runTool)
		switch {
		case err != nil:
			problems = append(problems, "The tool "+p.Path+" is left out: "+err.Error())
		case slices.Contains(taken, t.Name):
			problems = append(problems, "The tool "+p.Path+" is left out: haft has a tool named "+t.Name)
		default:
			tools = append(tools, t)
		}
	}
	return tools, problems
}

// CommandToolPath is the file of a tool of CommandTools.
func (w *World) CommandToolPath(name string) string {
	for _, p := range w.Project.Library.Tools.List().Pieces {
		if commandtool.Name(p) == name {
			return p.Path
		}
	}
	return ""
}

// toolEnviron are the variables of this process that a command tool gets. What else it needs, the
// settings have in env.
var toolEnviron = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT"}

// maxToolOutput is how much of a tool's output is held in memory.
const maxToolOutput = 16 << 20

// runTool runs the command of a tool, and ends it with all that it has started.
func (w *World) runTool(ctx context.Context, p commandtool.Process) (out []byte, code int, err error) {
	cmd := exec.Command("sh", "-c", p.Line)
	cmd.Dir, cmd.WaitDelay, cmd.Stdin = p.Dir, 2*time.Second, bytes.NewReader(p.Input)
	if cmd.Dir == "" {
		cmd.Dir = w.Project.Dir
	}
	for _, v := range w.Project.Shell().Environ {
		name, _, _ := strings.Cut(v, "=")
		if _, set := w.Project.Counts.Lookup("env", name); set || slices.Contains(toolEnviron, name) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, "HAFT_PROJECT_DIR="+w.Project.Dir), p.Vars...)
	stdout := &limitedBuffer{left: maxToolOutput}
	from, to := io.Pipe()
	cmd.Stdout, cmd.Stderr = stdout, to
	var lines sync.WaitGroup
	lines.Go(func() { eachLine(from, p.Errors) })
	code, err = runConfined(ctx, w.host.Runner(), cmd, nil)
	to.Close()
	lines.Wait()
	return stdout.kept.Bytes(), code, err
}

// eachLine calls f with the lines of r, the beginning of a very long one.
func eachLine(r io.Reader, f func(string)) {
	const longest = 4 << 10
	reader := bufio.NewReaderSize(r, longest)
	for {
		line, err := reader.ReadSlice('\n')
		if text := strings.TrimRight(strings.ToValidUTF8(string(line), "\ufffd"), "\r\n"); text != "" {
			f(text)
		}
		for err == bufio.ErrBufferFull {
			_, err = reader.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

// A limitedBuffer keeps the beginning of what is written to it.
type limitedBuffer struct {
	kept bytes.Buffer
	left int
}

// Write never fails: a command whose output is cut still runs to its end.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	b.kept.Write(p[:n])
	return len(p), nil
}
