package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/haftdev/haft/internal/sys/linelimit"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/spf13/cobra"
)

// newConnect is what a program starts in place of haft to have its conversation on a server.
func newConnect(s Streams) *cobra.Command {
	f := &attachFlags{Streams: s}
	dir := ""
	c := &cobra.Command{
		Use:   "connect URL [-- FLAGS]",
		Short: message("Run a program's conversation on a server"),
		Long: `Run a conversation on a server ('haft serve' or a fleet) for a program that starts haft
as a child process. The program speaks stream-json on standard input and output, as it
would with haft itself. Everything after -- is passed to haft on the server as its flags.
Flags that would run commands there or change its settings, such as --settings, --plugin-dir
and --mcp-config, are refused.

The official SDK starts an executable. Give it a script with this line:

  exec haft connect http://127.0.0.1:7420 -- "$@"

The conversation works in the folder on the server that has the same path as the current
one, or in --dir. The token comes from --token-file, from HAFT_SERVE_TOKEN, or, for your
own 'haft serve' on this machine, from that server's token file.`,
		Example: `  haft connect http://127.0.0.1:7420 -- --input-format stream-json --output-format stream-json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("could not connect: give the server's address, such as http://127.0.0.1:7420")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			conn, err := f.dial(c.Context(), args[0], dir, args[1:])
			if err != nil {
				return err
			}
			defer conn.Close()
			go func() {
				in := bufio.NewReader(f.In)
				for {
					line, err := in.ReadBytes('\n')
					if len(bytes.TrimSpace(line)) > 0 && conn.say(bytes.TrimRight(line, "\n")) != nil {
						return
					}
					if err != nil {
						_ = conn.say([]byte(`{"type":"haft_end"}`)) // or the server has ended
						return
					}
				}
			}()
			return conn.hear(c.Context(), f.Err, func(line []byte) error {
				_, err := f.Out.Write(line)
				return err
			})
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "folder on the server; defaults to the path of the current folder")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "file with the server's token, readable only by you")
	return c
}

// A serverConn is a conversation on a server.
type serverConn struct {
	io.ReadWriteCloser
	mu sync.Mutex
}

// say sends a line.
func (c *serverConn) say(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.Write(append(line, '\n'))
	return err
}

// hear calls each with the lines of the conversation, and returns how it ended.
func (c *serverConn) hear(ctx context.Context, diagnostics io.Writer, each func(line []byte) error) error {
	defer context.AfterFunc(ctx, func() { c.Close() })() // a connection that was upgraded heeds no context
	in := bufio.NewReader(linelimit.Reader(c))
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if ctx.Err() != nil {
				return codeError(exitTerminated)
			}
			return fmt.Errorf("the connection to the server was lost: %w", err)
		}
		var about struct {
			Type, Line string
			Code       int
		}
		if bytes.Contains(line, []byte(`"haft_`)) {
			_ = json.Unmarshal(line, &about) // what is missing is empty
		}
		switch about.Type {
		case "haft_stderr":
			fmt.Fprintln(diagnostics, visible.Text(about.Line))
		case "haft_exit":
			return code(ctx, about.Code)
		default:
			if err := each(line); err != nil {
				return err
			}
		}
	}
}
