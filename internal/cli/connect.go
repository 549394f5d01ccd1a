package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/haftdev/haft/internal/headless/launch"
	"github.com/haftdev/haft/internal/serve/attach"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/wire"
)

// newConnect is what a program starts in place of haft to have its conversation on a server.
func newConnect(s Streams) *cobra.Command {
	f := &attachFlags{Streams: s}
	dir := ""
	c := &cobra.Command{
		Use:   "connect URL [-- FLAGS]",
		Short: "Run a program's conversation on a server",
		Long: `Run a conversation on a server ('haft serve' or a fleet) for a program that starts haft
as a child process. The program speaks stream-json on standard input and output, as it
would with haft itself. Everything after -- is passed to haft on the server as its flags.

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
	c.Flags().StringVar(&dir, "dir", "", "the folder on the server (default: the path of the current one)")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "a file with the server's token that only you can read")
	return c
}

// A serverConn is a conversation on a server.
type serverConn struct {
	io.ReadWriteCloser
	mu sync.Mutex
}

// dial begins a conversation with the flags of haft.
func (f *attachFlags) dial(ctx context.Context, word, dir string, args []string) (*serverConn, error) {
	address, err := attach.Parse(word)
	if err != nil {
		return nil, usageError{fmt.Errorf("could not connect: %w", err)}
	}
	if !address.Private() {
		return nil, usageError{fmt.Errorf("could not connect: others could read the token on its way to %s. Use https or a tunnel (ssh -L)", address.URL)}
	}
	token, err := f.token(address)
	if err != nil {
		return nil, fmt.Errorf("could not connect: %w", err)
	}
	if dir == "" {
		if dir, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("could not connect: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.URL+"/v1/wire", nil)
	if err != nil {
		return nil, fmt.Errorf("could not connect: %w", err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + token, "Connection": "Upgrade", "Upgrade": "haft-wire"} {
		request.Header.Set(name, value)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // the token is for this server
	resp, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("could not connect: no answer from %s: %w", address.URL, err)
	}
	body, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		defer resp.Body.Close()
		var p struct{ Message string }
		if json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&p) != nil || p.Message == "" {
			p.Message = resp.Status
		}
		return nil, fmt.Errorf("could not connect to %s: %s", address.URL, visible.Text(p.Message))
	}
	conn := &serverConn{ReadWriteCloser: body}
	first, err := json.Marshal(map[string]any{"type": "haft_launch", "args": slices.Concat([]string{}, args), "dir": dir})
	if err == nil {
		err = conn.say(first)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("could not connect: %w", err)
	}
	return conn, nil
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
	in := bufio.NewReader(c)
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

// runOn answers a prompt on a server.
func (f *converseFlags) runOn(c *cobra.Command, args []string) error {
	if !f.print || f.Input == "stream-json" {
		return usageError{errors.New("--on needs -p and a prompt; programs use 'haft connect' instead")}
	}
	if err := f.Check(); err != nil {
		return usageError{err}
	}
	prompt, err := f.prompt(c.Context(), args)
	if err != nil {
		return err
	}
	user, err := wire.Encode(wire.Prompt(prompt))
	if err != nil {
		return err
	}
	conn, err := (&attachFlags{Streams: f.Streams, tokenFile: f.tokenFile}).dial(c.Context(), f.on, "", passedOn(c.Flags()))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.say(bytes.TrimSpace(user)); err != nil {
		return fmt.Errorf("could not send the prompt: %w", err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-interrupts(c.Context()):
			_ = conn.say([]byte(`{"type":"control_request","request_id":"interrupt","request":{"subtype":"interrupt"}}`)) // or it has ended
		case <-ended:
		}
	}()
	heard := &messages{all: f.Output == "json" && f.verbose}
	how := conn.hear(c.Context(), f.Err, func(line []byte) error {
		m, err := wire.Decode(line)
		if err != nil {
			return nil // as a program would skip it
		}
		if _, ok := m.(*wire.Result); ok {
			_ = conn.say([]byte(`{"type":"haft_end"}`)) // that was all; an error shows when it is read
		}
		if f.Output == "stream-json" {
			_, err = f.Out.Write(line)
			return err
		}
		return heard.Write(m)
	})
	if f.Output != "stream-json" {
		if err := f.show(heard); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	return how
}

// passedOn are the flags of the conversation, for haft on the server.
func passedOn(given *pflag.FlagSet) []string {
	known := pflag.NewFlagSet("haft", pflag.ContinueOnError)
	new(launch.Flags).Define(known)
	args := []string{"--print", "--input-format=stream-json", "--output-format=stream-json"}
	given.Visit(func(flag *pflag.Flag) {
		if known.Lookup(flag.Name) == nil || flag.Name == "input-format" || flag.Name == "output-format" {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			args = append(args, "--"+flag.Name+"="+v)
		}
	})
	return args
}
