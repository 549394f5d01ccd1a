package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/haftdev/haft/internal/harness/project"

	"github.com/haftdev/haft/internal/mcp/wirelog"
	"github.com/haftdev/haft/internal/visible"
)

func (f *mcpFlags) replay(ctx context.Context, from string) error {
	text, err := readWireLog(from)
	if err != nil {
		return err
	}
	records, err := wirelog.Read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	played, err := wirelog.Replay(ctx, records)
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(f.Out, played)
	}
	i := describeServer(played.Status)
	i.Name, i.URL, i.Transport, i.Steps = from, "", "", nil // those belong to the playback
	if err := show(f.Out, i); err != nil {
		return err
	}
	for _, c := range played.Calls {
		fmt.Fprintf(f.Out, "\n%s %s\n", visible.Indented(c.Tool), visible.Indented(oneLine(string(c.Input))))
		outcome := c.Text
		switch {
		case c.Error != "":
			outcome = "error: " + c.Error
		case c.Failed:
			outcome = "failed: " + outcome
		}
		if _, err := fmt.Fprintf(f.Out, "  %s\n", visible.Indented(outcome)); err != nil {
			return err
		}
	}
	return nil
}

// readWireLog reads a file, or both generations of a server's log.
func readWireLog(from string) ([]byte, error) {
	if text, err := os.ReadFile(from); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	path := wirelog.Path(project.WireLogs(), from)
	newer, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError{fmt.Errorf("there is no file %q and no log of a server with that name: turn on the setting mcp.log, then use the server", from)}
	}
	if err != nil {
		return nil, err
	}
	older, err := os.ReadFile(wirelog.Older(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return append(older, newer...), nil
}
